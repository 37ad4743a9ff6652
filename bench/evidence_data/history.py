"""Build git repositories with scripted histories, the same to the last bit wherever they are built.

A history is a list of steps. :func:`build` writes it with ``git fast-import``, so that authors, dates and hashes do not
depend on the machine. The claims about a history stand elsewhere.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
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
    commits: dict[str, str] = {}
    for step in history.steps:
        git(root, "fast-import", "--quiet", stdin=_stream(step, commits, root))
        commits[step.key] = git(root, "rev-parse", f"refs/heads/{step.branch}")
        if step.drop:
            git(root, "update-ref", "-d", f"refs/heads/{step.drop}")
    git(root, "reset", "--quiet", "--hard")
    for name, text in history.uncommitted.items():
        (root / name).write_text(text, encoding="utf-8", newline="\n")
    return Built(root=root, commits=commits)


def git(root: Path, *arguments: str, stdin: str = "") -> str:
    """Run git and return its output without the last newline. Configuration of the machine does not apply.

    Raises:
        subprocess.CalledProcessError: git refused.
    """
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=environment, input=stdin.encode(), capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "replace").rstrip("\n")


def _stream(step: HistoryStep, commits: Mapping[str, str], root: Path) -> str:
    """Return the step in the language of ``git fast-import``."""
    at = datetime.fromisoformat(step.when)
    stamp = f"{_AUTHOR} {int(at.timestamp())} {at:%z}"
    message = step.message
    for key, commit in commits.items():
        message = message.replace(f"{{{key}}}", commit)
    lines = [f"commit refs/heads/{step.branch}", f"author {stamp}", f"committer {stamp}", _data(message)]
    lines += [f"from refs/heads/{_parent(step, root)}^0"] if commits else []
    lines += [f"merge refs/heads/{step.merge}^0"] if step.merge else []
    lines += [f'R "{old}" "{new}"' for old, new in step.moves.items()]
    for name, text in step.files.items():
        lines += [f'D "{name}"'] if text is None else [f'M 100644 inline "{name}"', _data(text)]
    tag = [f"reset refs/tags/{step.tag}", f"from refs/heads/{step.branch}"] if step.tag else []
    return "\n".join([*lines, "", *tag, ""])


def _parent(step: HistoryStep, root: Path) -> str:
    known = git(root, "for-each-ref", "--format=%(refname)", "refs/heads").split()
    return step.branch if f"refs/heads/{step.branch}" in known else _MAIN


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}"
