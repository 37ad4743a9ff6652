"""The two retrievers of a search: one by words, one by vectors.

Each has its own deadline and its own connection. A retriever that is late is named and left out. Neither ranks: they
return candidates and the numbers that the ranking needs.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..embedding.embedder import Embedder, NoEmbedder
from ..embedding.model import words_only
from ..embedding.query_cache import QueryCachingEmbedder
from ..index.embedding_queue import model_mismatch
from ..index.reader import IndexReader, IndexUnreadable, Nearest, Scope, SearchLate
from ..index.store import IndexStore
from ..text.terms import Query
from .reranking import QueryTerm

__all__ = [
    "LexicalResult",
    "PendingVectors",
    "Scope",
    "VectorResult",
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
#: Most postings read to choose candidates by words. The rarest words of a query are taken first. A
#: word in every tenth of a million passages would be read a hundred thousand times to say next to nothing.
_POSTINGS = 20_000
#: Files that are scored as a whole. The others get no such bonus.
_GROUPS = 500
#: Characters of a query that are embedded. A model reads a few hundred tokens and ignores the rest.
_EMBEDDED_CHARS = 8_000


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


def retrieve_by_words(reader: IndexReader, query: Query, scope: Scope, limit: int, deadline_ms: float) -> LexicalResult:
    """Return passages and whole files that have words of the query."""
    start = time.perf_counter()
    result = LexicalResult()
    if not query.match:
        result.indexed, _ = reader.totals()
        return result
    if deadline_ms <= 0:
        return LexicalResult(problem=_deadline_problem("lexical", deadline_ms))
    try:
        with reader.within(deadline_ms):
            look = partial(_weighted_terms, reader, query)
            terms, result.mean_words = reader.answered("terms", query.spellings, look)
            result.terms = tuple(found.term for found in terms)
            result.indexed, _ = reader.totals()
            every = [spelling for term in query.spellings for spelling in term]
            chosen = _rarest_terms(terms, _POSTINGS) or every
            passages = reader.best_passages(chosen, limit, scope)
            result.groups = reader.best_files(chosen, _GROUPS)
            result.passages = passages
    except SearchLate:
        result = LexicalResult(problem=_deadline_problem("lexical", deadline_ms))
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


def _weighted_terms(reader: IndexReader, query: Query) -> tuple[list[_WeightedTerm], float]:
    """Return the terms with the hashes of their spellings and their rarity, and the mean length of a passage."""
    passages, length = reader.totals()
    vocabulary = reader.vocabulary([spelling for term in query.spellings for spelling in term])
    terms = []
    for spellings in query.spellings:
        entries = {entry.codes: entry for spelling in spellings for entry in vocabulary[spelling]}
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
    store: IndexStore,
    query: str,
    embedder: Embedder | NoEmbedder | None,
    scope: Scope,
    limit: int,
    *,
    keep: bool = False,
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
            with store.reading_again() as reader:  # one state of the index
                return VectorResult() if reader is None else _nearest(reader, text, embedder, scope, limit, keep=keep)
        except IndexUnreadable as error:
            return VectorResult(problem=str(error))

    return PendingVectors(look, at_once=keep and isinstance(embedder, QueryCachingEmbedder) and embedder.knows(text))


def _nearest(
    reader: IndexReader, query: str, embedder: Embedder, scope: Scope, limit: int, *, keep: bool
) -> VectorResult:
    """Find the passages, and the turns with their neighbours, whose vectors are nearest to the query's, by cosine."""
    recorded = reader.description()
    if "model" not in recorded:
        return VectorResult(problem="no passage has a vector yet, so search uses words only. Run `memory sync`")
    if (problem := model_mismatch(recorded, embedder)) is not None:
        return VectorResult(problem=f"{problem}. Search uses words only until then")
    return VectorResult(nearest=reader.nearest(embedder.embed_query(query), scope, limit, keep=keep))


def _deadline_problem(name: str, deadline_ms: float) -> str:
    return f"the {name} retriever was not done within {deadline_ms:g} ms. Its hits are missing"


def elapsed_ms(start: float) -> float:
    """Return the milliseconds since *start*, a reading of ``time.perf_counter``."""
    return (time.perf_counter() - start) * 1000
