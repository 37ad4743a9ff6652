"""Rows of an index, the same wherever it is stored: columns of a passage, and what a changed file keeps of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .passage import LAYERS, Passage

__all__ = [
    "COLUMNS",
    "LAYER_CODES",
    "PENDING",
    "UNWANTED",
    "Changes",
    "FileRecord",
    "StoredPassage",
    "file_text",
    "match_rows",
    "passage_values",
]

LAYER_CODES = {layer: code for code, layer in enumerate(LAYERS)}
#: Columns of a passage that are compared with a new one.
COLUMNS = (
    "ordinal", "part", "source", "session", "message", "role", "name", "ts",
    "heading", "text", "meaning", "content_digest", "meaning_digest",
)  # fmt: skip
#: Values of ``embedded``: a vector is pending, or none is wanted. 1 stands for a passage that has one.
PENDING, UNWANTED = 0, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """Record of an indexed file, enough to see whether the file changed."""

    id: int
    sha256: bytes
    mtime_ns: int
    size: int
    skipped: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Counts of passages that were added, that changed under the same address, and that were removed."""

    added: int = 0
    changed: int = 0
    removed: int = 0

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            added=self.added + other.added,
            changed=self.changed + other.changed,
            removed=self.removed + other.removed,
        )


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """An indexed passage, with the columns that are compared with a new one."""

    id: int
    values: tuple[Any, ...]  # of COLUMNS

    @property
    def address(self) -> tuple[str, int]:
        return self.values[2], self.values[1]


def match_rows(
    old: Sequence[StoredPassage], new: Sequence[Passage]
) -> tuple[list[tuple[StoredPassage, Passage]], list[Passage], list[StoredPassage]]:
    """Return old rows paired with their passages, passages without a row, and rows without a passage.

    Passages with equal searched text are paired first, then those with an equal vector.
    """
    matched: list[tuple[StoredPassage, Passage]] = []
    for column, digest in ((-2, "content_digest"), (-1, "meaning_digest")):
        by_digest: dict[bytes, list[StoredPassage]] = defaultdict(list)
        for row in reversed(old):
            by_digest[row.values[column]].append(row)
        rest = []
        for passage in new:
            rows = by_digest.get(getattr(passage, digest))
            if rows:
                matched.append((rows.pop(), passage))
            else:
                rest.append(passage)
        taken = {row.id for row, _ in matched}
        old, new = [row for row in old if row.id not in taken], rest
    return matched, list(new), list(old)


def passage_values(passage: Passage) -> tuple[Any, ...]:
    return (
        passage.ordinal, passage.part, passage.source, passage.session, passage.message, passage.role, passage.name,
        passage.ts, passage.heading, passage.text, passage.meaning,
        passage.content_digest, passage.meaning_digest,
    )  # fmt: skip


def file_text(passages: Iterable[Passage]) -> str:
    """Return the text of a whole file: every passage with its heading or speaker."""
    return "\n".join(f"{passage.heading}\n{passage.text}" for passage in passages)
