"""One state of an index in PostgreSQL, as a search reads it. See :class:`recall.index.reader.IndexReader`.

The rarest words of a query choose the rows. Their BM25 is computed here, with the formula of FTS5, from what one query
for each word returns. Vectors of a small index are compared one by one, and those of a large one through HNSW. The best
are compared once more with the exact query, as in SQLite.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar

import apsw
import numpy as np
import numpy.typing as npt

from agent_home.home import ARCHIVED_DAILY

from ...postgres.connections import Connection
from ...postgres.storable_text import storable_text
from ...text.term_hashes import Fts5Stemmer, term_hash
from ..bm25 import rarity, saturated
from ..context_window import WINDOW_PASSAGES, ContextWindows, unpack_windows
from ..passage_rows import LAYER_CODES
from ..reader import EntryRow, Nearest, PassageRow, Scope, SearchLate, TurnRow, VocabularyEntry
from ..vector_math import Vectors, nearest_of
from .lexemes import generation_prefix, phrase_lexemes, phrase_query, times_of, vocabulary_term
from .vector_index import COMPARED_ONE_BY_ONE, has_vector_indexes

__all__ = ["Generation", "PostgresqlReader", "halfvec_text", "memory_stemmer"]

_Answer = TypeVar("_Answer")
Ints = npt.NDArray[np.int64]
#: Candidates that HNSW looks at, and rows that it visits at most until enough of them are in scope.
_SEARCHED, _VISITED = 600, 100_000
#: Words of the index that one prefix stands for.
_MOST_BEGUN = 200
#: Rows in which the occurrences of a phrase are counted.
_MOST_COUNTED = 500
#: A posting: passage, file, words, layer, rank.
_POSTING = np.dtype([("id", ">i8"), ("file", ">i8"), ("length", ">i4"), ("layer", ">i2"), ("rank", ">f4")])
#: Distances of a passage, as all are read: NaN for a turn without neighbours.
_DISTANCE = np.dtype([("passage", ">i8"), ("file", ">i8"), ("layer", ">i2"), ("vector", ">f8"), ("turn_window", ">f8")])
_SELECT_POSTINGS: LiteralString = """
SELECT string_agg(int8send(id) || int8send(file) || int4send(length) || int2send(layer)
                  || float4send(ts_rank('{1,1,1,1}', body, %(query)s::tsquery)), ''::bytea)
FROM index_words WHERE index_id = %(index)s AND body @@ %(query)s::tsquery
"""
_SELECT_POSITIONS: LiteralString = """
SELECT w.id, u.lexeme, u.positions FROM index_words w, unnest(w.body) u
WHERE w.index_id = %(index)s AND w.body @@ %(query)s::tsquery AND u.lexeme = ANY(%(lexemes)s)
"""
_SELECT_WINDOWS: LiteralString = """
SELECT s.file, s.number, f.layer, s.leaves, s.words, s.heads
FROM (SELECT DISTINCT p.file, p.ordinal / %(size)s AS number
      FROM index_passages p WHERE p.index_id = %(index)s AND p.id = ANY(%(ids)s)) o
JOIN index_windows s ON s.index_id = %(index)s AND s.file = o.file AND s.number = o.number
JOIN index_files f ON f.index_id = %(index)s AND f.id = s.file
ORDER BY s.file, s.number
"""
_SELECT_TEXTS: LiteralString = """
SELECT p.id, p.source, f.path, p.text, p.ts, p.session, p.name, p.role, p.heading, f.layer
FROM index_passages p JOIN index_files f ON f.index_id = %(index)s AND f.id = p.file
WHERE p.index_id = %(index)s AND p.id = ANY(%(ids)s)
"""
_SELECT_AT: LiteralString = """
SELECT p.text, p.ts, p.session, p.name, p.role, p.heading, f.layer, f.path
FROM index_passages p JOIN index_files f ON f.index_id = %(index)s AND f.id = p.file
WHERE p.index_id = %(index)s AND md5(p.source) = md5(%(source)s) AND p.source = %(source)s
ORDER BY f.path, p.ordinal, p.part
"""
_SELECT_TURNS: LiteralString = """
WITH found AS (
    SELECT file, source, min(ordinal) AS first, max(ordinal) AS last FROM index_passages
    WHERE index_id = %(index)s AND md5(source) = ANY(SELECT md5(unnest(%(sources)s::text[])))
      AND source = ANY(%(sources)s) AND layer = %(layer)s GROUP BY file, source
), surrounding AS (
    SELECT file, source FROM found UNION
    SELECT p.file, p.source FROM found JOIN index_passages p
        ON p.index_id = %(index)s AND p.file = found.file AND p.ordinal IN (found.first - 1, found.last + 1)
)
SELECT p.file, f.path, p.source, p.ordinal, p.text, p.session, p.name, p.role, p.ts
FROM surrounding w
JOIN index_passages p
    ON p.index_id = %(index)s AND md5(p.source) = md5(w.source) AND p.source = w.source AND p.file = w.file
JOIN index_files f ON f.index_id = %(index)s AND f.id = p.file
ORDER BY p.file, p.ordinal
"""
_ENTRY_FILES: LiteralString = """
FROM index_files f JOIN index_passages p ON p.index_id = %(index)s AND p.file = f.id
WHERE f.index_id = %(index)s AND f.layer IN ('memory', 'archive') AND NOT starts_with(f.path, %(daily)s)
"""
_SELECT_LINKED: LiteralString = f"SELECT p.text {_ENTRY_FILES} AND position('Supersede' IN p.text) > 0 ORDER BY p.id"
_SELECT_STATES: LiteralString = (
    f"SELECT p.text {_ENTRY_FILES} AND (position('State:' IN p.text) > 0 OR position('Supersede' IN p.text) > 0)"
    " ORDER BY p.id"
)
_SELECT_ENTRY: LiteralString = f"""
SELECT p.source, p.text, p.ts, p.heading, f.layer, f.path {_ENTRY_FILES}
AND md5(p.source) = md5(f.path || '#' || %(entry)s) AND p.source = f.path || '#' || %(entry)s
ORDER BY f.layer = 'archive' LIMIT 1
"""
_SELECT_DISTANCES: LiteralString = """
SELECT string_agg(int8send(passage) || int8send(file) || int2send(layer) || float8send(vector <=> %(vector)s::halfvec)
                  || float8send(coalesce(turn_window <=> %(vector)s::halfvec, 'NaN')), ''::bytea)
FROM index_vectors WHERE index_id = %(index)s
"""
_SELECT_VECTORS: LiteralString = """
SELECT passage, file, halfvec_send({column}) FROM index_vectors
WHERE index_id = %(index)s AND passage = ANY(%(ids)s)
"""
_THROUGH_INDEX: LiteralString = """
SELECT passage, file, halfvec_send({column}) FROM index_vectors
WHERE index_id = {generation} AND {column} IS NOT NULL {scope}
ORDER BY {column}::halfvec({dimension}) <=> %(vector)s::halfvec({dimension}) LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A generation of the index of one namespace, with its sums.

    *version* changes with every write. *files* counts the files that have passages.
    """

    id: int
    version: int
    passages: int
    text_words: int
    all_words: int
    files: int


@dataclass(frozen=True, slots=True)
class _Postings:
    """Rows that have an expression, one item in each array for each row."""

    ids: Ints
    files: Ints
    lengths: Ints
    layers: Ints
    times: npt.NDArray[np.float64]


def memory_stemmer() -> Fts5Stemmer:
    """Return FTS5's tokenizer without an index, so that words are the same in both stores."""
    return Fts5Stemmer(apsw.Connection(":memory:"))


def halfvec_text(vector: Iterable[float]) -> str:
    """Return a vector as PostgreSQL reads it."""
    return f"[{','.join(map(str, vector))}]"


class PostgresqlReader:
    """A *generation* of the index in the state that *conn* reads."""

    resident = False

    def __init__(self, conn: Connection, generation: Generation) -> None:
        self._conn, self._generation = conn, generation
        self._stemmer = memory_stemmer()
        self._prefix = generation_prefix(generation.id)
        self._postings: dict[str, _Postings] = {}
        self._begun: dict[str, list[str]] = {}
        self._end = 0.0

    def description(self) -> dict[str, str]:
        """Return what the index records of itself."""
        return dict(self._rows("SELECT key, value FROM index_descriptions WHERE index_id = %(index)s"))

    @contextmanager
    def within(self, deadline_ms: float) -> Iterator[None]:
        """Let the questions of the block take *deadline_ms* milliseconds together."""
        from psycopg.errors import QueryCanceled

        self._end = time.monotonic() + deadline_ms / 1000
        try:
            with self._conn.transaction():  # a statement that is cancelled undoes this block alone
                yield
                self._conn.execute("SET LOCAL statement_timeout = 0")
        except QueryCanceled as error:
            raise SearchLate from error
        finally:
            self._end = 0.0

    def totals(self) -> tuple[int, int]:
        """Return the number of passages, and of words in their texts."""
        return self._generation.passages, self._generation.text_words

    def pending(self) -> int:
        """Return the number of passages that have no vector yet."""
        ((found,),) = self._rows("SELECT count(*) FROM index_passages WHERE index_id = %(index)s AND embedded = 0")
        return int(found)

    def vocabulary(self, expressions: Iterable[str]) -> dict[str, list[VocabularyEntry]]:
        """Return the entries for each of *expressions*."""
        asked = list(expressions)
        stems = {text: self._stemmer.stems(text[1:-1]) for text in asked if not text.endswith("*")}
        counts = self._counts({vocabulary_term(stem) for found in stems.values() for stem in found})
        entries = {}
        for text in asked:
            if text.endswith("*"):
                entries[text] = self._entries_begun(text)
            elif stems[text]:
                each = [counts.get(vocabulary_term(stem), (0, 0)) for stem in stems[text]]
                codes = tuple(map(term_hash, stems[text]))
                entries[text] = [VocabularyEntry(codes, min(text for text, _ in each), min(head for _, head in each))]
            else:
                entries[text] = []
        return entries

    def _counts(self, stems: Collection[str]) -> dict[str, tuple[int, int]]:
        select: LiteralString = (
            "SELECT term, in_text, in_heading FROM index_vocabulary"
            " WHERE index_id = %(index)s AND term = ANY(%(terms)s)"
        )
        return {term: (text, head) for term, text, head in self._rows(select, terms=list(stems))}

    def _entries_begun(self, expression: str) -> list[VocabularyEntry]:
        start = "".join(self._stemmer.stems(expression[1:-2]))
        select: LiteralString = (
            "SELECT term, in_text, in_heading FROM index_vocabulary"
            " WHERE index_id = %(index)s AND term >= %(start)s AND term < %(end)s ORDER BY term LIMIT %(most)s"
        )
        found = self._rows(select, start=start, end=start + "\U0010ffff", most=_MOST_BEGUN) if start else []
        self._begun[expression] = [term for term, _, _ in found]
        return [VocabularyEntry((term_hash(term),), text, head) for term, text, head in found if text]

    def best_passages(self, expressions: Sequence[str], limit: int, scope: Scope) -> dict[int, float]:
        """Return the *limit* passages in *scope* with the best BM25, best first."""
        postings = self._posted(expressions)
        ids, scores = self._scored(postings, "ids", self._generation.passages)
        if scope != Scope():
            allowed = [_in_scope(found, scope) for found in postings]
            kept = np.isin(ids, np.concatenate([p.ids[mask] for p, mask in zip(postings, allowed, strict=True)]))
            ids, scores = ids[kept], scores[kept]
        return _best(ids, scores, limit)

    def best_files(self, expressions: Sequence[str], limit: int) -> dict[int, float]:
        """Return the *limit* files with the best BM25, best first."""
        postings = self._posted(expressions)
        files, scores = self._scored(postings, "files", self._generation.files)
        return _best(files, scores, limit)

    def _posted(self, expressions: Sequence[str]) -> list[_Postings]:
        return [self._posting(expression) for expression in expressions]

    def _posting(self, expression: str) -> _Postings:
        if expression not in self._postings:
            query = self._query(expression)
            ((packed,),) = self._timed(_SELECT_POSTINGS, query=query) if query else [(None,)]
            rows = np.frombuffer(packed or b"", _POSTING)
            times = self._times(expression, query, rows)
            order = np.argsort(rows["id"], kind="stable")
            self._postings[expression] = _Postings(
                ids=rows["id"].astype(np.int64)[order], files=rows["file"].astype(np.int64)[order],
                lengths=rows["length"].astype(np.int64)[order], layers=rows["layer"].astype(np.int64)[order],
                times=times[order],
            )  # fmt: skip
        return self._postings[expression]

    def _times(self, expression: str, query: str, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return how often an expression stands in *rows*.

        A phrase is counted from the positions of its words, and counts once where too many rows have it.
        """
        codes = [term_hash(stem) for stem in self._stemmer.stems(expression[1:-1])]
        if len(codes) == 1 and not expression.endswith("*"):
            return times_of(rows["rank"].astype(np.float32))
        times = np.ones(len(rows))
        if expression.endswith("*") or not 0 < len(rows) <= _MOST_COUNTED:
            return times
        lexemes = phrase_lexemes(self._prefix, codes)
        positions: dict[int, dict[str, set[int]]] = {}
        for ident, lexeme, places in self._timed(_SELECT_POSITIONS, query=query, lexemes=lexemes):
            positions.setdefault(ident, {})[lexeme] = set(places)
        for at, ident in enumerate(rows["id"].tolist()):
            first, *rest = [positions[ident][lexeme] for lexeme in lexemes]
            starts = (all(start + step in places for step, places in enumerate(rest, 1)) for start in first)
            times[at] = max(1, sum(starts))
        return times

    def _query(self, expression: str) -> str:
        if expression.endswith("*"):
            if expression not in self._begun:
                self._entries_begun(expression)
            return phrase_query(self._prefix, [[term_hash(term)] for term in self._begun[expression]])
        stems = self._stemmer.stems(expression[1:-1])
        return phrase_query(self._prefix, [[term_hash(stem) for stem in stems]]) if stems else ""

    def _scored(self, postings: Sequence[_Postings], by: str, count: int) -> tuple[Ints, npt.NDArray[np.float64]]:
        """Return what has an expression, and its scores: passages, or files as wholes."""
        average = self._generation.all_words / max(count, 1)
        every: Ints = np.unique(np.concatenate([getattr(found, by) for found in postings] or [np.empty(0, np.int64)]))
        sizes = self._sizes(postings, every, by)
        totals = np.zeros(len(every))
        for found in postings:
            at = np.searchsorted(every, getattr(found, by))
            times = np.asarray(np.bincount(at, found.times, minlength=len(every)), np.float64)
            (having,) = times.nonzero()
            totals[having] += rarity(count, len(having)) * saturated(times[having], sizes[having], average)
        return every, totals

    def _sizes(self, postings: Sequence[_Postings], every: Ints, by: str) -> Ints:
        sizes = np.zeros(len(every), np.int64)
        if by == "ids":
            for found in postings:
                sizes[np.searchsorted(every, found.ids)] = found.lengths
        else:
            select: LiteralString = (
                "SELECT id, all_words FROM index_files WHERE index_id = %(index)s AND id = ANY(%(ids)s)"
            )
            for file, words in self._rows(select, ids=every.tolist()):
                sizes[np.searchsorted(every, file)] = words
        return sizes

    def nearest(self, vector: Vectors, scope: Scope, limit: int, *, keep: bool = False) -> Nearest:
        """Return the nearest passages and turns with neighbours. Nothing is kept in memory."""
        del keep
        large = self._generation.passages > COMPARED_ONE_BY_ONE
        if large and has_vector_indexes(self._conn, self._generation.id):
            look = self._through_index
        else:
            look = self._one_by_one(vector, scope, limit)
        passages, files = self._compared(look("vector", vector, scope, limit), vector, limit)
        windows, _ = self._compared(look("turn_window", vector, scope, limit), vector, limit)
        best: dict[int, float] = {}
        for passage, cosine in passages.items():
            best.setdefault(files[passage], cosine)
        return Nearest(passages=passages, windows=windows, files=best)

    def _through_index(self, column: LiteralString, vector: Vectors, scope: Scope, limit: int) -> list[Any]:
        """Return passage, file and vector of about the nearest, as HNSW finds them."""
        where: LiteralString = ""
        if scope.layers is not None:
            where += " AND layer = ANY(%(layers)s)"
        if scope.files is not None:
            where += " AND file = ANY(%(files)s)"
        self._conn.execute(
            f"SET LOCAL hnsw.ef_search = {_SEARCHED}; SET LOCAL hnsw.iterative_scan = relaxed_order;"
            f"SET LOCAL hnsw.max_scan_tuples = {_VISITED}; SET LOCAL enable_sort = off"
        )
        statement: Any = _THROUGH_INDEX.format(
            column=column, dimension=len(vector), generation=self._generation.id, scope=where
        )
        return self._rows(
            statement, vector=halfvec_text(vector.tolist()), limit=limit, layers=list(scope.layers or ()),
            files=json.loads(scope.files or "[]"),
        )  # fmt: skip

    def _one_by_one(self, vector: Vectors, scope: Scope, limit: int) -> Callable[..., list[Any]]:
        """Compare all vectors of both kinds in one pass. Return what reads the nearest of a kind."""
        ((packed,),) = self._rows(_SELECT_DISTANCES, vector=halfvec_text(vector.tolist()))
        rows = np.frombuffer(packed or b"", _DISTANCE)
        allowed = np.ones(len(rows), np.bool_)
        if scope.layers is not None:
            allowed &= np.isin(rows["layer"], np.array(scope.layers, np.int64))
        if scope.files is not None:
            allowed &= np.isin(rows["file"], np.array(json.loads(scope.files), np.int64))

        def read(column: LiteralString, _vector: Vectors, _scope: Scope, _limit: int) -> list[Any]:
            there = np.flatnonzero(allowed & ~np.isnan(rows[column]))
            order = there[np.lexsort((rows["passage"][there], rows[column][there]))[:limit]]
            statement: Any = _SELECT_VECTORS.format(column=column)
            return self._rows(statement, ids=rows["passage"][order].tolist())

        return read

    def _compared(self, found: Sequence[Any], vector: Vectors, limit: int) -> tuple[dict[int, float], dict[int, int]]:
        """Return the passages of *found* with their exact cosines, best first, and the file of each."""
        if not found:
            return {}, {}
        ids = np.array([row[0] for row in found], np.int64)
        vectors = np.stack([np.frombuffer(row[2], ">f2", offset=4) for row in found]).astype(np.int8)
        return nearest_of(ids, vectors, vector, limit), {row[0]: row[1] for row in found}

    def windows(self, passages: Sequence[int]) -> ContextWindows:
        """Return the context windows that hold *passages*."""
        return unpack_windows(self._rows(_SELECT_WINDOWS, ids=list(passages), size=WINDOW_PASSAGES))

    def texts(self, passages: Sequence[int]) -> dict[int, PassageRow]:
        """Return the rows of *passages*."""
        return {row[0]: row[1:] for row in self._rows(_SELECT_TEXTS, ids=list(passages))}

    def passages_at(self, source: str) -> list[Any]:
        """Return the passages at an address, in order."""
        return self._rows(_SELECT_AT, source=storable_text(source))

    def turns(self, sources: Collection[str]) -> list[TurnRow]:
        """Return the passages of turns and of those beside them."""
        return self._rows(_SELECT_TURNS, sources=sorted(map(storable_text, sources)), layer=LAYER_CODES["sessions"])

    def files(self) -> list[tuple[int, str]]:
        """Return number and path of every file."""
        return self._rows("SELECT id, path FROM index_files WHERE index_id = %(index)s ORDER BY id")

    def file_numbers(self, paths: Collection[str]) -> dict[str, int]:
        """Return the numbers of those of *paths* that the index has."""
        select: LiteralString = (
            "SELECT path, id FROM index_files WHERE index_id = %(index)s"
            " AND md5(path) = ANY(SELECT md5(unnest(%(paths)s::text[]))) AND path = ANY(%(paths)s)"
        )
        return dict(self._rows(select, paths=list(paths)))

    def has_links(self) -> bool:
        """Return whether an entry may supersede another one. Here only reading the links tells."""
        return True

    def linking_texts(self, passages: Sequence[int]) -> list[str]:
        """Return the texts of those of *passages* that link entries."""
        select: LiteralString = (
            "SELECT text FROM index_passages WHERE index_id = %(index)s AND id = ANY(%(ids)s)"
            " AND position('Supersede' IN text) > 0"
        )
        return [text for (text,) in self._rows(select, ids=list(passages))]

    def named(self, passages: Sequence[int], names: Collection[str]) -> list[tuple[int, str]]:
        """Return those of *passages* whose address ends with one of *names*."""
        select: LiteralString = (
            "SELECT id, name FROM (SELECT id, substr(source, position('#' IN source) + 1) AS name FROM index_passages"
            " WHERE index_id = %(index)s AND id = ANY(%(ids)s)) named WHERE name = ANY(%(names)s) ORDER BY id"
        )
        return self._rows(select, ids=list(passages), names=list(names))

    def entry_texts(self, *, ended: bool) -> tuple[str, ...]:
        """Return the texts of entries with links, and of *ended* ones."""
        return tuple(text for (text,) in self._rows(_SELECT_STATES if ended else _SELECT_LINKED, daily=ARCHIVED_DAILY))

    def entry(self, entry_id: str) -> EntryRow | None:
        """Return the entry with this id."""
        found = self._rows(_SELECT_ENTRY, entry=storable_text(entry_id), daily=ARCHIVED_DAILY)
        return found[0] if found else None

    def remembered(self, kind: str, keys: Iterable[Hashable]) -> dict[Any, Any]:
        """Return nothing: a process keeps no rows of a server."""
        del kind, keys
        return {}

    def remember(self, kind: str, found: Mapping[Any, Any]) -> None:
        """Keep nothing."""

    def answered(self, kind: str, key: Hashable, answer: Callable[[], _Answer]) -> _Answer:
        """Return *answer* to the question *key*."""
        del kind, key
        return answer()

    def _timed(self, statement: LiteralString, **values: object) -> list[Any]:
        if self._end:
            left = max(1, int((self._end - time.monotonic()) * 1000))
            self._conn.execute("SELECT set_config('statement_timeout', %s, true)", (str(left),))
        return self._rows(statement, **values)

    def _rows(self, statement: LiteralString, **values: object) -> list[Any]:
        return self._conn.execute(statement, {**values, "index": self._generation.id}, binary=True).fetchall()


def _in_scope(found: _Postings, scope: Scope) -> npt.NDArray[np.bool_]:
    allowed = np.ones(len(found.ids), np.bool_)
    if scope.layers is not None:
        allowed &= np.isin(found.layers, np.array(scope.layers, np.int64))
    if scope.files is not None:
        allowed &= np.isin(found.files, np.array(json.loads(scope.files), np.int64))
    return allowed


def _best(ids: Ints, scores: npt.NDArray[np.float64], limit: int) -> dict[int, float]:
    """Return the *limit* best, best first, equal ones by number."""
    order = np.lexsort((ids, -scores))[:limit]
    return dict(zip(ids[order].tolist(), scores[order].tolist(), strict=True))
