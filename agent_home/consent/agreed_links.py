"""The links below ``Projects/`` that a person on this machine agreed to, in a record outside git.

A link can come with a pull, and then it would show other files of this machine. So a link is followed only where a
person agreed to it, and only to the very folder that it led to then. Memory itself is never shared: a link to a home,
or to a folder around one, is followed by nobody's consent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..home_location import MANIFEST
from .signed_record import read_record, write_record

__all__ = ["SHARED", "absent_links", "agreed_links", "agreed_targets", "is_place", "keep_links", "target_problem"]

#: The one folder of a home that several agents may share, as a whole or one project of it.
SHARED = "Projects"
_RECORD = "shared-links"
#: Levels below the target in which no home may lie, and most folders that are looked at, each time that it is used.
#: Deeper homes that come later are not searched (``recall.index.file_scan``).
_LEVELS, _MOST_FOLDERS = 2, 2_000
#: The same when a person agrees.
_ALL_LEVELS, _ALL_FOLDERS = 32, 20_000


def is_place(path: str) -> bool:
    """Return whether *path* in a home can be shared: ``Projects``, or a folder in it."""
    parts = path.split("/")
    return parts[0] == SHARED and len(parts) <= 2 and all(part not in {"", ".", "..", ".git"} for part in parts)


def agreed_targets(machine: Path) -> Mapping[str, str]:
    """Return the folder that a person agreed to for each place. *machine* is a home's folder of machine state."""
    record = read_record(machine, _RECORD)
    return dict(record["links"]) if record else {}


def agreed_links(root: Path, machine: Path) -> Mapping[str, Path]:
    """Return the links of the home *root* that are followed: the real folder of each place, ordered by place."""
    return {place: to for place, to in _unchanged(root, machine) if _is_folder(to) and not target_problem(root, to)}


def absent_links(root: Path, machine: Path) -> Mapping[str, Path]:
    """Return the links of the home *root* that a person agreed to, and whose folder is not there now, by place.

    A disk may come back. Until then texts wait for the folder.
    """
    return {place: to for place, to in _unchanged(root, machine) if not _is_folder(to)}


def keep_links(machine: Path, links: Mapping[str, str]) -> None:
    """Replace the agreed links: the real folder by place.

    Raises:
        MachineKeyUnusable: the list cannot be signed.
    """
    write_record(machine, _RECORD, {"links": dict(links)})


def target_problem(root: Path, target: Path, *, thorough: bool = False) -> str:
    """Return why the real folder *target* may not be shared with the home *root*, or an empty string.

    A *thorough* look, which may take a second, finds homes far below it.
    """
    top = Path(os.path.realpath(root))
    if target == top or target in top.parents:
        return "the home itself lies there"
    if top in target.parents:
        return "it lies in the home itself"
    is_git_folder = all(os.path.lexists(target / name) for name in ("HEAD", "objects", "refs"))
    if is_git_folder or any(part.casefold() == ".git" for part in target.parts):
        return "it lies in git's folder"
    homes = (folder for folder in (target, *target.parents) if os.path.lexists(folder / MANIFEST))
    levels, folders = (_ALL_LEVELS, _ALL_FOLDERS) if thorough else (_LEVELS, _MOST_FOLDERS)
    home = next(homes, None) or next(_homes_below(str(target), levels, [folders]), None)
    return f"it would share the memory of the home in {home}" if home else ""


def _unchanged(root: Path, machine: Path) -> Iterator[tuple[str, Path]]:
    """Yield the place and the folder of each link that leads where it led when a person agreed, ordered by place."""
    for place, target in sorted(agreed_targets(machine).items()):
        link = root / place
        if is_place(place) and link.is_symlink() and not link.parent.is_symlink() and os.path.realpath(link) == target:
            yield place, Path(target)


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - is_dir raises where a folder above may not be entered


def _homes_below(folder: str, levels: int, left: list[int]) -> Iterator[Path]:
    """Yield the homes below *folder*, at most *levels* deep. *left* counts down the folders that are looked at."""
    try:
        with os.scandir(folder) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name != ".git"]
    except OSError:
        return
    for path in folders:
        left[0] -= 1
        if left[0] < 0:
            return
        if os.path.lexists(f"{path}/{MANIFEST}"):
            yield Path(path)
        elif levels > 1:
            yield from _homes_below(path, levels - 1, left)
