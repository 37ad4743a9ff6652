"""What can go wrong with a home. Every error says what was found, what was wanted and what to do next.

``HomeError``
├── ``NoHome``             no ``agent.toml`` there
├── ``SettingsInvalid``    ``agent.toml`` does not say what it must
├── ``DocumentInvalid``    a Markdown or JSONL file is not what it must be
├── ``Locked``             another process kept the lock too long
├── ``Changed``            a file changed under a transaction that did not hold its reader's version
├── ``GuardRefused``       the guard rejected a text, or could not run
├── ``NoSuchEntry``        no entry with that id
└── ``HistoryError``       git is absent, or refused
    ├── ``GitMissing``     git is not installed
    ├── ``NoRepository``   the folder is not the top of a git repository
    ├── ``GitFailed``      a git command ended with an error
    └── ``GitTimeout``     a git command took too long
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = [
    "Changed",
    "DocumentInvalid",
    "GitFailed",
    "GitMissing",
    "GitTimeout",
    "GuardRefused",
    "HistoryError",
    "HomeError",
    "Locked",
    "NoHome",
    "NoRepository",
    "NoSuchEntry",
    "SettingsInvalid",
]


class HomeError(Exception):
    """Root of this package's errors."""


class NoHome(HomeError):
    """There is no home where one was looked for."""

    def __init__(self, where: Path) -> None:
        super().__init__(
            f"no agent.toml in {where} or above it; make a home with `memory init {where}`, or name one with --home"
        )
        self.where = where


class SettingsInvalid(HomeError):
    """``agent.toml`` has a key, type or value that is not known."""

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class DocumentInvalid(HomeError):
    """A file is not what it must be. *line* counts from 1; 0 means the whole file."""

    def __init__(self, path: Path | str, line: int, rule: str, problem: str) -> None:
        place = f"{path}:{line}" if line else f"{path}"
        super().__init__(f"{place}: {problem} ({rule})")
        self.path, self.line, self.rule, self.problem = str(path), line, rule, problem


class Locked(HomeError):
    """The home's write lock was not free in time."""

    def __init__(self, path: Path, waited_s: float) -> None:
        super().__init__(f"another process has held {path} for {waited_s:g} s; try again when it is done")
        self.path, self.waited_s = path, waited_s


class Changed(HomeError):
    """A file was changed by somebody outside the gateway while a transaction held it. Nothing was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was changed outside the gateway during the write; nothing was written, run it again")
        self.path = path


class GuardRefused(HomeError):
    """The guard rejected the text, or could not run; nothing was written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"the guard refused a text for {path}: {reason}; change the text, nothing was written")
        self.path, self.reason = path, reason


class NoSuchEntry(HomeError):
    """No live or archived entry has that id. *near* are ids that are spelled much like it."""

    def __init__(self, entry_id: str, near: Sequence[str] = ()) -> None:
        meant = f"did you mean {' or '.join(near)}?" if near else "`memory search` finds entries by their words"
        super().__init__(f"no entry {entry_id} in MEMORY.md or Archive/; {meant}")
        self.entry_id, self.near = entry_id, tuple(near)


class HistoryError(HomeError):
    """Git is absent, or an operation failed; the files themselves are whole."""


class GitMissing(HistoryError):
    """Git is not installed, or not on PATH."""

    def __init__(self) -> None:
        super().__init__("git was not found; memory is kept in git, so install it (`apt install git`) and try again")


class NoRepository(HistoryError):
    """A folder is not the top of a git repository."""

    def __init__(self, root: Path) -> None:
        super().__init__(f"{root} is no git repository; run `git init` there, or `memory init` for a new home")
        self.root = root


class GitFailed(HistoryError):
    """A git command ended with an error. *reason* is the first line of its message."""

    def __init__(self, command: str, exit_code: int, reason: str) -> None:
        super().__init__(f"git {command} failed: {reason or f'exit code {exit_code}'}")
        self.command, self.exit_code, self.reason = command, exit_code, reason


class GitTimeout(HistoryError):
    """A git command took longer than it may."""

    def __init__(self, command: str, timeout_s: float) -> None:
        super().__init__(f"git {command} did not end within {timeout_s:g} s and was stopped; try again")
        self.command, self.timeout_s = command, timeout_s
