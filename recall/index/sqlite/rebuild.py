"""Rebuild of the index: a new one is filled beside the old one, and replaces it in one step.

The new index is filled from the files alone, and with the old vectors where text and model are the same. It is copied
over the old one in a single SQLite transaction. A rename would leave the old file's write-ahead log beside the new
file. Readers see the old rows until the copy is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import apsw

from agent_home.home import Home

from ...embedding.embedder import Embedder
from ..embedding_queue import model_mismatch
from ..ingest import SyncState, index_words
from ..passage import WINDOW_NEIGHBOURS
from . import own_index, schema
from .vectors import store_quantized
from .writer import SqliteWriter

__all__ = ["rebuild"]


def rebuild(home: Home, state: SyncState, embedder: Embedder | None, signature: Mapping[str, str]) -> None:
    """Replace the index by one built from the files. The caller holds the sync lock.

    Raises:
        IndexUnusable: no new file can be written.
    """
    building = home.index.with_name(f"{home.index.name}.building")
    _remove(building)
    conn, _ = schema.open_writer(building)
    try:
        with schema.transaction(conn):
            token = own_index.own_token(home) or own_index.new_token(home)
            schema.set_meta(conn, {**signature, own_index.MARK: token})
        index_words(SqliteWriter(conn), home, state)
        _reuse_vectors(conn, home, embedder)
        note = own_index.set_foreign_aside(home)
        live, _ = schema.open_writer(home.index, state.timeout_ms)
        try:
            with live.backup("main", conn, "main") as copy:
                copy.step(-1)
        finally:
            live.close()
        if note:
            state.degraded.append(note)
    finally:
        conn.close()
        _remove(building)


def _reuse_vectors(conn: apsw.Connection, home: Home, embedder: Embedder | None) -> None:
    """Copy vectors of unchanged texts from the old index if the same model made them.

    Without *embedder*, any model will do. A damaged index gives no vectors, since they can be computed again.
    """
    source = own_index.open_own_or_none(home)
    if source is None:
        return
    try:
        recorded = schema.read_meta(source)
        if "model" not in recorded or (embedder is not None and model_mismatch(recorded, embedder)):
            return
        rows, vectors = _reusable(conn, source)
    except schema.CORRUPTION_ERRORS:
        return
    finally:
        source.close()
    with schema.transaction(conn):
        schema.describe_vectors(conn, recorded["model"], recorded["fingerprint"], int(recorded["dimension"]))
        store_quantized(conn, rows, vectors, WINDOW_NEIGHBOURS)


def _reusable(conn: apsw.Connection, source: apsw.Connection) -> tuple[list[tuple[int, int]], list[bytes]]:
    """Return ``(id, layer)`` of passages of *conn*, and the vectors that *source* has stored for the same texts."""
    digests = dict(source.execute("SELECT id, meaning_digest FROM passages WHERE embedded = 1"))
    stored = source.execute("SELECT passage, vector FROM embeddings")
    blobs = {digests[passage]: blob for passage, blob in stored if passage in digests}
    new = conn.execute("SELECT id, layer, meaning_digest FROM passages")
    found = [((passage, layer), blobs[digest]) for passage, layer, digest in new if digest in blobs]
    return [row for row, _ in found], [blob for _, blob in found]


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
