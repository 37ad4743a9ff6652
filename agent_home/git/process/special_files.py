"""Find pipes and devices where git opens a file by its name: it would wait for them for ever.

An archive or a shared folder can bring a pipe in the place of a branch, a reflog, an object or an ignore file.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ... import storage

__all__ = ["all_special_files", "known_special_file", "special_files_below"]

#: Folders of git in which every file is looked at before the first command. Objects are too many.
_LOOKED_AT = ("", "info", "refs", "logs", "objects/info", "objects/pack", "worktrees", "reftable")
#: Those of them that have folders with files of their own.
_DEEP = frozenset({"refs", "logs", "worktrees"})
#: Files of the work tree that git opens whatever the command.
_OPENED = frozenset({".gitattributes", ".gitignore", ".gitmodules"})
#: Files that are looked at for one command.
_MAX_LOOKED_AT = 20_000
#: The answer is kept for so many seconds.
_KEPT_S = 2.0
_MAX_ALTERNATES_BYTES = 1 << 16

_LOOKED: dict[tuple[str, ...], tuple[float, str]] = {}
_FOUND: dict[str, tuple[str, ...]] = {}


def known_special_file(root: Path, own: Path, shared: Path) -> str:
    """Return a pipe or a device in git's folders *own* and *shared* of *root*, or an empty string.

    Objects are not looked at, unless :func:`all_special_files` found something before.
    """
    for path in _FOUND.get(str(root), ()):
        if _is_special(path):
            return path
    key = (str(root), str(own), str(shared))
    at, found = _LOOKED.get(key, (-_KEPT_S, ""))
    if time.monotonic() - at >= _KEPT_S:
        found = next(_quick(key), "")
        _LOOKED[key] = (time.monotonic(), found)
    return found


def all_special_files(root: Path, *folders: Path) -> tuple[str, ...]:
    """Return all pipes and devices in git's *folders* of the work tree *root*, and what git opens in the work tree.

    It takes as long as the home has files. Later calls of :func:`known_special_file` know the answer.
    """
    seen: set[tuple[int, int]] = set()
    found = [path for folder in folders for path in special_files_below(folder, seen)]
    for folder in folders:
        objects = folder if folder.name == "objects" else folder / "objects"
        found += [path for other in _alternates(objects) for path in special_files_below(other, seen)]
    for place, names, files in os.walk(root):
        if ".git" in names:
            names.remove(".git")
        found += [path for name in files if name in _OPENED and _is_special(path := f"{place}/{name}")]
    _FOUND[str(root)] = tuple(dict.fromkeys(found))
    return _FOUND[str(root)]


def special_files_below(folder: Path | str, seen: set[tuple[int, int]] | None = None) -> Iterator[str]:
    """Yield all pipes and devices in *folder* and below it, but not in folders that were *seen* before."""
    return (path for path, special in _entries(str(folder), set() if seen is None else seen, deep=True) if special)


def _quick(key: tuple[str, ...]) -> Iterator[str]:
    root, *folders = key
    yield from (path for name in sorted(_OPENED) if _is_special(path := f"{root}/{name}"))
    left = _MAX_LOOKED_AT
    seen: set[tuple[int, int]] = set()
    for folder in dict.fromkeys(folders):
        for name in _LOOKED_AT:
            for path, special in _entries(f"{folder}/{name}", seen, deep=name in _DEEP):
                if special:
                    yield path
                left -= 1
                if not left:
                    return


def _entries(folder: str, seen: set[tuple[int, int]], *, deep: bool) -> Iterator[tuple[str, bool]]:
    """Yield each file of *folder*, and whether opening it would wait. A folder that was *seen* is left out."""
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        try:
            status = os.stat(place)  # noqa: PTH116 - names as text are several times as fast as paths
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir():
                        waiting += [entry.path] if deep else []
                    else:
                        yield entry.path, not entry.is_file() and _is_special(entry.path)
        except (OSError, ValueError):  # ValueError: a NUL in a name
            continue


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):  # ValueError: a NUL in a name
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _alternates(objects: Path) -> Iterator[str]:
    """Yield the folders of objects that *objects* borrows from."""
    with suppress(OSError):
        for line in storage.read_bytes(objects / "info" / "alternates", _MAX_ALTERNATES_BYTES).splitlines():
            if line and not line.startswith(b"#"):
                yield str(objects / os.fsdecode(line))
