"""Keep git from taking private folders, whatever a pulled ``.gitignore`` says.

The template's ``.gitignore`` names them, and anybody who can push can change that file. So this program names them in
``info/exclude`` of git's folder as well, which no pull changes. It does that once: a person who wants a folder in git
removes its line from both files. Git reads ``.gitignore`` last, so a pull that brings an exception there is refused.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path

from .. import storage
from ..errors import HistoryError
from ..git.own_folder import own_folders
from ..git_folder import WORKTREE_STATE, tracks

__all__ = ["IGNORE", "PRIVATE_FOLDERS", "cover_private_folders", "uncovered", "uncovering_line"]

IGNORE = ".gitignore"
#: Folders that hold what people and tools said, and the index of it.
PRIVATE_FOLDERS = (WORKTREE_STATE, "sessions", "outputs")
_MARK = "# agent-home: private folders."
_ADVICE = "To keep one in git, remove its line here and in .gitignore."


def cover_private_folders(root: Path) -> None:
    """Name the private folders in git's own list of ignored files, unless this was done before.

    A folder that git tracks already is left out. So is a linked work tree, which shares the list with others.

    Raises:
        HistoryError: *root* is no repository of its own.
        OSError: the list cannot be written.
    """
    folders = own_folders(root)
    path = folders.shared / "info" / "exclude"
    if folders.own != folders.shared or _MARK in (known := _text(path)):
        return
    names = [name for name in PRIVATE_FOLDERS if name == WORKTREE_STATE or tracks(root, name) is not True]
    start = known if not known or known.endswith("\n") else f"{known}\n"
    lines = "".join(f"/{name}/\n" for name in names)
    staged = path.with_name(".exclude.tmp")
    storage.stage(staged, f"{start}{_MARK} {_ADVICE}\n{lines}".encode("utf-8", "surrogateescape"), mode=0o666)
    storage.replace(staged, path)


def uncovered(root: Path) -> list[str]:
    """Return the private folders that are there and that git would take, by the lines of both lists.

    Raises:
        HistoryError: *root* is no repository of its own.
    """
    lists = _text(root / IGNORE), _text(own_folders(root).shared / "info" / "exclude")
    exceptions = [name for name in PRIVATE_FOLDERS if any(_excepts(line, name) for line in lists[0].splitlines())]
    named = {line.strip() for text in lists for line in text.splitlines()}
    return [
        name
        for name in PRIVATE_FOLDERS
        if (root / name).is_dir()
        and tracks(root, name) is not True
        and (name in exceptions or not named & {name, f"/{name}", f"{name}/", f"/{name}/"})
    ]


def uncovering_line(root: Path, before: str, after: str) -> str:
    """Return the first line by which the ``.gitignore`` *after* uncovers a private folder that *before* did not.

    It is a new exception. Where git's own list does not name the folder, a line that is missing counts as well.
    """
    old, new = before.splitlines(), after.splitlines()
    for line in new:
        if line not in old and any(_excepts(line, name) for name in PRIVATE_FOLDERS):
            return line
    try:
        kept = {*_names(_text(own_folders(root).shared / "info" / "exclude").splitlines()), *_names(new)}
    except HistoryError:
        kept = {*_names(new)}
    return next((name for name in _names(old) if name not in kept), "")


def _names(lines: list[str]) -> Iterator[str]:
    """Yield the private folders that *lines* name."""
    for name in PRIVATE_FOLDERS:
        if any(line.strip().strip("/") == name for line in lines):
            yield name


def _excepts(line: str, name: str) -> bool:
    """Return whether *line* may be an exception for the folder *name*. A set of characters may be any."""
    line = line.removeprefix("\ufeff")  # git skips the mark at the start of a file
    if not line.startswith("!"):
        return False
    parts = [part for part in line[1:].replace("\\", "").strip().split("/") if part]
    while parts and parts[0] == "**":
        parts = parts[1:]
    return not parts or "[" in parts[0] or fnmatch.fnmatchcase(name, parts[0].casefold())


def _text(path: Path) -> str:
    """Return a list of ignored files. One that cannot be read, or is a link, names nothing."""
    try:
        return storage.read_state(path).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
