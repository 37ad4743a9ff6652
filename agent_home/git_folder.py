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

__all__ = [
    "STATE",
    "WORKTREE_STATE",
    "git_folder",
    "main_worktree",
    "named_elsewhere",
    "state_folder",
    "tracks",
]

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
#: The setting that says which work tree a git folder elsewhere belongs to, in the forms that git writes.
_SECTION = re.compile(r"\s*+\[(?P<name>[^\]]++)\](?P<rest>.*)")
_WORKTREE = re.compile(
    r'\s*+worktree\s*+=\s*+(?:"(?P<quoted>(?:[^"\\]|\\["\\nt])++)"\s*+|(?P<plain>(?:[^"\\;#]|\\["\\nt])++))',
    re.IGNORECASE | re.ASCII,
)
_BLANKS = " \t\r\f\v"
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}
_MAX_CONFIGURATION_BYTES = 1 << 20


def state_folder(root: Path) -> Path:
    """Return the folder of machine state of the home *root*. A linked work tree has one of its own."""
    folder = git_folder(root)
    if folder is None:
        return root / WORKTREE_STATE
    common = _pointed(f"{folder}/commondir", "")
    if common is None:
        return folder / STATE
    return Path(os.path.normpath(folder / common)) / STATE / "worktrees" / folder.name


def git_folder(root: Path) -> Path | None:
    """Return git's folder of the work tree *root*, or ``None`` where *root* is no top of a work tree.

    A folder that belongs to another work tree does not count (:func:`named_elsewhere`).
    """
    folder = _named_folder(root)
    return folder if folder is not None and _belongs(root, folder) else None


def main_worktree(root: Path) -> Path:
    """Return the main work tree of the repository that *root* is a linked work tree of, else *root* itself.

    All work trees of a repository belong to one project.
    """
    folder = _named_folder(root)
    common = _pointed(folder / "commondir", "") if folder is not None else None
    if folder is None or common is None or not _belongs(root, folder):
        return root
    shared = Path(os.path.normpath(folder / common))
    return shared.parent if shared.name == ".git" else root


def named_elsewhere(root: Path) -> Path | None:
    """Return the folder that ``.git`` in *root* leads to if that folder does not lead back to *root*, else ``None``.

    An archive may bring a ``.git`` that leads into another repository of the user. A linked work tree is named by the
    file ``gitdir`` of its folder. Any other folder elsewhere names its work tree by ``core.worktree``.
    """
    folder = _named_folder(root)
    if folder is None or _belongs(root, folder):
        return None
    common = _pointed(folder / "commondir", "")
    return Path(os.path.normpath(folder / common)) if common and folder == root / ".git" else folder


def _named_folder(root: Path) -> Path | None:
    place = f"{root}/.git"
    try:
        status = os.stat(place)  # noqa: PTH116 - every prompt comes here twenty times
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return root / ".git"
    named = _pointed(place, "gitdir: ")
    return root / named if named else None


def _belongs(root: Path, folder: Path) -> bool:
    """Return whether git's folder *folder*, which *root* names, is that of *root*."""
    place = f"{root}/.git"
    common = _pointed(f"{folder}/commondir", "")
    if common is not None:
        back = _pointed(folder / "gitdir", "")
        shared = os.path.realpath(folder / common)
        is_linked = os.path.dirname(os.path.realpath(folder)) == os.path.join(shared, "worktrees")  # noqa: PTH118, PTH120
        return is_linked and back is not None and _is_same_place(folder / back, place)
    if str(folder) == place and not os.path.islink(place):  # noqa: PTH114 - every command comes here
        return True
    named = _own_worktree(folder / "config")
    return named is not None and os.path.realpath(folder / named) == os.path.realpath(root)


def _is_same_place(path: Path, place: str) -> bool:
    return os.path.realpath(path) == os.path.join(os.path.realpath(os.path.dirname(place)), ".git")  # noqa: PTH118, PTH120


def _own_worktree(config: Path) -> str | None:
    """Return ``core.worktree`` of a configuration file, without the files that it includes, or ``None``."""
    try:
        with config.open("rb") as file:
            lines = os.fsdecode(file.read(_MAX_CONFIGURATION_BYTES)).split("\n")
    except OSError:
        return None
    section, found = "", None
    for line in lines:
        header = _SECTION.fullmatch(line)
        section = header["name"].strip().lower() if header else section
        setting = _WORKTREE.fullmatch(header["rest"] if header else line)
        if section == "core" and setting:
            path = setting["quoted"] or setting["plain"].strip(_BLANKS)
            found = _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), path)
    return found


def tracks(root: Path, name: str) -> bool | None:
    """Return whether git's staging area holds *name*, or a file below it, whatever the case of the letters.

    ``None`` means that the staging area has a form that is not read here.
    """
    folder = git_folder(root)
    if folder is None:
        return False
    try:
        status = os.stat(f"{folder}/index")  # noqa: PTH116 - as in _named_folder
    except FileNotFoundError:
        return False
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for a writer
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


def _pointed(file: Path | str, prefix: str) -> Path | None:
    """Return the path that *file* holds behind *prefix*, or ``None``."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not block
        with os.fdopen(descriptor, "rb") as opened:
            text = os.fsdecode(opened.read(_MAX_POINTER_BYTES)).strip("\r\n")
    except OSError:
        return None
    named = text.removeprefix(prefix)
    return Path(named) if named and text.startswith(prefix) and "\0" not in named else None
