"""Errors of a home. Every message names what is wrong, where, and what to do.

``HomeError``
├── ``NoHome``             no ``agent.toml`` in the folder or above it
├── ``NotCreatable``       the folder of a new home cannot be made
├── ``SettingsInvalid``    ``agent.toml`` has an unknown key or a wrong value
├── ``DocumentInvalid``    a Markdown or JSONL file breaks a rule of its format
├── ``Locked``             another process held the lock too long
├── ``NotHeld``            this host of a fleet may not write the home now
├── ``NotPublished``       the remote of a fleet's home did not take a write
├── ``Changed``            another program changed a file during a transaction
├── ``MachineKeyUnusable`` this user's key cannot be made, or cannot be trusted
├── ``PullStopped``        a pull would bring files that memory cannot take
├── ``NotTrustable``       a text names no key that could be trusted
├── ``NotShareable``       a place of a home cannot be shared
├── ``ShareUnwritable``    a shared project folder cannot be written now
├── ``GuardRefused``       the guard rejected a text, or could not run
├── ``NoSuchEntry``        no entry has that id
└── ``HistoryError``       git is absent, or a git operation failed
    ├── ``GitMissing``     git is not installed
    ├── ``NoSuchRevision`` no commit has that name
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
    "MachineKeyUnusable",
    "NoHome",
    "NoRepository",
    "NoSuchEntry",
    "NoSuchRevision",
    "NotCreatable",
    "NotHeld",
    "NotPublished",
    "NotShareable",
    "NotTrustable",
    "PullStopped",
    "SettingsBroken",
    "SettingsInvalid",
    "ShareUnwritable",
]


class HomeError(Exception):
    """Root of this package's errors."""


class NoHome(HomeError):
    """The folder is no home, and neither is a folder above it."""

    def __init__(self, where: Path, *, by_environment: bool = False) -> None:
        place = f"{where}, the folder that AGENT_HOME names" if by_environment else f"{where} or above it"
        remedy = "or correct AGENT_HOME" if by_environment else "or name one with --home"
        super().__init__(f"no agent.toml in {place}. Make a home with `memory init {where}`, {remedy}")
        self.where = where


class NotCreatable(HomeError):
    """The folder of a new home cannot be made."""

    def __init__(self, root: Path, reason: str) -> None:
        super().__init__(f"cannot make the folder {root}: {reason}. Name a folder in which you may write")
        self.root, self.reason = root, reason


class SettingsInvalid(HomeError):
    """``agent.toml`` has an unknown key, or a value of a wrong type."""

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class SettingsBroken(SettingsInvalid):
    """``agent.toml`` cannot be read as a whole: it is empty, no TOML, or no UTF-8."""


class DocumentInvalid(HomeError):
    """A file breaks a rule of its format. *line* counts from 1, and 0 means the whole file."""

    def __init__(self, path: Path | str, line: int, rule: str, problem: str) -> None:
        place = f"{path}:{line}" if line else f"{path}"
        super().__init__(f"{place}: {problem} ({rule})")
        self.path, self.line, self.rule, self.problem = str(path), line, rule, problem


class Locked(HomeError):
    """The home's write lock was not free in time."""

    def __init__(self, path: Path, waited_s: float) -> None:
        super().__init__(f"another process has held {path} for {waited_s:g} s. Try again when it is done")
        self.path, self.waited_s = path, waited_s


class NotHeld(HomeError):
    """A host may not write a home of a fleet, because it has no valid lease of it. Nothing was written."""


class NotPublished(HomeError):
    """The git repository that keeps a home of a fleet did not take a write, so the write does not count as stored."""

    def __init__(self, home: str, reason: str) -> None:
        super().__init__(
            f"the write to the home {home} is on this host alone and does not count as stored: {reason}. The next write"
            " publishes it, or another host goes on without it. Try again"
        )
        self.home, self.reason = home, reason


class Changed(HomeError):
    """Another program changed a file while a transaction used it. Nothing was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"another program changed {path} during the write. Nothing was written. Run the command again")
        self.path = path


class MachineKeyUnusable(HomeError):
    """The key of this machine cannot be made, or cannot be trusted. Nothing can be signed."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"the machine key {path} {problem}. The next write makes a new one")
        self.path, self.problem = path, problem


class PullStopped(HomeError):
    """A pull would bring files that memory cannot take. Nothing was merged. *refused* has each path and the reason."""

    def __init__(self, refused: Sequence[tuple[str, str]]) -> None:
        path, reason = refused[0]
        more = f", and {len(refused) - 1} more files" if len(refused) > 1 else ""
        super().__init__(
            f"nothing was merged, because memory cannot take {path!r}: {reason}{more}. `memory pull --dry-run` lists"
            " them. Add --skip-refused to go on without them"
        )
        self.refused = tuple(refused)


class NotTrustable(HomeError):
    """A text names no public key, or no single one."""

    def __init__(self, text: str, found: int = -1) -> None:
        count = "no trusted key has" if found == 0 else f"{found} trusted keys have"
        problem = f"{count} {text!r} in its line. `memory trust key list` prints the lines"
        if found < 0:
            problem = f"{text!r} is no public SSH key, no file of one, and no GPG fingerprint of 40 or 64 digits"
        super().__init__(problem)
        self.text = text


class NotShareable(HomeError):
    """A place of a home cannot be shared, or is not shared."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place} {problem}")
        self.place, self.problem = place, problem


class ShareUnwritable(HomeError):
    """The state of a shared project folder does not allow a write. *reason* says what to do about it."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place, self.reason = place, reason


class GuardRefused(HomeError):
    """The guard rejected the text, or could not run. Nothing was written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"the guard refused a text for {path}: {reason}. Nothing was written. Change the text")
        self.path, self.reason = path, reason


class NoSuchEntry(HomeError):
    """No live or archived entry has that id. *near* holds ids of similar spelling."""

    def __init__(self, entry_id: str, near: Sequence[str] = ()) -> None:
        hint = f"Did you mean {' or '.join(near)}?" if near else "`memory search` finds entries by their words"
        super().__init__(f"no entry {entry_id} in MEMORY.md or Archive/. {hint}")
        self.entry_id, self.near = entry_id, tuple(near)


class HistoryError(HomeError):
    """Git is absent, or an operation failed. The files themselves are complete."""


class GitMissing(HistoryError):
    """Git is not installed, or not on PATH."""

    def __init__(self) -> None:
        super().__init__("git was not found. Memory is kept in git. Install it (`apt install git`) and try again")


class NoSuchRevision(HistoryError):
    """No commit of the home has that name."""

    def __init__(self, revision: str, root: Path) -> None:
        super().__init__(f"no revision {revision!r} in {root}. `git log` there lists them")
        self.revision, self.root = revision, root


class NoRepository(HistoryError):
    """A folder is not the top of a git repository."""

    def __init__(self, root: Path) -> None:
        super().__init__(f"{root} is not a git repository. Run `git init` there, or `memory init` for a new home")
        self.root = root


class GitFailed(HistoryError):
    """A git command ended with an error. *reason* is the first line of its message."""

    def __init__(self, command: str, exit_code: int, reason: str) -> None:
        super().__init__(f"git {command} failed: {reason or f'exit code {exit_code}'}")
        self.command, self.exit_code, self.reason = command, exit_code, reason


class GitTimeout(HistoryError):
    """A git command took longer than it may."""

    def __init__(self, command: str, timeout_s: float) -> None:
        super().__init__(f"git {command} did not end within {timeout_s:g} s and was stopped. Try again")
        self.command, self.timeout_s = command, timeout_s
