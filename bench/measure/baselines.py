"""Plain ways to search whole texts, against which recall is measured.

- *substring*: what grep does with a question. Its words (runs of letters and digits, stop words out, all of them when
  nothing is left; of Chinese, Japanese and Korean every two characters) are looked for as substrings, upper and lower
  case alike. Texts are ordered by how many distinct words they hold, then by how often, then as they stand in the set.
- *naive FTS5*: whole texts under ``porter unicode61``, any of the question's words, in order of bm25.
- *vectors alone*: cosine of the question's vector and the whole text's, by the model that recall uses; it reads the
  first 256 tokens of a text.
- *plain RRF*: reciprocal rank fusion of the last two, with the published constant.

Each answers with at most :data:`DEPTH` addresses, best first, none twice. Where sessions are asked for, the words are
looked for in whole sessions, which serves both word searches better than the sessions of the best turns; the vectors
give the sessions of the nearest turns, because a session is longer than the model reads.
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
#: Results of each way; also what the fusion sees of its legs.
DEPTH = 100
#: Of reciprocal rank fusion, as published.
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
    """For each grain every baseline over *texts* (address to text), by its name; without a model those without one."""
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
    """The words of a question that are worth looking for, each once.

    >>> question_words("What did the Owl say to the owl?")
    ['owl', 'say']
    """
    words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))
    return [word for word in words if word not in _STOP] or words


def substrings(query: str) -> list[str]:
    """The words of a question as grep would look for them: a run of Chinese is no word, so its pairs stand for it.

    >>> substrings("Where is 时间表 v2?")
    ['时间', '间表', 'v2']
    """
    pieces: list[str] = []
    for run in (run for word in question_words(query) for run in _RUNS.findall(word)):
        paired = len(run) > 2 and re.match(f"[{_CJK}]", run)
        pieces += [run[at : at + 2] for at in range(len(run) - 1)] if paired else [run]
    return list(dict.fromkeys(pieces))


def by_substring(texts: Mapping[str, str]) -> Find:
    """Texts that hold the most words of the question anywhere, inside other words too."""
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
    """FTS5 as its manual shows it."""
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
    """The nearest rows of *matrix*, all of them compared; *sources* has an address for each row, some perhaps twice."""

    def find(query: str) -> list[str]:
        order = np.argsort(-(matrix @ embedder.embed_query(query)), kind="stable")
        found: dict[str, None] = {}
        for place in order.tolist():
            found.setdefault(sources[place])
            if len(found) == DEPTH:
                break
        return list(found)

    return find


def by_fusion(*legs: Find) -> Find:
    """Reciprocal rank fusion of *legs*; equal scores are ordered by address."""

    def find(query: str) -> list[str]:
        scores: dict[str, float] = {}
        for leg in legs:
            for rank, source in enumerate(leg(query), 1):
                scores[source] = scores.get(source, 0.0) + 1 / (_RRF_K + rank)
        return sorted(scores, key=lambda source: (-scores[source], source))[:DEPTH]

    return find


def _sessions(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of each session in one, a line between them."""
    parts: dict[str, list[str]] = {}
    for source, text in texts.items():
        parts.setdefault(session_of(source), []).append(text)
    return {session: "\n".join(lines) for session, lines in parts.items()}
