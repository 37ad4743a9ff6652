"""Ingest of changed files: the half of a sync that writes passages and postings.

A file's rows and its hash are written in one transaction, with a bounded number of passages. Nothing is locked while
files are read and split into passages.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from agent_home import storage
from agent_home.home import Home

from ..settings import RecallSettings
from .file_scan import scan
from .indexable import Screen
from .passage import LAYERS, WINDOW_NEIGHBOURS, FilePassages, layer_of, read_passages
from .passage_rows import Changes, FileRecord
from .writer import IndexWriter

__all__ = ["Progress", "SyncState", "index_words"]

#: ``progress(phase, done, total)``. The phase is ``files`` or ``vectors``.
Progress = Callable[[str, int, int], None]
#: How long a statement waits for another program's lock. Our own transactions take a tenth of a second.
BUSY_TIMEOUT_MS = 10_000
#: Passages written in one transaction: a tenth of a second under the write lock.
_WRITE_BATCH = 2000


@dataclass(slots=True)
class SyncState:
    """Counters and notes of a running sync. It waits up to *timeout_ms* for another program's lock.

    *found* is a scan that the caller made a moment ago, if any.
    """

    settings: RecallSettings
    progress: Progress
    changes: Changes = field(default_factory=Changes)
    embedded: int = 0
    skipped: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)
    timeout_ms: int = BUSY_TIMEOUT_MS
    found: Mapping[str, tuple[int, int]] | None = None


def index_words(writer: IndexWriter, home: Home, state: SyncState) -> None:
    """Update files, passages and postings to the state of the folder, a bounded number of passages at a time."""
    statuses, found = writer.file_statuses(), state.found or scan(home)
    if statuses.keys() - found.keys():  # an early scan lacks what another sync has indexed since then
        found = scan(home)
    gone = [path for path in statuses if path not in found]
    for at in range(0, len(gone), 100):
        records = writer.file_records(gone[at : at + 100])
        with writer.transaction():
            removed = sum(writer.remove_file(record.id) for record in records.values())
        state.changes += Changes(removed=removed)
    state.skipped += [note for path, note in writer.skipped_files() if path in found]
    due = [path for path, status in found.items() if statuses.get(path) != status]
    due.sort(key=lambda path: (LAYERS.index(layer_of(path) or ""), path))
    known = writer.file_records(due)
    done = 0
    for batch in _batches(writer, home, due, known, state):
        with writer.transaction():
            for path, digest, content in batch:
                state.changes += _write(writer, path, digest, content, found[path], known.get(path), state)
        done += len(batch)
        state.progress("files", done, len(due))


def _batches(
    writer: IndexWriter, home: Home, paths: list[str], known: Mapping[str, FileRecord], state: SyncState
) -> Iterator[list[tuple[str, bytes, FilePassages]]]:
    """Yield files with their hash and passages in batches, each for one transaction. Nothing is locked meanwhile."""
    screen = Screen(home)
    batch: list[tuple[str, bytes, FilePassages]] = []
    weight = 0
    for path in paths:
        try:
            digest = hashlib.sha256(storage.read_bytes(home.root / path)).digest()
            screen.known = _whole_texts(writer, known[path].id) if path in known else ()
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


def _whole_texts(writer: IndexWriter, file: int) -> Collection[str]:
    """Return the turns of a file that the index holds in one passage each. They were screened when they were indexed.

    A transcript grows at its end. Without this set, each added turn would cause a screening of all the others.
    """
    rows = writer.texts_of(file)
    parts = Counter(source for source, _ in rows)
    return {text for source, text in rows if parts[source] == 1}


def _write(
    writer: IndexWriter,
    path: str,
    digest: bytes,
    content: FilePassages,
    status: tuple[int, int],
    known: FileRecord | None,
    state: SyncState,
) -> Changes:
    mtime_ns, size = status
    if known is not None and known.sha256 == digest:
        writer.record_status(known.id, mtime_ns, size)
        return Changes()
    if known is not None and known.skipped:
        state.skipped.remove(known.skipped)
    state.skipped += content.skipped
    return writer.store_file(
        path, layer_of(path) or "", content,
        sha256=digest, mtime_ns=mtime_ns, size=size, reach=WINDOW_NEIGHBOURS,
    )  # fmt: skip
