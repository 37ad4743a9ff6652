"""Comparisons of an index with the files, wherever the index is."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agent_home import storage
from agent_home.home import Home
from agent_home.screening.ruleset import guard_signature
from agent_home.store.speakers import owner_signature

from ..settings import RecallSettings
from ..text.terms import VERSION
from .file_scan import scan
from .indexable import Screen
from .passage import Passage, passage_signature, read_passages
from .passage_rows import FileRecord

__all__ = ["MOST", "FilesAsRead", "IndexVerification", "files_differ", "index_signature", "signature_differs"]

#: Reported differences. More of them say nothing new.
MOST = 50
#: File id to path and passages.
FilesAsRead: TypeAlias = dict[int, tuple[str, tuple[Passage, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexVerification:
    """Result of a verification. *ok* means no differences. *pending* passages have no vector yet, which is none."""

    ok: bool
    differences: tuple[str, ...]
    passages: int = 0
    pending: int = 0


def index_signature(home: Home, settings: RecallSettings) -> Mapping[str, str]:
    """Return the versions of screening, speakers, passages and terms. Rows of different signatures cannot be mixed."""
    return {"terms": VERSION, "cut": passage_signature(settings), "guard": guard_signature(home),
            "owner": owner_signature(home)}  # fmt: skip


def signature_differs(recorded: Mapping[str, str], home: Home, settings: RecallSettings) -> Iterator[str]:
    """Yield what the index records of itself and should not."""
    for key, expected in index_signature(home, settings).items():
        if recorded.get(key) != expected:
            yield f"{key} is {recorded.get(key)!r} in the index, expected {expected!r}. Run `memory sync`"


def files_differ(
    known: Mapping[str, FileRecord], home: Home, settings: RecallSettings
) -> Generator[str, None, FilesAsRead]:
    """Yield differences. Return the passages of every file that the index holds as it is on the disk."""
    found = scan(home)
    for path in sorted(known.keys() - found.keys()):
        yield f"{path} is in the index but not in the home. Run `memory sync`"
    for path in sorted(found.keys() - known.keys()):
        yield f"{path} is not in the index. Run `memory sync`"
    screen = Screen(home)
    read: FilesAsRead = {}
    for path in sorted(found.keys() & known.keys()):
        stamp = known[path]
        if hashlib.sha256(storage.read_bytes(home.root / path)).digest() != stamp.sha256:
            yield f"{path} changed since it was indexed. Run `memory sync`"
        else:
            read[stamp.id] = (path, read_passages(home.root, path, settings, screen).passages)
    return read
