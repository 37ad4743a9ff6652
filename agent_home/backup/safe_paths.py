"""Judge the names in a manifest: which of them may become files of a new home.

A backup may come from anybody. No name leads out of the home, into git's folder or through a link.
"""

from __future__ import annotations

import os
import posixpath
import unicodedata

from ..git_folder import WORKTREE_STATE
from ..home import STATE_SHOWN

__all__ = ["link_problem", "memory_path_problem", "module_problem", "path_problem"]

_MAX_PATH_BYTES = 4096
#: Characters before this one control a terminal or end a line.
_FIRST_PRINTED = ord(" ")
#: Names of git's folder, also as a file system spells it in eight letters.
_GIT_NAMES = frozenset({".git", "git~1"})


def path_problem(path: str) -> str:
    """Return why *path* may not be a file, link or folder of a home, or an empty text.

    Machine state has the names that :meth:`agent_home.home.Home.relative` gives.
    """
    if not _is_name(path):
        return "is no name of a file"
    inner = path.removeprefix(STATE_SHOWN)
    parts = inner.split("/")
    if not inner or any(part in {"", ".", ".."} for part in parts):
        return "leads out of the home"
    if any(_is_git_name(part) for part in parts):
        return "is in a folder of git's"
    if inner == path and _plain(parts[0]) == WORKTREE_STATE:
        return "is machine state under another name"
    return ""


def memory_path_problem(path: str) -> str:
    """Return why *path* may not be a link, a folder or a repository of a home, or an empty text.

    Machine state has none of them. A link there would let a file of the memory count as machine state.
    """
    return "is machine state" if path.startswith(STATE_SHOWN) else path_problem(path)


def module_problem(name: str) -> str:
    """Return why *name* may not be that of a submodule's git folder, or an empty text.

    Git takes the name from a file of one line.
    """
    if any(ord(char) < _FIRST_PRINTED for char in name):
        return "has control characters"
    return memory_path_problem(name)


def link_problem(path: str, target: str) -> str:
    """Return why a link at *path* may not name *target*, or an empty text.

    The target is relative and climbs at its beginning alone, so that no other link on its way changes where it leads.
    """
    if not _is_name(target) or target.startswith("/"):
        return "is a link that leads out of the home"
    parts = target.rstrip("/").split("/")
    climbs = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    if any(part in {"", ".", ".."} for part in parts[climbs:]):
        return "is a link that leads somewhere in a roundabout way"
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if place == "." or place.startswith("../") or place == ".." or path_problem(place):
        return "is a link that leads out of the memory of the home"
    return ""


def _is_name(path: str) -> bool:
    """Return whether a file system can have that name. Bytes that are no UTF-8 are surrogates, as in Python."""
    try:
        return bool(path) and "\0" not in path and len(os.fsencode(path)) <= _MAX_PATH_BYTES
    except UnicodeEncodeError:
        return False


def _plain(name: str) -> str:
    """Return *name* as a file system may take it that ignores case, forms, invisible characters, and final dots."""
    seen = "".join(char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return seen.casefold().partition(":")[0].rstrip(". ")


def _is_git_name(name: str) -> bool:
    return _plain(name) in _GIT_NAMES
