"""Find the project folders of a home that have an owner besides the home: another repository, or another folder.

Only ``Projects/`` and folders in it can be shared. A submodule and a clone lie in the home's own folder, so a person
put them there, and they are read without further consent. A link is followed where a person agreed to it
(``agent_home.consent.agreed_links``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..consent.agreed_links import SHARED
from ..documents.check import markdown_files
from ..errors import HistoryError
from ..git.client import home_client
from ..home import Home

__all__ = ["SharedFolder", "Submodules", "own_markdown_files", "shared_folder", "shared_folders", "submodules"]

_SUBMODULE = "160000"
#: The commits that the home's staging area names for its submodules, by path.
Submodules = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFolder:
    """A folder of the home that others write as well.

    *place* is its path in the home, and *folder* its real path. *repository* is the top of the repository that keeps
    its files, ``None`` for a folder without git and for a submodule that is not checked out.
    """

    place: str
    kind: Literal["link", "submodule", "clone"]
    folder: Path
    repository: Path | None = None


def submodules(home: Home) -> Submodules:
    """Return the submodules of the home at or below ``Projects/``. A home without git has none."""
    try:
        listed = home_client(home.root).text("ls-files", "--stage", "-z", "--", SHARED)
    except HistoryError:
        return {}
    rows = (row.partition("\t") for row in listed.split("\0") if row.startswith(_SUBMODULE))
    return {path: fields.split()[1] for fields, _, path in rows}


def shared_folder(home: Home, path: str, registered: Submodules) -> SharedFolder | None:
    """Return the shared folder that the file *path* lies in, or ``None``. The innermost repository keeps the file.

    The folder of an agreed link may be absent.
    """
    parts = path.split("/")
    if parts[0] != SHARED:
        return None
    links, folder, found = {**home.links, **home.absent_links}, Path(os.path.realpath(home.root)), None
    for depth, part in enumerate(parts[:-1], 1):
        place, folder = "/".join(parts[:depth]), folder / part
        if place in links:
            folder = links[place]
            found = SharedFolder(place=place, kind="link", folder=folder, repository=_enclosing(folder))
        elif folder.is_symlink():
            return None
        elif place in registered or os.path.lexists(folder / ".git"):
            found = _with_repository(found, place, folder, registered)
    return found


def shared_folders(home: Home) -> list[SharedFolder]:
    """Return the shared folders of *home*, ordered by place."""
    registered = submodules(home)
    found = (shared_folder(home, f"{place}/any", registered) for place in _places(home, registered))
    return sorted({one.place: one for one in found if one}.values(), key=lambda one: one.place)


def own_markdown_files(home: Home) -> list[str]:
    """Return the paths of the Markdown files that the home's own git keeps or may keep, in order."""
    places = tuple(f"{shared.place}/" for shared in shared_folders(home))
    return [path for path in markdown_files(home) if not path.startswith(places)]


def _places(home: Home, registered: Submodules) -> Iterator[str]:
    yield SHARED
    top = home.root / SHARED
    if not top.is_symlink() or SHARED in home.links:
        try:
            names = os.listdir(top)  # noqa: PTH208 - is_dir raises where a folder may not be entered
            yield from sorted(f"{SHARED}/{name}" for name in names if os.path.isdir(top / name))  # noqa: PTH112
        except OSError:
            return
    yield from registered


def _with_repository(found: SharedFolder | None, place: str, folder: Path, registered: Submodules) -> SharedFolder:
    """Return the folder at *place*, which is a repository, or the shared folder *found* around it with that."""
    there = folder if os.path.lexists(folder / ".git") else None
    if found is not None:
        return replace(found, repository=there or found.repository)
    return SharedFolder(
        place=place, kind="submodule" if place in registered else "clone", folder=folder, repository=there
    )


def _enclosing(folder: Path) -> Path | None:
    return next((top for top in (folder, *folder.parents) if os.path.lexists(top / ".git")), None)
