"""Build git repositories with scripted histories, the same to the last bit wherever they are built.

A history is a list of steps. :func:`build` writes it with ``git fast-import``, so that authors, dates and hashes do not
depend on the machine. The claims about a history stand elsewhere.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

__all__ = ["Built", "History", "HistoryStep", "SessionWindow", "build", "git"]

_AUTHOR = "Developer <developer@example.invalid>"
_MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """One commit. Claims, and messages of later steps, name it as ``{key}``.

    *files* are written, and ``None`` removes one. *moves* are renames. *merge* is a branch to merge. *tag* is put on
    the commit. A new *branch* starts at the present end of main. A branch in *drop* is deleted afterwards, and its
    commits stay behind on no branch.
    """

    key: str
    when: str
    message: str
    files: Mapping[str, str | None] = field(default_factory=dict)
    moves: Mapping[str, str] = field(default_factory=dict)
    branch: str = _MAIN
    merge: str = ""
    tag: str = ""
    drop: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWindow:
    """From when to when a session lasted, ISO 8601 with offset."""

    since: str
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A repository: its *steps*, the *sessions* that worked on it by name, and what lies uncommitted in its folder."""

    name: str
    steps: Sequence[HistoryStep]
    sessions: Mapping[str, SessionWindow]
    uncommitted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A history on disk. *commits* maps the keys of the steps to full hashes."""

    root: Path
    commits: Mapping[str, str]


def build(history: History, root: Path) -> Built:
    """Make the repository in the new folder *root*, with main checked out."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", f"--initial-branch={_MAIN}")
    commits = _import(history.steps, root)
    for step in history.steps:
        if step.drop:
            git(root, "update-ref", "-d", f"refs/heads/{step.drop}")
    git(root, "reset", "--quiet", "--hard")
    for name, text in history.uncommitted.items():
        (root / name).write_text(text, encoding="utf-8", newline="\n")
    return Built(root=root, commits=commits)


def _import(steps: Sequence[HistoryStep], root: Path) -> dict[str, str]:
    """Write all steps by one process, and return the hashes of their commits.

    Git answers each step with its hash, because the messages of later steps may name it.
    """
    commits: dict[str, str] = {}
    branches: set[str] = set()
    command = ["git", "fast-import", "--quiet"]
    with subprocess.Popen(
        command, cwd=root, env=_environment(root), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for mark, step in enumerate(steps, 1):
            process.stdin.write(f"{_stream(step, mark, commits, branches)}get-mark :{mark}\n".encode())
            process.stdin.flush()
            commits[step.key] = process.stdout.readline().decode().strip()
            branches = branches - {step.drop} | {step.branch}
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return commits


def git(root: Path, *arguments: str) -> str:
    """Run git and return its output without the last newline. Configuration of the machine does not apply.

    Raises:
        subprocess.CalledProcessError: git refused.
    """
    done = subprocess.run(["git", *arguments], cwd=root, env=_environment(root), capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").rstrip("\n")


def _environment(root: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}


def _stream(step: HistoryStep, mark: int, commits: Mapping[str, str], branches: Container[str]) -> str:
    """Return the step in the language of ``git fast-import``."""
    at = datetime.fromisoformat(step.when)
    stamp = f"{_AUTHOR} {int(at.timestamp())} {at:%z}"
    message = step.message
    for key, commit in commits.items():
        message = message.replace(f"{{{key}}}", commit)
    lines = [
        f"commit refs/heads/{step.branch}",
        f"mark :{mark}",
        f"author {stamp}",
        f"committer {stamp}",
        _data(message),
    ]
    lines += [f"from refs/heads/{_MAIN}"] if commits and step.branch not in branches else []
    lines += [f"merge refs/heads/{step.merge}"] if step.merge else []
    lines += [f'R "{old}" "{new}"' for old, new in step.moves.items()]
    for name, text in step.files.items():
        lines += [f'D "{name}"'] if text is None else [f'M 100644 inline "{name}"', _data(text)]
    tag = [f"reset refs/tags/{step.tag}", f"from refs/heads/{step.branch}"] if step.tag else []
    return "\n".join([*lines, "", *tag, ""])


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}"
