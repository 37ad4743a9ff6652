"""Promote memories of a namespace to short-term memory, demote what is too much, and merge what belongs together.

A memory is promoted when it passes all three thresholds: it is important, it was mentioned often in the last day, and
it was said not long ago. Any one of them alone would promote a large part of a young namespace: everything there is
recent, and a quarter of it is important. Short-term memory is for the few that are all of it now.

A run takes the namespace for itself, so several processes may run at once, each with other namespaces. It is one
transaction. When the analysis fails, the memories that were said last are promoted instead, and a line of the log says
so.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from recall.embedding.embedder import Embedder
from recall.namespaces.chat_log import RecentMentions, mentions_since
from recall.namespaces.memories import archive_memories, entities_of, entity_counts, leave_short_term, live_count
from recall.namespaces.registry import find_namespace, lock_namespace
from recall.namespaces.schema import database, part_of
from recall.namespaces.settings import NamespaceSettings
from recall.namespaces.short_term import (
    PromotedMemory,
    PromotionCandidateRow,
    drop_expired,
    least_promoted,
    note_promotion,
    promotable_memories,
    promote_memories,
    promotion_due,
    recent_memories,
    short_term_count,
)
from recall.postgres.connections import Connection

from .entities import entity_weight
from .merging import merge_related
from .screening import NamespaceGuard

__all__ = [
    "NamespacePromotion",
    "PromotionScores",
    "common_entities",
    "mention_count",
    "passes",
    "promote_namespace",
    "recency",
]

LOGGER = logging.getLogger("agent_home.namespaces")
#: Weight of common entities from which on a message mentions a memory: one name, or two pairs of Chinese characters.
_MENTIONED = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionScores:
    """The three scores of a memory: *importance* and *recency* are 0 to 1, *frequency* is a number of messages."""

    importance: float
    recency: float
    frequency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacePromotion:
    """Changes that a run made.

    Attributes:
        promoted: numbers of the memories that are in short-term memory by this run, best first.
        expired: rows whose time was over.
        archived: numbers of memories beyond the cap, which were demoted.
        merged: numbers of new memories that hold several others.
        reason: ``rule``, or ``recency`` when the analysis failed, which *problem* names.
        due: whether the time had come. Without, nothing was done.
        busy: whether another process has the namespace.
    """

    promoted: tuple[int, ...] = ()
    expired: int = 0
    archived: tuple[int, ...] = ()
    merged: tuple[int, ...] = ()
    reason: str = "rule"
    problem: str = ""
    due: bool = True
    busy: bool = False


def promote_namespace(
    url: str,
    name: str,
    *,
    settings: NamespaceSettings,
    embedder: Embedder | None,
    guard: NamespaceGuard,
    now: datetime,
    if_due: bool = False,
) -> NamespacePromotion:
    """Promote the memories of *name*. With *if_due*, only if the time of its next promotion has come.

    Raises:
        NoSuchNamespace: there is none.
        ServerUnavailable: the server does not answer. Nothing was changed.
    """
    with database(url) as conn:
        namespace = find_namespace(conn, name)
        if not lock_namespace(conn, namespace, wait=False):
            return NamespacePromotion(busy=True)
        if if_due and not promotion_due(conn, namespace, now):
            return NamespacePromotion(due=False)
        expired = drop_expired(conn, namespace, now)
        try:
            with part_of(conn):
                merged = merge_related(
                    conn, namespace, settings=settings, embedder=embedder, guard=guard, now=now
                )  # fmt: skip
                chosen, problem = _analysed(conn, namespace, settings, now), ""
        except Exception as error:
            if conn.broken:
                raise
            merged, problem = [], type(error).__name__
            LOGGER.warning("promotion of %s: the analysis failed (%s). Promoted by recency", name, problem)
            chosen = _by_recency(conn, namespace, settings, now)
        promote_memories(
            conn, namespace, chosen, now=now, expires=now + timedelta(hours=settings.short_term_h)
        )  # fmt: skip
        beyond = least_promoted(conn, namespace, settings.short_term_cap)
        archive_memories(conn, namespace, beyond)
        without_room = least_promoted(conn, namespace, _room(conn, namespace, settings))
        leave_short_term(conn, namespace, without_room)
        left = short_term_count(conn, namespace)
        note_promotion(conn, namespace, now, now + timedelta(hours=settings.promote_every_h) if left else None)
    return NamespacePromotion(
        promoted=tuple(one.id for one in chosen if one.id not in {*beyond, *without_room}), expired=expired,
        archived=tuple(beyond), merged=tuple(merged), reason="recency" if problem else "rule", problem=problem,
    )  # fmt: skip


def _analysed(conn: Connection, namespace: int, settings: NamespaceSettings, now: datetime) -> list[PromotedMemory]:
    """Return the memories that pass all thresholds, with their scores, best first."""
    start = now - timedelta(days=(1 - settings.recency) * settings.recency_days)
    candidates = promotable_memories(conn, namespace, importance=settings.importance, start=start)
    if not candidates:
        return []
    entities = entities_of(conn, namespace, [one.id for one in candidates])
    mentions = mentions_since(conn, namespace, now - timedelta(hours=settings.mention_hours), now)
    common = common_entities(entity_counts(conn, namespace), live_count(conn, namespace), settings)
    found = []
    for one in candidates:
        scores = PromotionScores(
            importance=one.importance, recency=recency(one.said, now, settings),
            frequency=mention_count(entities.get(one.id, frozenset()) - common, one.messages, mentions),
        )  # fmt: skip
        if passes(scores, settings):
            found.append(_promoted(one, scores, "rule"))
    return sorted(found, key=lambda one: (-one.importance, -one.frequency, -one.recency, one.id))


def passes(scores: PromotionScores, settings: NamespaceSettings) -> bool:
    """Return whether all three scores are above their thresholds.

    >>> passes(PromotionScores(importance=0.8, recency=0.9, frequency=4), NamespaceSettings())
    True
    >>> passes(PromotionScores(importance=0.8, recency=0.9, frequency=3), NamespaceSettings())
    False
    """
    return (
        scores.importance > settings.importance
        and scores.frequency > settings.mentions
        and scores.recency > settings.recency
    )


def recency(said: datetime, now: datetime, settings: NamespaceSettings) -> float:
    """Return 1 for a memory that was said now, falling to 0 at the age of ``recency_days``."""
    age_days = (now - said).total_seconds() / 86_400
    return max(0.0, min(1.0, 1 - age_days / settings.recency_days))


def mention_count(entities: Collection[str], messages: Collection[int], mentions: RecentMentions) -> int:
    """Return how many recent messages mention a memory.

    A message mentions it that states it, or that has one of its names, or two of its pairs of Chinese characters.
    """
    weights: dict[int, float] = {}
    for entity in entities:
        for number in mentions.named.get(entity, ()):
            weights[number] = weights.get(number, 0.0) + entity_weight(entity)
    named = {number for number, weight in weights.items() if weight >= _MENTIONED}
    return len(named | (mentions.messages & frozenset(messages)))


def common_entities(counts: Mapping[str, int], memories: int, settings: NamespaceSettings) -> frozenset[str]:
    """Return the entities that so many memories have that they tell none from another."""
    if memories < settings.common_least:
        return frozenset()
    return frozenset(entity for entity, count in counts.items() if count > settings.common_share * memories)


def _by_recency(conn: Connection, namespace: int, settings: NamespaceSettings, now: datetime) -> list[PromotedMemory]:
    rows = recent_memories(conn, namespace, min(_room(conn, namespace, settings), settings.short_term_cap))
    scored = ((one, recency(one.said, now, settings)) for one in rows)
    return [
        _promoted(one, PromotionScores(importance=one.importance, recency=score, frequency=0), "recency")
        for one, score in scored
    ]


def _room(conn: Connection, namespace: int, settings: NamespaceSettings) -> int:
    """Return how many memories may be in short-term memory: a share of all of them."""
    return max(settings.short_term_least, int(settings.short_term_share * live_count(conn, namespace)))


def _promoted(one: PromotionCandidateRow, scores: PromotionScores, reason: str) -> PromotedMemory:
    return PromotedMemory(
        id=one.id, importance=scores.importance, recency=scores.recency, frequency=scores.frequency, reason=reason
    )
