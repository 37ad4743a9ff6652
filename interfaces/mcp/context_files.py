"""Own the context files of a home as resources and prompts: only those that the caller's audience may read.

A text goes through the guard as it does in a prompt. A long one has parts: ``memory://context/MEMORY.md/2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from agent_home.home import Home
from agent_home.last_manifest import with_last_manifest
from assembler.file_screening import FileScreening
from assembler.sources import Sources

from ..service.http.callers import Caller
from .result_size import text_parts

__all__ = ["PART_TEMPLATE", "SharedFile", "read_shared", "shared_files", "shared_text"]

_BASE = "memory://context/"
PART_TEMPLATE = f"{_BASE}{{file}}/{{part}}"
_URI = re.compile(rf"{re.escape(_BASE)}(?P<file>[^/]+)(?:/(?P<part>[1-9][0-9]{{0,4}}))?")
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """A context file that a caller may read. *path* is its name on the disk, *owner* who writes it."""

    file: str
    path: str
    owner: str

    @property
    def uri(self) -> str:
        """The address of the resource."""
        return _BASE + quote(self.file, safe="")

    @property
    def prompt(self) -> str:
        """The name of the prompt: the file's name in small letters, without its ending."""
        return _NOT_IN_A_NAME.sub("_", self.file.removesuffix(".md").casefold()).strip("_") or "file"

    @property
    def summary(self) -> str:
        """One sentence for a list."""
        writers = {"user": "the user", "agent": "the agent", "generated": "the program"}
        return f"{self.file} of the agent's memory, written by {writers.get(self.owner, self.owner)}."


def shared_files(caller: Caller) -> list[SharedFile]:
    """Return the context files that are there and that *caller* may read, in prompt order."""
    return list(_shared(_fresh(caller), caller.audience))


def read_shared(caller: Caller, uri: str) -> str | None:
    """Return the text of the resource *uri*, or ``None`` where this caller has no such resource.

    A text with more than one part ends with the address of the next one.
    """
    match = _URI.fullmatch(uri)
    named = unquote(match["file"], errors="replace") if match else ""
    found = next((item for item in shared_files(caller) if item.file == named), None)
    if match is None or found is None:
        return None
    return shared_text(caller, found, int(match["part"] or 1))


def shared_text(caller: Caller, shared: SharedFile, part: int = 1) -> str | None:
    """Return a part of a context file, or ``None`` when it has not so many."""
    home = _fresh(caller)
    parts = text_parts(Sources(home, caller.audience, FileScreening(home)).read(shared.path).text)
    if part > len(parts):
        return None
    if part == len(parts):
        return parts[part - 1]
    following = f"{shared.uri}/{part + 1}"
    return f"{parts[part - 1]}\n[Part {part} of {len(parts)}. The next one is the resource {following}]\n"


def _shared(home: Home, audience: str) -> Iterator[SharedFile]:
    for item in home.manifest.context:
        path = home.context_path(item.file)
        if home.may_read(path, audience) and (home.root / path).is_file():
            yield SharedFile(file=item.file, path=path, owner=item.owner)


def _fresh(caller: Caller) -> Home:
    """Return the home as ``agent.toml`` is now."""
    return with_last_manifest(Home(caller.home.root))[0]
