"""The interface between a sync and the index that it writes, wherever that is.

``recall.index.ingest`` and ``recall.index.embedding_queue`` choose what is written. A writer keeps the rows consistent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from .passage import FilePassages
from .passage_rows import Changes, FileRecord
from .vector_math import Vectors

__all__ = ["IndexWriter"]


class IndexWriter(Protocol):
    """A connection that writes the index of one home. Methods that change something run inside :meth:`transaction`."""

    def transaction(self) -> AbstractContextManager[object]:
        """Commit everything in the block, or nothing."""

    def description(self) -> dict[str, str]:
        """Return what the index records of itself."""

    def describe_vectors(self, model: str, fingerprint: str, dimension: int) -> None:
        """Record the model of the index's vectors."""

    def file_statuses(self) -> dict[str, tuple[int, int]]:
        """Return the modification time in ns and the size of every indexed file by its path."""

    def file_records(self, paths: Collection[str]) -> dict[str, FileRecord]:
        """Return the records of those of *paths* that are indexed."""

    def skipped_files(self) -> Sequence[tuple[str, str]]:
        """Return the paths of indexed files of which something was left out, with the note about it."""

    def texts_of(self, file: int) -> Sequence[tuple[str, str]]:
        """Return address and text of every passage of a file."""

    def record_status(self, file: int, mtime_ns: int, size: int) -> None:
        """Record a new time and size of a file whose content is the same."""

    def store_file(
        self, path: str, layer: str, content: FilePassages, *, sha256: bytes, mtime_ns: int, size: int, reach: int
    ) -> Changes:
        """Make the index hold exactly *content* for the file *path*.

        Unchanged passages keep their rows and vectors when they move within the file. *reach* is the number of turns
        on each side that make up a window.
        """

    def remove_file(self, file: int) -> int:
        """Remove the file and all its passages. Return the number of removed passages."""

    def count_passages(self) -> int:
        """Count all passages."""

    def count_pending(self) -> int:
        """Count passages that have no vector yet."""

    def pending_ids(self) -> Sequence[int]:
        """Return passages without a vector in the order of their embedding: memory first, then the newest sessions."""

    def pending_meanings(self, ids: Sequence[int]) -> list[tuple[int, int, str]]:
        """Return ``(id, layer, text to embed)`` for those of *ids* that have no vector yet."""

    def store_vectors(self, rows: Sequence[tuple[int, int]], vectors: Vectors, reach: int) -> None:
        """Store the vectors of the passages ``(id, layer)``, row by row, and mark the windows around them as stale."""

    def refresh_windows(self, reach: int) -> int:
        """Compute a bounded number of the stale windows. Return the number of computed windows."""

    def finish_vectors(self) -> None:
        """Adapt what finds vectors to their number. It has transactions of its own."""
