"""Keep outputs and checkpoints inside the home: nothing is written or read through a link below ``outputs/``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import HomeError
from ..home import Home

__all__ = ["PlaceIsLink", "is_own", "linked_places", "require_own"]


class PlaceIsLink(HomeError):
    """A part of a path below ``outputs/`` is a link, which may lead out of the home."""

    def __init__(self, place: str) -> None:
        super().__init__(f"{place} is a link. Remove it, and put what it leads to in its place")
        self.place = place


def require_own(home: Home, path: Path) -> Path:
    """Return *path*, which is below the home's folder, if no part of it in the home is a link. It may be absent.

    Raises:
        PlaceIsLink: one is.
    """
    place = home.root
    for part in path.relative_to(home.root).parts:
        place /= part
        if place.is_symlink():
            raise PlaceIsLink(place.relative_to(home.root).as_posix())
    return path


def is_own(home: Home, path: Path) -> bool:
    """Return whether no part of *path* in the home is a link."""
    try:
        require_own(home, path)
    except PlaceIsLink:
        return False
    return True


def linked_places(home: Home) -> Iterator[str]:
    """Yield the links in ``outputs/``, and ``outputs`` itself if it is one. What they lead to is not looked at."""
    top = home.root / "outputs"
    if top.is_symlink():
        yield "outputs"
        return
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted([*folders, *files]):
            if (path := Path(folder, name)).is_symlink():
                yield path.relative_to(home.root).as_posix()
