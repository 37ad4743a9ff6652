"""Own the folder ``/memories`` of Anthropic's memory tool: the file of the home that a path names, and who writes it.

Context files and the folders Knowledge/, Projects/ and DailyActivity/ have their own names. Every other path is a note
of the agent. It lies in ``Knowledge/memories/``, which is the owner's alone unless ``agent.toml`` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal

from agent_home import storage
from agent_home.errors import DocumentInvalid
from agent_home.home import ALIASES, MEMORY, Home, is_text
from assembler.file_screening import FileScreening
from assembler.sources import Sources

__all__ = ["NOTES", "ROOT", "FolderItem", "MemoryFolder", "MemoryPlace", "PathRefused"]

ROOT = "/memories"
#: Where the agent's own notes lie in the home.
NOTES = "Knowledge/memories"
_SHARED = ("Knowledge", "Projects", "DailyActivity")
#: First parts of paths that are neither memory nor a name for a note.
_RESERVED = frozenset({"agent.toml", "archive", "ledger", "outputs", "sessions", *map(str.casefold, _SHARED)})
_LONGEST_NAME = 180
_CONTROL = frozenset(map(chr, (*range(32), 127)))

Writing = Literal["text", "entries", "never"]


class PathRefused(Exception):
    """A path names nothing in ``/memories`` that could be used. The message is for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlace:
    """A path of the memory tool. *shown* is its canonical spelling below ``/memories``, *stored* the home's file.

    *writing* says how it may be changed: as a text, as entries, or never, for the reason *why*.
    """

    shown: str
    stored: str
    writing: Writing
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderItem:
    """A line of a listing: *path* below the listed folder, with ``/`` behind a folder, and its size in bytes."""

    path: str
    size: int


class MemoryFolder:
    """The files of one home that *audience* may read, as ``/memories``. Make one for each command."""

    def __init__(self, home: Home, audience: str = "owner") -> None:
        self.home, self.audience = home, audience
        self._sources = Sources(home, audience, FileScreening(home))

    def place(self, path: str) -> MemoryPlace:
        """Return the place that *path* names, whether or not a file is there.

        Raises:
            PathRefused: the path leads out of ``/memories``, or to what is no memory.
        """
        parts = _parts(path)
        shown = "/".join(parts)
        if not parts:
            return MemoryPlace(shown="", stored="", writing="never", why="it is the folder itself")
        context = self._context.get(parts[0]) if len(parts) == 1 else None
        if context is not None:
            found = context
        elif parts[0] in _SHARED:
            found = _shared_place(shown)
        elif parts[0].casefold() in _RESERVED or parts[0] in self._context:
            raise PathRefused(f"The path {path} is not in {ROOT}. Choose another name.")
        else:
            found = MemoryPlace(shown=shown, stored=f"{NOTES}/{shown}", writing="text")
        self._refuse_links(path, found.stored)
        return found

    def files(self) -> dict[str, str]:
        """Return the visible files: the path below ``/memories`` of each, and the file of the home."""
        found = {place.shown: place.stored for place in self._context.values()}
        for folder in _SHARED:
            for path in self.home.files(folder, "**/*"):
                relative = self.home.relative(path)
                found.setdefault(relative.removeprefix(f"{NOTES}/"), relative)
        return {
            shown: stored for shown, stored in sorted(found.items()) if self._visible(shown, stored) and is_text(stored)
        }

    def is_file(self, place: MemoryPlace) -> bool:
        """Return whether a file is there that the audience may read."""
        return bool(place.stored) and self._visible(place.shown, place.stored)

    def require_room(self, path: str, place: MemoryPlace) -> None:
        """Check that a new file may be made at *place*, and that this audience would see it.

        Raises:
            PathRefused: a part of the path is a file, or the audience may not read what it would write.
        """
        if not self.home.may_read(place.stored, self.audience):
            raise PathRefused(f"{path} is not for the audience {self.audience!r}. Use {ROOT}/Knowledge/ instead.")
        if any((self.home.root / parent).is_file() for parent in PurePosixPath(place.stored).parents):
            raise PathRefused(f"A part of the path {path} is a file.")

    def below(self, place: MemoryPlace) -> dict[str, str]:
        """Return the visible files below a folder. It is empty when there is no such folder."""
        lead = f"{place.shown}/" if place.shown else ""
        return {shown: stored for shown, stored in self.files().items() if shown.startswith(lead)}

    def listing(self, place: MemoryPlace, depth: int) -> list[FolderItem]:
        """Return the items down to *depth* levels below a folder, each folder before what is in it."""
        lead = len(place.shown) + 1 if place.shown else 0
        sizes: dict[tuple[str, ...], FolderItem] = {}
        for shown, stored in self.below(place).items():
            parts = tuple(shown[lead:].split("/"))
            for level in range(1, min(len(parts), depth) + 1):
                folder = level < len(parts)
                real = self.home.root / (self._folder_of(shown, stored, level, lead) if folder else stored)
                path = "/".join(parts[:level]) + ("/" if folder else "")
                sizes.setdefault(parts[:level], FolderItem(path=path, size=real.stat().st_size))
        return [sizes[key] for key in sorted(sizes)]

    def size(self, place: MemoryPlace) -> int:
        """Return the size of a folder on the disk."""
        return (self.home.root / place.stored).stat().st_size

    def shown_text(self, place: MemoryPlace) -> str:
        """Return the text of a file as a model may see it.

        Raises:
            PathRefused: the file cannot be read.
        """
        source = self._sources.read(place.stored)
        if source.failed:
            raise PathRefused(f"The file {ROOT}/{place.shown} cannot be read: {source.reason}")
        return source.text

    def text(self, place: MemoryPlace) -> str:
        """Return the text of a file as it is stored, to be edited.

        Raises:
            PathRefused: the guard keeps a part of it from the model, so that its lines are not those that it saw.
        """
        text = storage.read_text(self.home.path(place.stored))
        if self.shown_text(place) != text:
            raise PathRefused(
                f"The guard holds a part of {ROOT}/{place.shown} back, so it cannot be edited here. "
                "A person sees it with `memory doctor`."
            )
        return text

    @cached_property
    def _context(self) -> dict[str, MemoryPlace]:
        """The context files by the names that they have on the disk."""
        found = {}
        for item in self.home.manifest.context:
            for name in dict.fromkeys(
                (self.home.context_path(item.file), item.file, ALIASES.get(item.file, item.file))
            ):
                why = "" if item.owner == "agent" else f"its owner in agent.toml is {item.owner!r}"
                writing: Writing = "never" if why else "entries" if item.file == MEMORY else "text"
                found[name] = MemoryPlace(shown=name, stored=name, writing=writing, why=why)
        return found

    def _visible(self, shown: str, stored: str) -> bool:
        hidden = any(part.startswith(".") for part in shown.split("/"))
        readable = not hidden and self.home.may_read(stored, self.audience)
        return readable and (self.home.root / stored).is_file() and not self._sources.screening.held_name(stored)

    def _folder_of(self, shown: str, stored: str, level: int, lead: int) -> str:
        """Return the home's folder of a listed one: the parent, as often as *shown* goes deeper than *level*."""
        deeper = len(shown[lead:].split("/")) - level
        return str(PurePosixPath(stored).parents[deeper - 1])

    def _refuse_links(self, path: str, stored: str) -> None:
        """Refuse a path with a link on its way, unless agreed: it could show a private file under a public name."""
        links = self.home.links
        for part in (PurePosixPath(stored), *PurePosixPath(stored).parents):
            if str(part) not in {".", *links} and (self.home.root / part).is_symlink():
                raise PathRefused(f"Path {path} would escape {ROOT} directory via symlink")
        try:
            self.home.path(stored)
        except (DocumentInvalid, OSError) as error:
            raise PathRefused(f"Path {path} would escape {ROOT} directory") from error


def _shared_place(shown: str) -> MemoryPlace:
    """Return the place of a path in one of the home's folders. The agent writes Markdown into Knowledge/ alone."""
    top = shown.partition("/")[0]
    if top != "Knowledge":
        return MemoryPlace(shown=shown, stored=shown, writing="never", why=f"closing a session writes {top}/")
    if shown == NOTES or shown.startswith(f"{NOTES}/"):  # one file has one path
        raise PathRefused(f"The path {ROOT}/{shown} is {ROOT}{shown.removeprefix(NOTES)}. Use that one.")
    return MemoryPlace(shown=shown, stored=shown, writing="text")


def _parts(path: str) -> list[str]:
    """Return the names of which *path* consists, below ``/memories``.

    Raises:
        PathRefused: see :meth:`MemoryFolder.place`.
    """
    if not isinstance(path, str) or not (path == ROOT or path.startswith(f"{ROOT}/")):
        raise PathRefused(f"Path must start with {ROOT}, got: {str(path)[:_LONGEST_NAME]}")
    parts = [part for part in path.removeprefix(ROOT).split("/") if part]
    if any(part in {".", ".."} for part in parts):
        raise PathRefused(f"Path {path} would escape {ROOT} directory")
    for part in parts:
        if part.startswith(".") or "\\" in part or part != part.strip() or _CONTROL & set(part) or not is_text(part):
            raise PathRefused(f"The path {path[:_LONGEST_NAME]!r} has a name that memory does not take.")
        if len(part.encode()) > _LONGEST_NAME:
            raise PathRefused(f"The path has a name of more than {_LONGEST_NAME} bytes.")
    return parts
