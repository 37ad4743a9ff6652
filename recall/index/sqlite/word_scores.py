"""Scores of passages and files by their words, from the passages that a process has in memory.

The scores are those of FTS5's ``bm25()``, to the last digit: the same sums in the same order. So a search gives the
same hits, whether the process has a table of passages or not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from ...text.term_hashes import Fts5Stemmer, term_hash
from ..bm25 import rarity, saturated
from ..reader import Scope, VocabularyEntry
from .binary_quantization import in_layers
from .passage_table import PassageTable, Segment

__all__ = ["ResidentWords"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: Numbers of passages or files, and the scores of those that have one.
_Scored = tuple[Ints, Floats]


class ResidentWords:
    """The words of a table of passages, for the expressions of one query."""

    def __init__(self, table: PassageTable, phrases: Mapping[str, tuple[int, ...]]) -> None:
        self._table, self._phrases = table, phrases

    @classmethod
    def of(cls, table: PassageTable | None, expressions: Iterable[str], stemmer: Fts5Stemmer) -> ResidentWords | None:
        """Return the words, or ``None`` without a table or where an expression is a prefix or has no word."""
        if table is None:
            return None
        phrases = {
            expression: tuple(map(term_hash, stemmer.stems(expression[1:-1]))) if expression.endswith('"') else ()
            for expression in expressions
        }
        return cls(table, phrases) if all(phrases.values()) else None

    def totals(self) -> tuple[int, int]:
        """Return the number of passages, and of words in their texts."""
        return self._table.passages, self._table.text_words

    def entries(self, expression: str) -> list[VocabularyEntry]:
        """Return the entry for *expression*."""
        codes = self._phrases[expression]
        counts = [self._having(code) for code in codes]
        return [VocabularyEntry(codes, min(text for text, _ in counts), min(heading for _, heading in counts))]

    def best_passages(self, expressions: Sequence[str], limit: int, scope: Scope) -> dict[int, float]:
        """Return the *limit* passages in *scope* with the best scores."""
        scored = self._table.answered("passages", self._key(expressions), partial(self._scored_passages, expressions))
        found = []
        for segment, (places, scores) in zip(self._table.segments, scored, strict=True):
            kept = _allowed(segment, places, scope)
            found.append((segment.windows.ids[places[kept]], scores[kept]))
        return _best(found, limit)

    def best_files(self, expressions: Sequence[str], limit: int) -> dict[int, float]:
        """Return the *limit* files with the best scores."""
        key = (*self._key(expressions), limit)
        return dict(self._table.answered("files", key, partial(self._best_files, expressions, limit)))

    def _scored_passages(self, expressions: Sequence[str]) -> list[_Scored]:
        """Return for each segment the passages that have an expression, and their scores."""
        average = self._table.all_words / max(self._table.passages, 1)
        columns = [self._columns(self._phrases[expression], across=False) for expression in expressions]
        rows = [[found >> 1 for found in phrase] for phrase in columns]
        sizes = [segment.sizes for segment in self._table.segments]
        return _bm25(rows, sizes, self._table.passages, average)

    def _best_files(self, expressions: Sequence[str], limit: int) -> dict[int, float]:
        average = self._table.all_words / max(self._table.files, 1)
        columns = [self._columns(self._phrases[expression], across=True) for expression in expressions]
        segments = self._table.segments
        rows = [[part.file[found >> 1] for part, found in zip(segments, phrase, strict=True)] for phrase in columns]
        scored = _bm25(rows, [segment.file_sizes for segment in segments], self._table.files, average)
        return _best([(part.file_ids[at], scores) for part, (at, scores) in zip(segments, scored, strict=True)], limit)

    def _key(self, expressions: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Return the words of *expressions*, which say what is looked for."""
        return tuple(self._phrases[expression] for expression in expressions)

    def _having(self, code: int) -> tuple[int, int]:
        """Return how many passages have a word in their text, and in their heading."""
        columns = [_distinct(found)[0] for found in self._columns((code,), across=False)]
        texts = sum(int(np.count_nonzero(found & 1)) for found in columns)
        return texts, sum(map(len, columns)) - texts

    def _columns(self, codes: tuple[int, ...], *, across: bool) -> list[npt.NDArray[np.int32]]:
        return [segment.columns_with(codes, across=across) for segment in self._table.segments]


def _allowed(segment: Segment, places: Ints, scope: Scope) -> npt.NDArray[np.bool_]:
    """Mark those of *places* that are in *scope*."""
    allowed = np.ones(len(places), np.bool_)
    if scope.layers is not None:
        allowed &= in_layers(segment.layers[places], scope.layers)
    if scope.files is not None:
        allowed &= np.isin(segment.windows.files[places], np.array(json.loads(scope.files), np.int64))
    return allowed


def _bm25(
    phrases: Sequence[Sequence[npt.NDArray[np.int32]]], sizes: Sequence[Ints], count: int, average: float
) -> list[_Scored]:
    """Return for each segment the rows that have a phrase, and their scores.

    *phrases* has for each phrase and segment the row of each occurrence, in order. *count* is the number of rows in the
    index, and *average* their mean size.
    """
    totals = [np.zeros(len(each)) for each in sizes]
    for occurrences in phrases:
        counted = [_distinct(rows) for rows in occurrences]
        having = sum(len(rows) for rows, _ in counted)
        weight = rarity(count, having)
        for total, size, (rows, times) in zip(totals, sizes, counted, strict=True):
            total[rows] += weight * saturated(times, size[rows], average)
    found = [np.flatnonzero(total) for total in totals]
    return [(rows, total[rows]) for rows, total in zip(found, totals, strict=True)]


def _distinct(rows: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return each of *rows*, which are in order, once, and how often it is there."""
    last = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=last[:-1])
    (ends,) = last.nonzero()
    times = (ends + 1).astype(np.float64)
    times[1:] -= times[:-1].copy()
    return rows[ends], times


def _best(scored: Sequence[_Scored], limit: int) -> dict[int, float]:
    """Return the *limit* best, best first, equal ones by number."""
    ids = np.concatenate([ids for ids, _ in scored])
    scores = np.concatenate([scores for _, scores in scored])
    if len(ids) > limit > 0:
        kept = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[:limit]
    return dict(zip(ids[order].tolist(), scores[order].tolist(), strict=True))
