"""Files to rows: the half of a sync that reads what changed and writes passages and postings.

A file's rows and its hash are written in one transaction, a bounded number of passages at a time. Nothing is locked
while files are read and cut.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import apsw

from agent_home.home import Home

from ..settings import RecallSettings
from . import passage_store, schema
from .file_scan import scan
from .indexable import Screen
from .passage import LAYERS, WINDOW_NEIGHBOURS, FilePassages, layer_of, read_passages

__all__ = ["Progress", "SyncState", "index_words"]

#: ``progress(what, done, total)``; *what* is ``files`` or ``vectors``.
Progress = Callable[[str, int, int], None]
#: Passages written in one transaction: a tenth of a second under the write lock.
_WRITE_BATCH = 2000


@dataclass(slots=True)
class SyncState:
    """What one sync has done so far."""

    settings: RecallSettings
    progress: Progress
    changes: passage_store.Changes = field(default_factory=passage_store.Changes)
    embedded: int = 0
    skipped: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)


def index_words(conn: apsw.Connection, home: Home, work: SyncState) -> None:
    """Bring files, passages and postings up to the folder, a bounded number of passages at a time."""
    known, found = passage_store.file_records(conn), scan(home)
    gone = [stamp.id for path, stamp in known.items() if path not in found]
    for at in range(0, len(gone), 100):
        with schema.transaction(conn):
            removed = sum(passage_store.remove_file(conn, file) for file in gone[at : at + 100])
        work.changes += passage_store.Changes(removed=removed)
    work.skipped += [stamp.skipped for path, stamp in known.items() if stamp.skipped and path in found]
    due = [path for path, status in found.items() if path not in known or status != _status(known[path])]
    due.sort(key=lambda path: (LAYERS.index(layer_of(path) or ""), path))
    done = 0
    for batch in _batches(conn, home, due, known, work):
        with schema.transaction(conn):
            for path, digest, pieces in batch:
                work.changes += _write(conn, path, digest, pieces, found[path], known.get(path), work)
        done += len(batch)
        work.progress("files", done, len(due))


def _batches(
    conn: apsw.Connection, home: Home, paths: list[str], known: Mapping[str, passage_store.FileRecord], work: SyncState
) -> Iterator[list[tuple[str, bytes, FilePassages]]]:
    """Files with their hash and their passages, gathered up to a transaction's worth. Nothing is locked meanwhile."""
    screen = Screen(home)
    batch: list[tuple[str, bytes, FilePassages]] = []
    weight = 0
    for path in paths:
        try:
            digest = hashlib.sha256((home.root / path).read_bytes()).digest()
            screen.known = _whole_texts(conn, known[path].id) if path in known else ()
            pieces = read_passages(home.root, path, work.settings, screen)
        except OSError as error:
            work.skipped.append(f"{path} cannot be read: {error.strerror}")
            continue
        batch.append((path, digest, pieces))
        weight += len(pieces.passages) + 1
        if weight >= _WRITE_BATCH:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch
    work.degraded += [screen.problem] if screen.problem else []


def _whole_texts(conn: apsw.Connection, file: int) -> Collection[str]:
    """The turns of a file that the index has in one passage: they were screened when they were indexed.

    A transcript grows at its end; without this, every turn would be screened again for each one that is added.
    """
    rows = schema.rows(conn, "SELECT source, text FROM passages WHERE file = ?", (file,))
    parts = Counter(source for source, _ in rows)
    return {text for source, text in rows if parts[source] == 1}


def _write(
    conn: apsw.Connection,
    path: str,
    digest: bytes,
    pieces: FilePassages,
    status: tuple[int, int],
    known: passage_store.FileRecord | None,
    work: SyncState,
) -> passage_store.Changes:
    mtime_ns, size = status
    if known is not None and known.sha256 == digest:
        conn.execute("UPDATE files SET mtime_ns = ?, size = ? WHERE id = ?", (mtime_ns, size, known.id))
        return passage_store.Changes()
    if known is not None and known.skipped:
        work.skipped.remove(known.skipped)
    work.skipped += pieces.skipped
    return passage_store.store_file(
        conn, path, layer_of(path) or "", pieces,
        sha256=digest, mtime_ns=mtime_ns, size=size, reach=WINDOW_NEIGHBOURS,
    )  # fmt: skip


def _status(stamp: passage_store.FileRecord) -> tuple[int, int]:
    return stamp.mtime_ns, stamp.size
