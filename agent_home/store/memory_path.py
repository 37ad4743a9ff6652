"""Check the paths of memory files before a write: inside the home, nothing of git, and no link on the way."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from ..errors import DocumentInvalid
from ..git_folder import WORKTREE_STATE
from ..home import Home

__all__ = ["memory_path", "refuse_links", "refuse_other_case", "require_canonical"]

#: Folders that are not memory and are never written through the gateway.
_FORBIDDEN = frozenset({".git", WORKTREE_STATE})


def memory_path(home: Home, path: str) -> Path:
    """Return the path of the memory file *path*. Only the canonical spelling is accepted, so a file has one text.

    Raises:
        ValueError: *path* is not the canonical spelling, or is no memory.
        DocumentInvalid: the file leads out of the home.
    """
    require_canonical(path)
    return home.path(path)


def require_canonical(path: str) -> None:
    """Refuse a path that is not spelled as a memory file is.

    Raises:
        ValueError: see :func:`memory_path`.
    """
    parts = PurePosixPath(path).parts
    if PurePosixPath(path).as_posix() != path or ".." in parts or "\0" in path or path in {"", "."}:
        raise ValueError(f"{path!r} is not a relative path in the home. Write it like Knowledge/note.md")
    if parts[0] == "/" or any(part.casefold() in _FORBIDDEN for part in parts):
        raise ValueError(f"{path} is not memory. The gateway does not change it")


def refuse_links(home: Home, paths: Iterable[str]) -> None:
    """Refuse to write a file that is a symbolic link, or below one: a rename would put a plain file in its place.

    Raises:
        DocumentInvalid: a person keeps the file elsewhere.
    """
    for path in sorted(paths):
        link = next((home.root / part for part in _with_folders(path) if (home.root / part).is_symlink()), None)
        if link is not None:
            shown = link.relative_to(home.root).as_posix()
            problem = (
                f"{shown} is a link to {link.readlink()}, and memory is written into files only. Nothing was written."
                f" Put the file itself there: `rm {link} && cp -R {link.resolve()} {link}`"
            )
            raise DocumentInvalid(path, 0, "link", problem)


def refuse_other_case(home: Home, paths: Iterable[str]) -> None:
    """Refuse to make a file anew that is there under a name with other letter case: nobody would read the old one.

    Raises:
        DocumentInvalid: there is such a file.
    """
    for path in sorted(paths):
        if "/" not in path and not os.path.lexists(home.root / path) and (other := home.other_case(path)):
            problem = f"is named {other} on the disk. Nothing was written. Run `git mv {other} {path}` in {home.root}"
            raise DocumentInvalid(path, 0, "letter-case", problem)


def _with_folders(path: str) -> Iterator[str]:
    """Yield the folders that lead to *path*, and then *path*."""
    yield from (parent.as_posix() for parent in reversed(PurePosixPath(path).parents) if parent.parts)
    yield path
