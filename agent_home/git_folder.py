"""Find git's folder of a home without running git, and this machine's state in it.

No pull, checkout or stash changes what lies in git's folder. So machine state lies there, and not in the work tree,
where a commit of somebody else could put a file in its place.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import Path

__all__ = ["STATE", "WORKTREE_STATE", "git_folder", "state_folder", "tracks"]

#: The folder of machine state, in git's folder.
STATE = "agent-home"
#: The folder in the work tree: it holds the index, and all machine state of a home without git.
WORKTREE_STATE = ".memory"
#: Of the files ``.git`` and ``commondir``, which hold one path.
_MAX_POINTER_BYTES = 1 << 13
#: Extension of a staging area that keeps most of its paths in another file, and the size of that extension.
_SPLIT = re.compile(rb"link(\0[\0-\x0f]..)", re.DOTALL)
_LEAST_SPLIT_BYTES = 20
_ENTRY_FLAGS = 2
_NAME_MASK = 0xFFF


def state_folder(root: Path) -> Path:
    """Return the folder of machine state of the home *root*. A linked work tree has one of its own."""
    folder = git_folder(root)
    if folder is None:
        return root / WORKTREE_STATE
    common = _pointed(folder / "commondir", "")
    if common is None:
        return folder / STATE
    return Path(os.path.normpath(folder / common)) / STATE / "worktrees" / folder.name


def git_folder(root: Path) -> Path | None:
    """Return git's folder of the work tree *root*, or ``None`` where *root* is no top of a work tree."""
    place = root / ".git"
    try:
        status = place.stat()
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return place
    named = _pointed(place, "gitdir: ")
    return root / named if named else None


def tracks(root: Path, name: str) -> bool | None:
    """Return whether git's staging area holds *name*, or a file below it, whatever the case of the letters.

    ``None`` means that the staging area has a form that is not read here.
    """
    folder = git_folder(root)
    if folder is None:
        return False
    try:
        status = (folder / "index").stat()
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return _holds(folder / "index", status.st_mtime_ns, status.st_size, status.st_ino, name.lower().encode())


@lru_cache(maxsize=8)
def _holds(index: Path, mtime_ns: int, size: int, inode: int, name: bytes) -> bool | None:  # noqa: ARG001 (they name the version)
    """Look for the path *name* in the file: after the two bytes that hold its length, and before ``/`` or its end."""
    try:
        data = index.read_bytes()
    except OSError:
        return None
    version = int.from_bytes(data[4:8], "big")
    # Version 4 shortens paths.
    if data[:4] != b"DIRC" or version not in {2, 3} or _is_split(data):
        return None
    lowered = data.lower()
    at = lowered.find(name)
    while at >= 0:
        end = data.find(b"\0", at)
        length = int.from_bytes(data[max(0, at - _ENTRY_FLAGS) : at], "big") & _NAME_MASK
        whole = lowered[at + len(name) : at + len(name) + 1] in {b"\0", b"/"}
        if whole and length == min(end - at, _NAME_MASK):
            return True
        at = lowered.find(name, at + 1)
    return False


def _is_split(data: bytes) -> bool:
    return any(int.from_bytes(found[1], "big") >= _LEAST_SPLIT_BYTES for found in _SPLIT.finditer(data))


def _pointed(file: Path, prefix: str) -> Path | None:
    """Return the path that *file* holds behind *prefix*, or ``None``."""
    try:
        with file.open("rb") as opened:
            text = os.fsdecode(opened.read(_MAX_POINTER_BYTES)).strip("\r\n")
    except OSError:
        return None
    named = text.removeprefix(prefix)
    return Path(named) if named and text.startswith(prefix) and "\0" not in named else None
