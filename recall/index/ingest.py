"""Ingest of changed files: the half of a sync that writes passages and postings.

A file's rows and its hash are written in one transaction, with a bounded number of passages. Nothing is locked while
files are read and split into passages.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

import apsw

from agent_home import storage
from agent_home.home import Home

from ..settings import RecallSettings
from . import passage_store, schema
from .file_scan import scan
from .indexable import Screen
from .passage import LAYERS, WINDOW_NEIGHBOURS, FilePassages, layer_of, read_passages

__all__ = ["Progress", "SyncState", "index_words"]

#: ``progress(phase, done, total)``. The phase is ``files`` or ``vectors``.
Progress = Callable[[str, int, int], None]
#: Passages written in one transaction: a tenth of a second under the write lock.
_WRITE_BATCH = 2000


@dataclass(slots=True)
class SyncState:
    """Counters and notes of a running sync. It waits up to *timeout_ms* for another program's lock.

    *found* is a scan that the caller made a moment ago, if any.
    """

    settings: RecallSettings
    progress: Progress
    changes: passage_store.Changes = field(default_factory=passage_store.Changes)
    embedded: int = 0
    skipped: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)
    timeout_ms: int = schema.BUSY_TIMEOUT_MS
    found: Mapping[str, tuple[int, int]] | None = None


def index_words(conn: apsw.Connection, home: Home, state: SyncState) -> None:
    """Update files, passages and postings to the state of the folder, a bounded number of passages at a time."""
    statuses, found = passage_store.file_statuses(conn), state.found or scan(home)
    if statuses.keys() - found.keys():  # an early scan lacks what another sync has indexed since then
        found = scan(home)
    gone = [path for path in statuses if path not in found]
    for at in range(0, len(gone), 100):
        records = passage_store.file_records(conn, gone[at : at + 100])
        with schema.transaction(conn):
            removed = sum(passage_store.remove_file(conn, record.id) for record in records.values())
        state.changes += passage_store.Changes(removed=removed)
    state.skipped += [note for path, note in passage_store.skipped_files(conn) if path in found]
    due = [path for path, status in found.items() if statuses.get(path) != status]
    due.sort(key=lambda path: (LAYERS.index(layer_of(path) or ""), path))
    known = passage_store.file_records(conn, due)
    done = 0
    for batch in _batches(conn, home, due, known, state):
        with schema.transaction(conn):
            for path, digest, content in batch:
                state.changes += _write(conn, path, digest, content, found[path], known.get(path), state)
        done += len(batch)
        state.progress("files", done, len(due))


def _batches(
    conn: apsw.Connection, home: Home, paths: list[str], known: Mapping[str, passage_store.FileRecord], state: SyncState
) -> Iterator[list[tuple[str, bytes, FilePassages]]]:
    """Yield files with their hash and passages in batches, each for one transaction. Nothing is locked meanwhile."""
    screen = Screen(home)
    batch: list[tuple[str, bytes, FilePassages]] = []
    weight = 0
    for path in paths:
        try:
            digest = hashlib.sha256(storage.read_bytes(home.root / path)).digest()
            screen.known = _whole_texts(conn, known[path].id) if path in known else ()
            content = read_passages(home.root, path, state.settings, screen)
        except OSError as error:
            state.skipped.append(f"{path} cannot be read: {error.strerror}")
            continue
        batch.append((path, digest, content))
        weight += len(content.passages) + 1
        if weight >= _WRITE_BATCH:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch
    state.degraded += [screen.problem] if screen.problem else []


def _whole_texts(conn: apsw.Connection, file: int) -> Collection[str]:
    """Return the turns of a file that the index holds in one passage each. They were screened when they were indexed.

    A transcript grows at its end. Without this set, each added turn would cause a screening of all the others.
    """
    rows = schema.rows(conn, "SELECT source, text FROM passages WHERE file = ?", (file,))
    parts = Counter(source for source, _ in rows)
    return {text for source, text in rows if parts[source] == 1}


def _write(
    conn: apsw.Connection,
    path: str,
    digest: bytes,
    content: FilePassages,
    status: tuple[int, int],
    known: passage_store.FileRecord | None,
    state: SyncState,
) -> passage_store.Changes:
    mtime_ns, size = status
    if known is not None and known.sha256 == digest:
        conn.execute("UPDATE files SET mtime_ns = ?, size = ? WHERE id = ?", (mtime_ns, size, known.id))
        return passage_store.Changes()
    if known is not None and known.skipped:
        state.skipped.remove(known.skipped)
    state.skipped += content.skipped
    return passage_store.store_file(
        conn, path, layer_of(path) or "", content,
        sha256=digest, mtime_ns=mtime_ns, size=size, reach=WINDOW_NEIGHBOURS,
    )  # fmt: skip
