"""Words of the index as FTS5 finds them: their frequencies, and the best passages and files by BM25."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

import apsw

from ...text.term_hashes import Fts5Stemmer, term_hash
from ..reader import Scope, VocabularyEntry
from . import schema

__all__ = ["IndexedWords"]

#: Words of the index that one prefix stands for. Thousands may begin with a single character.
MOST_BEGUN = 200
_BEST = "SELECT rowid, -bm25({0}) AS score FROM {0} WHERE {0} MATCH ? ORDER BY score DESC LIMIT ?"
_SELECT_FILES, _SELECT_PASSAGES = _BEST.format("file_words"), _BEST.format("passage_words")


class IndexedWords:
    """The words of the index, as FTS5 finds them."""

    def __init__(self, conn: apsw.Connection, stemmer: Fts5Stemmer) -> None:
        self._conn, self._stemmer = conn, stemmer

    def totals(self) -> tuple[int, int]:
        """Return the number of passages, and of words in their texts."""
        sums = "SELECT coalesce(sum(passages), 0), coalesce(sum(words), 0) FROM files"
        ((passages, words),) = schema.rows(self._conn, sums)
        return passages, words

    def entries(self, expression: str) -> list[VocabularyEntry]:
        """Return the entries of the index for *expression*. A prefix has several."""
        if expression.endswith("*"):
            return self._begun("".join(self._stemmer.stems(expression[1:-2])))
        stems = self._stemmer.stems(expression[1:-1])
        if not stems:
            return []
        sql = "SELECT col, doc FROM vocabulary WHERE term = ?"
        counts = [dict(self._conn.execute(sql, (stem,))) for stem in stems]
        body, heading = (min(count.get(column, 0) for count in counts) for column in ("body", "heading"))
        return [VocabularyEntry(tuple(map(term_hash, stems)), body, heading)]

    def _begun(self, start: str) -> list[VocabularyEntry]:
        counts: dict[str, dict[str, int]] = defaultdict(dict)
        sql = "SELECT term, col, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?"
        for term, column, having in self._conn.execute(sql, (start, start + "\U0010ffff", MOST_BEGUN)) if start else ():
            counts[term][column] = having
        return [
            VocabularyEntry((term_hash(term),), having["body"], having.get("heading", 0))
            for term, having in counts.items()
            if "body" in having
        ]

    def best_passages(self, expressions: Sequence[str], limit: int, scope: Scope) -> dict[int, float]:
        """Return the *limit* passages in *scope* with the best BM25, and their scores."""
        where, values = _passage_filter(scope)
        match = " OR ".join(expressions)
        if not where:
            return dict(self._conn.execute(_SELECT_PASSAGES, (match, limit)))
        # Mostly the scope is most of the index. Filtering the best alone then saves a join with every match.
        best = dict(self._conn.execute(_SELECT_PASSAGES, (match, 2 * limit)))
        some = f"SELECT p.id FROM passages p WHERE p.id IN (SELECT value FROM json_each(?)) {where}"  # noqa: S608 - constants
        allowed = {row[0] for row in self._conn.execute(some, (json.dumps(list(best)), *values))}
        found = [(ident, score) for ident, score in best.items() if ident in allowed]
        if len(found) >= limit or len(best) < 2 * limit:
            return dict(found[:limit])
        every = (
            "SELECT w.rowid, -bm25(passage_words) AS score FROM passage_words w JOIN passages p ON p.id = w.rowid "  # noqa: S608 - constants
            f"WHERE passage_words MATCH ? {where} ORDER BY score DESC LIMIT ?"
        )
        return dict(self._conn.execute(every, (match, *values, limit)))

    def best_files(self, expressions: Sequence[str], limit: int) -> dict[int, float]:
        """Return the *limit* files with the best BM25, and their scores."""
        return dict(self._conn.execute(_SELECT_FILES, (" OR ".join(expressions), limit)))


def _passage_filter(scope: Scope) -> tuple[str, tuple[object, ...]]:
    where, values = "", []
    if scope.layers is not None:
        where += f" AND p.layer IN ({', '.join(map(str, scope.layers))})"
    if scope.files is not None:
        where += " AND p.file IN (SELECT value FROM json_each(?))"
        values.append(scope.files)
    return where, tuple(values)
