"""Search whole texts in plain ways, as baselines for recall.

- *substring*: like grep. The words of the question (runs of letters and digits without stop words, or all of them
when none is left, and pairs of characters for Chinese, Japanese and Korean) are searched as substrings in any case.
Texts are ordered by the number of distinct words, then of occurrences, then as in the set.
- *naive FTS5*: whole texts under ``porter unicode61``, any word of the question, ordered by bm25.
- *vectors alone*: cosine of the question's and the whole text's vector, by the model that recall uses. The model reads
the first 256 tokens of a text.
- *plain RRF*: reciprocal rank fusion of the last two, with the published constant.

Each returns at most :data:`DEPTH` addresses, best first and without duplicates. For sessions, both word searches run on
whole sessions, which serves them better than the sessions of the best turns. The vectors return the sessions of the
nearest turns, because a session is longer than the model reads.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Mapping, Sequence

import apsw
import numpy as np

from recall.embedding.embedder import Embedder, NoEmbedder, Vector
from recall.evaluation.metrics import Grain
from recall.index.passage import session_of

__all__ = [
    "DEPTH",
    "Find",
    "by_fusion",
    "by_substring",
    "by_vector",
    "by_words",
    "plain",
    "question_words",
    "substrings",
]

Find = Callable[[str], list[str]]
#: Results of each baseline, and of each retriever of the fusion.
DEPTH = 100
#: Rank offset of reciprocal rank fusion, as published.
_RRF_K = 60
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_RUNS = re.compile(f"[{_CJK}]+|[^{_CJK}]+")
_STOP = frozenset(
    """a about after all an and any are as at be been before but by can could d did do does doing for from had has have
    having he her here him his how i if in into is it its just ll m may me might more most must my no nor not of off on
    or our out over re s shall she should so some such t than that the their them then there these they this to too
    under up ve very was we were what when where which who whom whose why will with would you your""".split()  # noqa: SIM905 - a page of words
)


def plain(
    texts: Mapping[str, str], embedder: Embedder | NoEmbedder, grains: Sequence[Grain]
) -> dict[Grain, dict[str, Find]]:
    """Return every baseline over *texts* (address to text) by name, for each grain.

    Without a model, the baselines with vectors are left out.
    """
    matrix = None if isinstance(embedder, NoEmbedder) else embedder.embed(list(texts.values()))
    found: dict[Grain, dict[str, Find]] = {}
    for grain in grains:
        whole = _sessions(texts) if grain == "session" else texts
        words = by_words(whole)
        found[grain] = {"substring": by_substring(whole), "naive FTS5": words}
        if matrix is not None and not isinstance(embedder, NoEmbedder):
            places = [session_of(source) for source in texts] if grain == "session" else list(texts)
            vectors = by_vector(places, matrix, embedder)
            found[grain] |= {"vectors alone": vectors, "plain RRF": by_fusion(words, vectors)}
    return found


def question_words(query: str) -> list[str]:
    """Return the words of a question that are worth a search, without duplicates.

    >>> question_words("What did the Owl say to the owl?")
    ['owl', 'say']
    """
    words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))
    return [word for word in words if word not in _STOP] or words


def substrings(query: str) -> list[str]:
    """Return the words of a question as grep would search them. Pairs of characters stand for a run of Chinese.

    >>> substrings("Where is 时间表 v2?")
    ['时间', '间表', 'v2']
    """
    pieces: list[str] = []
    for run in (run for word in question_words(query) for run in _RUNS.findall(word)):
        paired = len(run) > 2 and re.match(f"[{_CJK}]", run)
        pieces += [run[at : at + 2] for at in range(len(run) - 1)] if paired else [run]
    return list(dict.fromkeys(pieces))


def by_substring(texts: Mapping[str, str]) -> Find:
    """Rank texts by the words of the question that they hold anywhere, inside other words too."""
    sources, lowered = list(texts), [text.lower() for text in texts.values()]

    def find(query: str) -> list[str]:
        words = substrings(query)
        scored = []
        for place, text in enumerate(lowered):
            counts = [text.count(word) for word in words]
            if any(counts):
                scored.append((-sum(map(bool, counts)), -sum(counts), place))
        return [sources[place] for _, _, place in heapq.nsmallest(DEPTH, scored)]

    return find


def by_words(texts: Mapping[str, str]) -> Find:
    """Rank texts by FTS5 as its manual shows it."""
    sources = list(texts)
    conn = apsw.Connection(":memory:")
    conn.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter unicode61')")
    with conn:
        conn.executemany("INSERT INTO t(rowid, body) VALUES(?, ?)", enumerate(texts.values()))

    def find(query: str) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in question_words(query))
        statement = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"
        return [sources[int(str(row[0]))] for row in conn.execute(statement, (match, DEPTH))] if match else []

    return find


def by_vector(sources: Sequence[str], matrix: Vector, embedder: Embedder) -> Find:
    """Rank the rows of *matrix* by an exhaustive comparison.

    *sources* has an address for each row. An address may occur several times.
    """

    def find(query: str) -> list[str]:
        order = np.argsort(-(matrix @ embedder.embed_query(query)), kind="stable")
        found: dict[str, None] = {}
        for place in order.tolist():
            found.setdefault(sources[place])
            if len(found) == DEPTH:
                break
        return list(found)

    return find


def by_fusion(*retrievers: Find) -> Find:
    """Merge *retrievers* by reciprocal rank fusion. Equal scores are ordered by address."""

    def find(query: str) -> list[str]:
        scores: dict[str, float] = {}
        for retriever in retrievers:
            for rank, source in enumerate(retriever(query), 1):
                scores[source] = scores.get(source, 0.0) + 1 / (_RRF_K + rank)
        return sorted(scores, key=lambda source: (-scores[source], source))[:DEPTH]

    return find


def _sessions(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each session, its turns joined by newlines."""
    parts: dict[str, list[str]] = {}
    for source, text in texts.items():
        parts.setdefault(session_of(source), []).append(text)
    return {session: "\n".join(lines) for session, lines in parts.items()}
