"""A connection that writes an index in SQLite. See :class:`recall.index.writer.IndexWriter`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import apsw

from ..passage import FilePassages
from ..passage_rows import Changes, FileRecord
from ..vector_math import Vectors
from . import passage_store, schema, vectors

__all__ = ["SqliteWriter"]


class SqliteWriter:
    """The index that *conn* writes."""

    def __init__(self, conn: apsw.Connection) -> None:
        self.conn = conn
        self._has_digests = False

    def transaction(self) -> AbstractContextManager[None]:
        """Commit everything in the block, or nothing."""
        return schema.transaction(self.conn)

    def description(self) -> dict[str, str]:
        """Return what the index records of itself."""
        return schema.read_meta(self.conn)

    def describe(self, values: Mapping[str, object]) -> None:
        """Record *values*, and keep other recorded values."""
        schema.set_meta(self.conn, values)

    def describe_vectors(self, model: str, fingerprint: str, dimension: int) -> None:
        """Record the model of the index's vectors."""
        schema.describe_vectors(self.conn, model, fingerprint, dimension)

    def file_statuses(self) -> dict[str, tuple[int, int]]:
        """Return the modification time in ns and the size of every indexed file by its path."""
        return passage_store.file_statuses(self.conn)

    def file_records(self, paths: Collection[str]) -> dict[str, FileRecord]:
        """Return the records of those of *paths* that are indexed."""
        return passage_store.file_records(self.conn, paths)

    def skipped_files(self) -> list[tuple[str, str]]:
        """Return the paths of files of which something was left out, with the note about it."""
        return passage_store.skipped_files(self.conn)

    def texts_of(self, file: int) -> list[tuple[str, str]]:
        """Return address and text of every passage of a file."""
        return schema.rows(self.conn, "SELECT source, text FROM passages WHERE file = ?", (file,))

    def record_status(self, file: int, mtime_ns: int, size: int) -> None:
        """Record a new time and size of a file whose content is the same."""
        self.conn.execute("UPDATE files SET mtime_ns = ?, size = ? WHERE id = ?", (mtime_ns, size, file))

    def store_file(
        self, path: str, layer: str, content: FilePassages, *, sha256: bytes, mtime_ns: int, size: int, reach: int
    ) -> Changes:
        """Make the index hold exactly *content* for the file *path*."""
        return passage_store.store_file(
            self.conn, path, layer, content, sha256=sha256, mtime_ns=mtime_ns, size=size, reach=reach
        )

    def remove_file(self, file: int) -> int:
        """Remove the file and all its passages. Return the number of removed passages."""
        return passage_store.remove_file(self.conn, file)

    def count_passages(self) -> int:
        """Count all passages."""
        return int(schema.value(self.conn, "SELECT count(*) FROM passages"))

    def count_pending(self) -> int:
        """Count passages that have no vector yet."""
        return passage_store.count_pending(self.conn)

    def pending_ids(self) -> list[int]:
        """Return passages without a vector in the order of their embedding."""
        return passage_store.pending_ids(self.conn)

    def pending_meanings(self, ids: Sequence[int]) -> list[tuple[int, int, str]]:
        """Return ``(id, layer, text to embed)`` for those of *ids* that have no vector yet."""
        return passage_store.pending_meanings(self.conn, ids)

    def store_vectors(self, rows: Sequence[tuple[int, int]], made: Vectors, reach: int) -> None:
        """Store the vectors of passages, and mark the windows around them as stale."""
        vectors.store_vectors(self.conn, rows, made, reach)

    def store_quantized(self, rows: Sequence[tuple[int, int]], blobs: Sequence[bytes], reach: int) -> None:
        """Store vectors that have eight bits a coordinate, and mark the windows around them as stale."""
        vectors.store_quantized(self.conn, rows, blobs, reach)

    def pending_digests(self, ids: Sequence[int]) -> list[tuple[int, int, bytes]]:
        """Return ``(id, layer, digest of meaning)`` for those of *ids* that have no vector yet."""
        select = (
            "SELECT id, layer, meaning_digest FROM passages"
            " WHERE embedded = 0 AND id IN (SELECT value FROM json_each(?))"
        )
        return schema.rows(self.conn, select, (json.dumps(list(ids)),))

    def vectors_of(self, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of texts by the digest of their meaning."""
        self._find_by_digest()
        select = (
            "SELECT p.meaning_digest, e.vector FROM temp.passages_by_digest d JOIN passages p ON p.id = d.passage"
            " JOIN embeddings e ON e.passage = p.id WHERE d.digest IN (SELECT value FROM json_each(?))"
        )
        return dict(schema.rows(self.conn, select, (json.dumps([digest.hex() for digest in digests]),)))

    def _find_by_digest(self) -> None:
        """Make a table of the passages with a vector, by their digest, for this connection alone."""
        if self._has_digests:
            return
        self.conn.execute(
            "CREATE TEMP TABLE passages_by_digest(digest TEXT PRIMARY KEY, passage INTEGER) WITHOUT ROWID;"
            "INSERT OR REPLACE INTO temp.passages_by_digest"
            " SELECT lower(hex(meaning_digest)), id FROM passages WHERE embedded = 1"
        )
        self._has_digests = True

    def rows_in_order(self) -> Iterator[tuple[str, int, bytes, bytes, bytes | None]]:
        """Yield address, part, digest of text, digest of meaning and vector of every passage, in order."""
        yield from self.conn.execute(
            "SELECT p.source, p.part, p.content_digest, p.meaning_digest, e.vector"
            " FROM passages p LEFT JOIN embeddings e ON e.passage = p.id"
            " ORDER BY p.source, p.part, p.content_digest"
        )

    def refresh_windows(self, reach: int) -> int:
        """Compute a bounded number of the stale windows. Return the number of computed windows."""
        return vectors.refresh_windows(self.conn, reach)

    def finish_vectors(self) -> None:
        """Compute all binary vectors again when there are many more vectors than before."""
        with self.transaction():
            vectors.recenter(self.conn)
