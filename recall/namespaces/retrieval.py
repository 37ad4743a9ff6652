"""Answer a question from the memories of one namespace, and of those that shared theirs with it.

The memories of a namespace are few, so all of them are compared, without an index of vectors: each by its vector, and
by the words of the question that it has. Without vectors words alone decide. An answer has at most two essential
memories, the best of short-term memory, and fills up with others. All of them are relevant, unless nothing was asked.
Everything stands within a budget of tokens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import LiteralString, NamedTuple

from agent_home.tokens import count_tokens

from ..embedding.embedder import Embedder, Vector
from ..errors import ModelError
from ..postgres.connections import Connection
from ..text.normalise import normalise
from ..text.terms import QUERY_CHARS, parse_query
from .answer_cache import AnswerCache
from .memories import vector_text
from .recalled_text import fenced, memory_line, within_budget
from .registry import ReadableNamespace, find_namespace, readable_namespaces
from .relevance import AROUND_WEIGHT, fit, relevance
from .schema import DIMENSION, database
from .settings import NamespaceSettings
from .words import query_terms

__all__ = ["RecalledMemory", "RetrievedMemories", "retrieve"]

#: Memories that are ranked, of all and of short-term memory: those that fit best.
_MOST_RANKED, _MOST_ESSENTIAL = 64, 16
_WITHOUT_VECTORS = "without vectors: {}"

# `%(namespaces)s` stands with every table, so that only its partitions are read.
_SCAN: LiteralString = """
WITH scored AS MATERIALIZED (
    SELECT m.namespace, m.id, m.importance, m.namespace = %(own)s AND m.id IN (
            SELECT s.memory FROM agent_memory.short_term_memory s
            WHERE s.namespace = %(own)s AND s.expires_at > %(now)s
        ) AS short_term,
        CASE WHEN m.model = %(model)s THEN -(m.embedding <#> %(vector)s::halfvec) END AS cosine,
        ARRAY(SELECT q.place FROM unnest(%(own_terms)s::tsquery[]) WITH ORDINALITY q(words, place)
              WHERE m.words @@ q.words) AS said,
        ARRAY(SELECT q.place FROM unnest(%(terms)s::tsquery[]) WITH ORDINALITY q(words, place)
              WHERE m.words @@ q.words) AS matched
    FROM agent_memory.long_term_memory m
    WHERE m.namespace = ANY(%(namespaces)s) AND m.superseded_by IS NULL AND m.merged_into IS NULL
), totals AS MATERIALIZED (SELECT count(*) AS memories FROM scored), rarity AS MATERIALIZED (
    SELECT place, greatest(0, ln((memories + 1) / (
        (SELECT count(*) FROM scored WHERE place = ANY(said)) + .5)))::float8 AS nats
    FROM generate_series(1, %(asked)s) AS place, totals
), ranked AS (
    SELECT scored.*, coalesce(
        (SELECT sum(nats * CASE WHEN place = ANY(said) THEN 1 ELSE %(around)s END) FROM rarity
         WHERE place = ANY(matched)) / (SELECT nullif(sum(nats), 0) FROM rarity), 0
    ) AS words FROM scored
), fitted AS (
    SELECT ranked.*, coalesce(cosine, 0) + words AS fit FROM ranked
), best AS (
    (SELECT * FROM fitted ORDER BY fit DESC, namespace, id LIMIT %(most)s)
    UNION
    (SELECT * FROM fitted WHERE short_term ORDER BY fit DESC, importance DESC, id DESC LIMIT %(essential)s)
)
SELECT b.namespace, b.id, b.importance, b.short_term, b.cosine, b.words, totals.memories,
    m.summary, m.category, m.role, m.session, m.said, m.messages
FROM totals, best b JOIN agent_memory.long_term_memory m ON m.namespace = b.namespace AND m.id = b.id
    AND m.namespace = ANY(%(namespaces)s)
"""
_MODEL: LiteralString = "SELECT id FROM agent_memory.embedding_models WHERE fingerprint = %s"
_SOURCES: LiteralString = """
SELECT namespace, id, session || '#' || message_id FROM agent_memory.chat_history
WHERE namespace = ANY(%s) AND id = ANY(%s)
"""
_EXPIRES: LiteralString = """
SELECT min(expires_at) FROM agent_memory.short_term_memory WHERE namespace = %s AND expires_at > %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """A memory of an answer.

    Attributes:
        namespace: whose memory it is.
        relevance: 0 to 1 (``recall.namespaces.relevance``).
        essential: whether it stands for its place in short-term memory.
        sources: addresses of the exchanges that it was read from, ``SESSION#MESSAGE-ID``.
    """

    namespace: str
    id: int
    summary: str
    category: str
    role: str
    session: str
    importance: float
    relevance: float
    essential: bool
    said: datetime
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedMemories:
    """An answer: its *memories*, essential ones first, and the *text* for a prompt, which has so many *tokens*.

    *degraded* says what did not work. *cached* says that the answer was kept from before. *ms* are milliseconds.
    """

    memories: tuple[RecalledMemory, ...] = ()
    text: str = ""
    tokens: int = 0
    degraded: tuple[str, ...] = ()
    cached: bool = False
    ms: float = 0.0


def retrieve(
    url: str,
    name: str,
    question: str,
    *,
    settings: NamespaceSettings,
    embedder: Embedder | None,
    now: datetime,
    cache: AnswerCache[RetrievedMemories] | None = None,
    reason: str = "no embedding model",
) -> RetrievedMemories:
    """Return the memories that *name* has for *question*.

    Args:
        url: address of the database.
        name: the namespace.
        question: a question or words. A blank one gives essential memories alone, those of short-term memory.
        settings: limits and thresholds.
        embedder: the model, or ``None`` where there is none.
        now: the time, by which short-term memories expire.
        cache: answers of this process.
        reason: why there is no model.

    Raises:
        NoSuchNamespace: there is none of that name.
        NoServer, ServerUnavailable, DatabaseFailed: see :func:`recall.namespaces.schema.database`.
    """
    started = time.perf_counter()
    asked = " ".join(normalise(question[:QUERY_CHARS]).split())
    key = asked, settings, embedder.fingerprint if embedder else ""
    with database(url) as conn:
        readable = readable_namespaces(conn, find_namespace(conn, name))
        versions = tuple((one.id, one.version) for one in readable)
        kept = cache.get((url, name), key, versions, now) if cache is not None else None
        if kept is not None:
            _count(cache, kept)
            return replace(kept, cached=True, ms=_since(started))
        vector, degraded = _embedded(embedder, asked, reason, cache)
        answer, expires = _answered(conn, name, readable, asked, vector, embedder, settings, now)
    answer = replace(answer, degraded=degraded, ms=_since(started))
    _count(cache, answer)
    if cache is not None and not degraded:
        cache.keep((url, name), key, versions, answer, min([now + timedelta(seconds=settings.cache_s), *expires]))
    return answer


def _count(cache: AnswerCache[RetrievedMemories] | None, answer: RetrievedMemories) -> None:
    if cache is not None:
        cache.count_answer(found=bool(answer.memories), short_term=any(one.essential for one in answer.memories))


def _embedded(
    embedder: Embedder | None, asked: str, reason: str, cache: AnswerCache[RetrievedMemories] | None
) -> tuple[Vector | None, tuple[str, ...]]:
    """Return the vector of the question, or why there is none. The model reads no Japanese and no Korean."""
    if not asked or parse_query(asked).cjk:
        return None, ()
    if embedder is None:
        return None, (_WITHOUT_VECTORS.format(reason),)
    if embedder.dimension != DIMENSION:
        return None, (_WITHOUT_VECTORS.format(f"{embedder.name} has {embedder.dimension} numbers, not {DIMENSION}"),)
    kept = cache.get_vector(embedder.fingerprint, asked) if cache is not None else None
    if kept is not None:
        return kept, ()
    try:
        vector = embedder.embed_query(asked.encode("utf-8", "replace").decode())
    except ModelError as error:
        return None, (_WITHOUT_VECTORS.format(error),)
    if cache is not None:
        cache.keep_vector(embedder.fingerprint, asked, vector)
    return vector, ()


def _answered(
    conn: Connection,
    name: str,
    readable: Sequence[ReadableNamespace],
    asked: str,
    vector: Vector | None,
    embedder: Embedder | None,
    settings: NamespaceSettings,
    now: datetime,
) -> tuple[RetrievedMemories, list[datetime]]:
    """Return the answer, and the time when the first of the short-term memories expires, if there is one."""
    model = conn.execute(_MODEL, (embedder.fingerprint,)).fetchone() if vector is not None and embedder else None
    own, (terms, own_terms) = readable[0].id, query_terms(asked)
    found = conn.execute(_SCAN, {
        "namespaces": [one.id for one in readable], "own": own, "now": now, "model": model[0] if model else None,
        "vector": vector_text(vector) if vector is not None else None, "terms": terms,
        "own_terms": own_terms, "asked": len(terms), "around": AROUND_WEIGHT,
        "most": _MOST_RANKED, "essential": _MOST_ESSENTIAL,
    })  # fmt: skip
    names = {one.id: one.name for one in readable}
    chosen = list(_chosen([_RankedMemory(*row) for row in found], settings, asked))
    lines = [_line(row, names, own) for row, _, _ in chosen]
    fitting = within_budget(name, lines, settings.budget_tokens)
    text = fenced(name, [lines[place] for place in fitting])
    memories = _with_sources(conn, [chosen[place] for place in fitting], names)
    expires = [at for (at,) in conn.execute(_EXPIRES, (own, now)) if at is not None]
    return RetrievedMemories(memories=memories, text=text, tokens=count_tokens(text)), expires


class _RankedMemory(NamedTuple):
    """A row of the scan."""

    namespace: int
    id: int
    importance: float
    short_term: bool
    cosine: float | None
    words: float
    memories: int
    summary: str
    category: str
    role: str
    session: str
    said: datetime
    messages: list[int]


def _chosen(
    rows: Sequence[_RankedMemory], settings: NamespaceSettings, asked: str
) -> Iterator[tuple[_RankedMemory, float, bool]]:
    """Yield the memories of an answer, each with its relevance and whether it is essential, essential ones first.

    Of short-term memory those stand for it that fit the question best. A question about nothing in particular has them
    whatever their relevance. What fits equally well is ordered by importance, and then the latest comes first.
    """
    cjk = _is_cjk(asked)
    scored = [(row, relevance(row.cosine, row.words, memories=row.memories, cjk=cjk)) for row in rows]
    scored.sort(key=lambda pair: (-pair[1], -fit(pair[0].cosine, pair[0].words), -pair[0].importance, -pair[0].id))
    essential = [
        pair for pair in scored if pair[0].short_term and (not asked or pair[1] > settings.relevance)
    ][: settings.essential]  # fmt: skip
    yield from ((row, value, True) for row, value in essential)
    taken = {(row.namespace, row.id) for row, _ in essential}
    others = [
        pair for pair in scored if (pair[0].namespace, pair[0].id) not in taken and pair[1] > settings.relevance
    ]  # fmt: skip
    yield from ((row, value, False) for row, value in others[: settings.limit - len(essential)])


def _line(row: _RankedMemory, names: Mapping[int, str], own: int) -> str:
    owner = "" if row.namespace == own else names[row.namespace]
    return memory_line(row.summary, category=row.category, day=f"{row.said.astimezone(UTC):%Y-%m-%d}", owner=owner)


def _with_sources(
    conn: Connection, chosen: Sequence[tuple[_RankedMemory, float, bool]], names: Mapping[int, str]
) -> tuple[RecalledMemory, ...]:
    """Return the memories of an answer with the addresses of their exchanges."""
    numbers = sorted({number for row, _, _ in chosen for number in row.messages})
    found = conn.execute(_SOURCES, (sorted({row.namespace for row, _, _ in chosen}), numbers)).fetchall()
    sources = {(namespace, number): address for namespace, number, address in found}
    return tuple(
        RecalledMemory(
            namespace=names[row.namespace], id=row.id, summary=row.summary, category=row.category, role=row.role,
            session=row.session, importance=row.importance, relevance=round(value, 4), essential=essential,
            said=row.said.astimezone(UTC),
            sources=tuple(
                sources[row.namespace, number] for number in row.messages if (row.namespace, number) in sources
            ),
        )
        for row, value, essential in chosen
    )  # fmt: skip


def _is_cjk(asked: str) -> bool:
    query = parse_query(asked)
    return query.chinese + query.cjk > 0


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
