"""The two retrievers of a search: one by words, one by vectors.

Each has its own deadline and its own connection. A retriever that is late is named and left out. Neither ranks: they
return candidates and the numbers that the ranking needs.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import apsw
import numpy as np

from ..embedding.embedder import Embedder, NoEmbedder
from ..embedding.model import words_only
from ..embedding.query_cache import QueryCachingEmbedder
from ..index import damage, schema
from ..index.binary_quantization import Kind, binarize, load_binary_vectors, recorded_centroid
from ..index.embedding_queue import model_mismatch
from ..index.passage_table import PassageTable
from ..index.readers import reading
from ..index.vectors import nearest_by_cosine, nearest_of
from ..text.term_hashes import Fts5Stemmer, term_hash
from ..text.terms import Query
from .reranking import Nearest, QueryTerm
from .scope import Scope
from .word_scores import ResidentWords, VocabularyEntry

__all__ = [
    "LexicalResult",
    "PendingVectors",
    "Scope",
    "VectorResult",
    "candidate_count",
    "elapsed_ms",
    "retrieve_by_words",
    "start_vector_retrieval",
]

#: Passages of each retriever whose surroundings are ranked: 700 to 2 500 passages in all, whatever the index's size.
CANDIDATES = 100
#: Nearest vectors that are read. All others count like the last of these.
NEAREST = 300
#: Terms of a query that are looked up. The rest of a pasted page adds nothing.
QUERY_TERMS = 64
#: Vectors that are compared exactly after a first look at all of them: at least 98 % of the ten nearest
#: are among them, up to a million passages (``python -m bench.scale``).
_COMPARED = 400
#: Vectors in the index for which one more is compared: among many, the codes of more are nearer by chance.
_ONE_MORE_COMPARED = 500
#: Most postings read to choose candidates by words. The rarest words of a query are taken first. A
#: word in every tenth of a million passages would be read a hundred thousand times to say next to nothing.
_POSTINGS = 20_000
#: Files that are scored as a whole. The others get no such bonus.
_GROUPS = 500
#: Characters of a query that are embedded. A model reads a few hundred tokens and ignores the rest.
_EMBEDDED_CHARS = 8_000
#: Steps of SQLite's machine between two looks at the clock: some tenths of a millisecond.
_STEPS = 10_000
#: Words of the index that one prefix stands for. Thousands may begin with a single character.
_MOST_BEGUN = 200


@dataclass(slots=True, kw_only=True)
class LexicalResult:
    """Passages by BM25, files by BM25, and the question's terms with their rarity.

    *indexed* counts the passages of the index.
    """

    passages: dict[int, float] = field(default_factory=dict)
    groups: dict[int, float] = field(default_factory=dict)
    terms: tuple[QueryTerm, ...] = ()
    mean_words: float = 1.0
    indexed: int = 0
    problem: str = ""
    ms: float = 0.0


@dataclass(slots=True, kw_only=True)
class VectorResult:
    """The nearest vectors. *nearest* is ``None`` when no search was made."""

    nearest: Nearest | None = None
    problem: str = ""
    ms: float = 0.0


def retrieve_by_words(
    conn: apsw.Connection,
    query: Query,
    scope: Scope,
    limit: int,
    deadline_ms: float,
    table: PassageTable | None = None,
) -> LexicalResult:
    """Return passages and whole files that have words of the query.

    With a *table*, FTS5 is asked only for what the table cannot answer.
    """
    start = time.perf_counter()
    result = LexicalResult()
    if not query.match:
        result.indexed, _ = (ResidentWords(table, {}) if table else _IndexedWords(conn, Fts5Stemmer(conn))).totals()
        return result
    if deadline_ms <= 0:
        return LexicalResult(problem=_deadline_problem("lexical", deadline_ms))
    conn.set_progress_handler(lambda: elapsed_ms(start) > deadline_ms, _STEPS)
    try:
        stemmer = Fts5Stemmer(conn)
        spellings = [spelling for term in query.spellings for spelling in term]
        words = ResidentWords.of(table, spellings, stemmer) or _IndexedWords(conn, stemmer)
        if table is not None and isinstance(words, ResidentWords):
            look = partial(_weighted_terms, words, query)
            terms, result.mean_words = table.answered("terms", query.spellings, look)
        else:
            terms, result.mean_words = _weighted_terms(words, query)
        result.terms = tuple(found.term for found in terms)
        result.indexed, _ = words.totals()
        chosen = _rarest_terms(terms, _POSTINGS) or [query.match]
        passages = words.best_passages(chosen, limit, scope)
        result.groups = words.best_files(chosen, _GROUPS)
        result.passages = passages
    except apsw.InterruptError:
        result = LexicalResult(problem=_deadline_problem("lexical", deadline_ms))
    finally:
        conn.set_progress_handler(None)
    result.ms = elapsed_ms(start)
    return result


def _rarest_terms(terms: Sequence[_WeightedTerm], postings: int) -> list[str]:
    """Return the expressions of the rarest *terms* that have at most *postings* rows together, but one term at least.

    The ranking counts all terms. Only the candidates are chosen by those that tell passages apart. A word in every
    tenth of a million passages would be read a hundred thousand times to say next to nothing.
    """
    chosen: list[str] = []
    for found in sorted(terms, key=lambda found: found.rows):
        postings -= found.rows
        if chosen and postings < 0:
            break
        chosen += found.spellings
    return chosen


_BEST = "SELECT rowid, -bm25({0}) AS score FROM {0} WHERE {0} MATCH ? ORDER BY score DESC LIMIT ?"
_SELECT_FILES, _SELECT_PASSAGES = _BEST.format("file_words"), _BEST.format("passage_words")


class _IndexedWords:
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
        for term, column, having in (
            self._conn.execute(sql, (start, start + "\U0010ffff", _MOST_BEGUN)) if start else ()
        ):
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


def _weighted_terms(words: ResidentWords | _IndexedWords, query: Query) -> tuple[list[_WeightedTerm], float]:
    """Return the terms with the hashes of their spellings and their rarity, and the mean length of a passage."""
    passages, length = words.totals()
    terms = []
    for spellings in query.spellings:
        entries = {entry.codes: entry for spelling in spellings for entry in words.entries(spelling)}
        if not entries:
            continue
        having = min(sum(entry.having for entry in entries.values()), passages)
        rarity = math.log(1 + (passages - having + 0.5) / (having + 0.5))
        rows = sum(entry.having + entry.headed for entry in entries.values())
        capitalised = spellings[0][1:2].isupper()  # after the quotation mark
        term = QueryTerm(spellings=tuple(entries), passages=having, rarity=rarity, capitalised=capitalised)
        terms.append(_WeightedTerm(spellings, term, rows))
    return terms, length / max(passages, 1)


@dataclass(frozen=True, slots=True)
class _WeightedTerm:
    """A term of the query: its FTS5 expressions, its value for the ranking, and the rows that FTS5 reads for it."""

    spellings: tuple[str, ...]
    term: QueryTerm
    rows: int


class PendingVectors:
    """A vector search in a thread of its own. Its result is taken once, and nobody waits for it longer.

    One that is done *at_once* has no thread.
    """

    def __init__(self, look: Callable[[], VectorResult], *, at_once: bool = False) -> None:
        self._look = look
        self._done = threading.Event()
        self._result = VectorResult()
        if at_once:
            self._run()
        else:
            threading.Thread(target=self._run, daemon=True, name="recall-vectors").start()

    def wait(self, ms: float) -> None:
        """Return when the vectors are found, or after *ms* milliseconds."""
        self._done.wait(max(ms, 0.0) / 1000)

    def result(self, wait_ms: float, limit_ms: float) -> VectorResult:
        """Return the vectors found within *wait_ms* from now. A message about a late result names *limit_ms*."""
        if self._done.wait(max(wait_ms, 0.0) / 1000):
            return self._result
        return VectorResult(problem=_deadline_problem("vector", limit_ms), ms=limit_ms)

    def _run(self) -> None:
        start = time.perf_counter()
        try:
            self._result = self._look()
        except Exception as error:  # noqa: BLE001 - a thread has no caller; the result says what happened
            self._result = VectorResult(problem=f"the vector retriever failed: {error}. Its hits are missing")
        self._result.ms = elapsed_ms(start)
        self._done.set()


def start_vector_retrieval(
    path: Path, query: str, embedder: Embedder | NoEmbedder | None, scope: Scope, limit: int, *, keep: bool = False
) -> PendingVectors:
    """Look for the *limit* nearest vectors in the background. With *keep*, vectors stay in memory.

    If the query's vector is at hand too, the look takes less time than a thread, and is done at once.
    """
    text = query[:_EMBEDDED_CHARS].encode("utf-8", "replace").decode("utf-8")

    def look() -> VectorResult:
        if embedder is None:
            return VectorResult(problem=words_only("no embedding model. See `memory model`"))
        if isinstance(embedder, NoEmbedder):
            return VectorResult(problem=words_only(embedder.reason))
        if not query.strip():
            return VectorResult()
        try:
            with reading(path) as conn:  # codes and vectors of one state
                return (
                    VectorResult()
                    if conn is None
                    else _nearest_vectors(conn, path, text, embedder, scope, limit, keep=keep)
                )
        except schema.CORRUPTION_ERRORS as error:
            return VectorResult(problem=damage.mark(path, error))

    return PendingVectors(look, at_once=keep and isinstance(embedder, QueryCachingEmbedder) and embedder.knows(text))


def candidate_count(vectors: int, limit: int) -> int:
    """Return how many of *vectors* are compared exactly to find the *limit* nearest."""
    return max(limit, _COMPARED + vectors // _ONE_MORE_COMPARED)


def _nearest_vectors(
    conn: apsw.Connection,
    path: Path,
    query: str,
    embedder: Embedder,
    scope: Scope,
    limit: int,
    *,
    keep: bool,
) -> VectorResult:
    """Find the passages, and the turns with their neighbours, whose vectors are nearest to the query's, by cosine.

    A first look at the binary codes says which are worth comparing. Those are compared exactly.
    """
    recorded = schema.read_meta(conn)
    if "model" not in recorded:
        return VectorResult(problem="no passage has a vector yet, so search uses words only. Run `memory sync`")
    if (problem := model_mismatch(recorded, embedder)) is not None:
        return VectorResult(problem=f"{problem}. Search uses words only until then")
    vector = embedder.embed_query(query)
    codes = load_binary_vectors(conn, path, embedder.dimension, keep_stored=keep)
    (code,) = binarize(vector[None, :], recorded_centroid(recorded))
    eligible = codes.eligible(scope.layers, json.loads(scope.files) if scope.files is not None else None)
    compared = candidate_count(len(codes.ids), limit)
    kinds: tuple[Kind, ...] = ("vector", "window")
    looked = {kind: codes.nearest(kind, code, compared, eligible) for kind in kinds}
    chosen = np.zeros(len(codes.ids), np.bool_)
    chosen[looked["vector"]] = chosen[looked["window"]] = True
    places = np.flatnonzero(chosen)
    if codes.stored is None:
        passages, windows = nearest_by_cosine(conn, vector, codes.ids[places].tolist(), limit)
    else:
        having = codes.vectors_at(places)
        passages, windows = (nearest_of(*having[kind], vector, limit) for kind in kinds)
    files = codes.files_of(np.fromiter(passages, np.int64, len(passages))).tolist()
    best = dict(zip(reversed(files), reversed(passages.values()), strict=True))  # the best one of each file is last
    return VectorResult(nearest=Nearest(passages=passages, windows=windows, files=best))


def _deadline_problem(name: str, deadline_ms: float) -> str:
    return f"the {name} retriever was not done within {deadline_ms:g} ms. Its hits are missing"


def elapsed_ms(start: float) -> float:
    """Return the milliseconds since *start*, a reading of ``time.perf_counter``."""
    return (time.perf_counter() - start) * 1000
