"""What a person is about to commit in a home, and what the guard makes of it.

Git is asked directly and in the environment of whoever asks: inside a hook that environment says which staging area
is meant (``git commit FILE`` has one of its own). Nothing is changed. Reading is in few calls and without GitPython,
because a person waits for it at every commit.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import HistoryError
from .home import Home
from .inspector import Inspector, Remark

__all__ = ["StagedFile", "staged_files", "staged_remarks"]

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_LINK, _REPOSITORY = "120000", "160000"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A file whose staged text differs from the last commit's; *before* is empty for a new one."""

    path: str
    before: str
    after: str


def staged_remarks(home: Home) -> list[Remark]:
    """What the guard sees in what the staging area adds, file by file, in order of the line.

    Raises:
        HistoryError: git is absent or refused.
    """
    inspector = Inspector(home)
    return [
        remark for file in staged_files(home.root) for remark in inspector.remarks(file.path, file.before, file.after)
    ]


def staged_files(root: Path) -> list[StagedFile]:
    """The texts that the next commit would add or change, in order of the path; binary files are left out.

    Raises:
        HistoryError: git is absent or refused.
    """
    base = "HEAD" if _answers(root, "rev-parse", "--verify", "--quiet", "HEAD") else _EMPTY_TREE
    options = ("--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--diff-filter=AMT", "--ignore-submodules")
    fields = _git(root, "diff-index", *options, base).decode("utf-8", "surrogateescape").split("\0")
    changed = [
        (path, row.split(" "))
        for row, path in zip(fields[0::2], fields[1::2], strict=False)
        if row.split(" ")[1] not in {_LINK, _REPOSITORY}
    ]
    names = [name for _, row in changed for name in row[2:4]]
    texts = iter(_texts(root, names))
    found = [(path, next(texts), next(texts)) for path, _ in changed]
    return [
        StagedFile(path=path, before=before or "", after=after) for path, before, after in found if after is not None
    ]


def _texts(root: Path, names: Sequence[str]) -> Iterator[str | None]:
    """The text of each object; empty for the null name, ``None`` for what holds NUL bytes and is no text."""
    wanted = "".join(f"{name}\n" for name in names if name.strip("0"))
    data = _git(root, "cat-file", "--batch", stdin=wanted.encode()) if wanted else b""
    at = 0
    for name in names:
        if not name.strip("0"):
            yield ""
            continue
        head_end = data.index(b"\n", at)
        size = int(data[at:head_end].rsplit(b" ", 1)[1])
        body = data[head_end + 1 : head_end + 1 + size]
        at = head_end + 1 + size + 1
        yield None if b"\0" in body else body.decode("utf-8", "replace")


def _answers(root: Path, *arguments: str) -> bool:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False).returncode == 0


def _git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, input=stdin, capture_output=True, check=True)
    except FileNotFoundError as error:
        raise HistoryError("git was not found; install it (`apt install git`) and try again") from error
    except subprocess.CalledProcessError as error:
        reason = " ".join(error.stderr.decode("utf-8", "replace").split())
        raise HistoryError(f"git {arguments[0]} failed: {reason}") from error
    return done.stdout
