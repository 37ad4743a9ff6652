"""Find the repositories inside a home, and say of each whether a backup may read it.

A clone has its git folder as ``.git`` in its work tree. A submodule has it in the ``modules`` of the repository around
it. A git folder that reaches out of the home, by a link or by objects that it borrows, is not read: it would bring
another repository of the user into the backup.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shlex import quote

from .. import storage
from ..errors import GitFailed, HistoryError, NoRepository
from ..git.isolation import git_folders
from ..git.own_folder import links_out, own_folders
from ..git_folder import git_folder
from ..home import Home
from ..home_location import MANIFEST
from .carried import LeftOut
from .manifest import MOST_REPOSITORIES

__all__ = ["InnerRepository", "enclosing", "inner_repositories"]

_MODULES = "modules"
_MAX_EXCLUDE_BYTES = 1 << 20
#: Folders that are looked through for submodules that are not checked out, and those that are named.
_MOST_FOLDERS, _MOST_NAMED = 5_000, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerRepository:
    """A repository at *place* in the home, with its work tree *root* and git's *folder*, without links.

    A submodule has the *name* of its git folder in the ``modules`` of the repository at *of*, and *excluded* is a clone
    that the repository around it ignores, as in :class:`agent_home.backup.manifest.BackupRepository`.
    """

    place: str
    root: Path
    folder: Path
    of: str = ""
    name: str = ""
    excluded: bool = False


def inner_repositories(
    home: Home, places: Sequence[str], earlier: Collection[str] = ()
) -> tuple[list[InnerRepository], list[LeftOut]]:
    """Return the repositories at *places* of *home*, the outer ones first, and those that are left out.

    What is no repository any more is damaged if it was one in the *earlier* backup. Of too many, those deep in the home
    are left out. A submodule that is not checked out is named as well.
    """
    outer = git_folder(home.root)
    folders = {} if outer is None else {"": Path(os.path.realpath(outer))}
    found, left_out = list[InnerRepository](), list[LeftOut]()
    places = sorted(places, key=lambda place: (place.count("/"), place))
    for number, place in enumerate(places):
        if len(found) >= MOST_REPOSITORIES:
            more = f" and {len(places) - number - 1} more" if number + 1 < len(places) else ""
            said = f"this one{more} are too many: a backup carries {MOST_REPOSITORIES} repositories"
            return found, [*left_out, _left_out(place, said, unread=True)]
        one = _inner(home.root / place, place, folders, was_there=place in earlier)
        if isinstance(one, LeftOut):
            left_out.append(one)
            continue
        found.append(one)
        folders[place] = one.folder
        if os.path.lexists(one.root / MANIFEST):
            said = "is that of another home, whose machine state is not in the backup. Back that home up as well"
            left_out.append(LeftOut(path=f"{place}/.git", reason=said))
    if outer is not None:
        left_out += _unused_modules(outer, {_named_folder(home.root / place) for place in places})
    return found, left_out


def enclosing(place: str, others: Iterable[str]) -> str:
    """Return the innermost of the places *others* around *place*, or an empty text for the home."""
    return max((other for other in others if place.startswith(f"{other}/")), key=len, default="")


def _inner(root: Path, place: str, folders: Mapping[str, Path], *, was_there: bool) -> InnerRepository | LeftOut:
    """Return the repository at *place*, or why it is left out. *folders* are the git folders of those around it."""
    dot = root / ".git"
    try:
        if dot.is_symlink():
            return _left_out(place, f"is a link to {dot.readlink()}. Put git's folder itself there")
        own, shared = (os.path.realpath(folder) for folder in _folders(root))
        if own != shared:
            said = f"is a linked work tree of {Path(shared).parent}"
            return _left_out(place, f"{said}. Its files are in the backup, and what is staged is not")
        of, name = ("", "") if dot.is_dir() else _named(place, own, folders)
        if not dot.is_dir() and not name:
            return _left_out(place, f"leads to {own}, which is not in the git folder of a repository around it")
        if reason := _reaches_out(root, Path(shared)):
            return _left_out(place, reason, unread=True)
    except NoRepository:
        return _left_out(place, "is no repository of git's", unread=was_there)
    except (HistoryError, OSError, ValueError) as error:
        is_others = isinstance(error, HistoryError) and not isinstance(error, GitFailed)
        return _left_out(place, " ".join(str(error).split()), unread=was_there or not is_others)
    around = enclosing(place, folders)
    excluded = around in folders and _is_excluded(folders[around], place.removeprefix(f"{around}/"))
    return InnerRepository(place=place, root=root, folder=Path(own), of=of, name=name, excluded=excluded)


def _folders(root: Path) -> tuple[Path, Path]:
    """Return git's own and shared folder of *root*, those of a linked work tree as well.

    Raises:
        HistoryError: they belong to something else.
    """
    folders = git_folders(root)
    if folders.own == folders.shared:
        folders = own_folders(root)
    return folders.own, folders.shared


def _named(place: str, own: str, folders: Mapping[str, Path]) -> tuple[str, str]:
    """Return which repository around *place* has the folder *own* in its modules, and the name there."""
    for of in sorted(folders, key=len, reverse=True):
        modules = f"{os.path.realpath(folders[of])}/{_MODULES}/"
        if (not of or place.startswith(f"{of}/")) and own.startswith(modules):
            return of, own.removeprefix(modules)
    return "", ""


def _is_excluded(folder: Path, path: str) -> bool:
    """Return whether the repository with the git *folder* ignores the folder *path* in it by a line of its own."""
    try:
        data = storage.read_bytes(folder / "info" / "exclude", _MAX_EXCLUDE_BYTES)
    except OSError:
        return False
    lines = {line.strip() for line in os.fsdecode(data).splitlines()}
    return not lines.isdisjoint({path, f"/{path}", f"{path}/", f"/{path}/"})


def _reaches_out(root: Path, shared: Path) -> str:
    """Return why reading the repository would read another one, or an empty text."""
    if found := links_out(root):
        return f"has a link that leads out of it ({found[0]}). Put a copy of the file or folder in its place"
    if link := next(_linked_objects(shared / "objects"), None):
        return f"has a link in the place of an object ({link}). Put a copy of the file or folder in its place"
    borrowed = shared / "objects" / "info" / "alternates"
    if os.path.lexists(borrowed) and borrowed.stat().st_size:
        commands = f"git -C {quote(str(root))} repack -a -d` and then `rm {quote(str(borrowed))}"
        return f"borrows objects of another repository. Run `{commands}`"
    return ""


def _linked_objects(objects: Path) -> Iterator[str]:
    """Yield the links in the folder of objects. Git makes none there."""
    for place, folders, names in os.walk(objects):
        for name in (*folders, *names):
            if os.path.islink(path := f"{place}/{name}"):  # noqa: PTH114 - there may be many
                yield path


def _named_folder(root: Path) -> str:
    """Return the folder that ``.git`` in *root* leads to, without links, whatever lies there."""
    try:
        return os.path.realpath(git_folders(root, look=False).own)
    except (HistoryError, OSError, ValueError):
        return ""


def _unused_modules(outer: Path, used: Collection[str]) -> Iterator[LeftOut]:
    """Yield the repositories in the modules of the git folder *outer* that are not *used*, as far as time permits."""
    top = f"{os.path.realpath(outer)}/{_MODULES}"

    def unused() -> Iterator[str]:
        for folder, inner, names in islice(os.walk(top), _MOST_FOLDERS):
            if "HEAD" in names and "objects" in inner:
                inner[:] = [_MODULES] if folder in used and _MODULES in inner else []
                if folder not in used:
                    yield os.path.relpath(folder, top)

    for name in islice(unused(), _MOST_NAMED):
        said = "is that of a submodule that is not checked out. Check it out, or fetch it anew after a restore"
        yield LeftOut(path=f".git/{_MODULES}/{name}", reason=said)


def _left_out(place: str, reason: str, *, unread: bool = False) -> LeftOut:
    return LeftOut(path=f"{place}/.git", reason=reason, unread=unread)
