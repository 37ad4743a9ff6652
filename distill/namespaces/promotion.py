"""Promote memories of a namespace to short-term memory, demote what is too much, and merge what belongs together.

A memory is promoted when it passes all three thresholds: it is important, it was mentioned often in the last day, and
it was said not long ago. Any one of them alone would promote a large part of a young namespace: everything there is
recent, and a quarter of it is important. Those that are all of it come first, and :mod:`distill.namespaces.filling`
fills the room that they leave.

A run takes the namespace for itself, so several processes may run at once, each with other namespaces. It is one
transaction. When the analysis fails, the memories that were said last are promoted instead, and a line of the log says
so.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from recall.embedding.embedder import Embedder
from recall.namespaces.chat_log import mentions_since
from recall.namespaces.memories import archive_memories, entities_of, entity_counts, leave_short_term, live_count
from recall.namespaces.registry import find_namespace, lock_namespace
from recall.namespaces.schema import database, part_of
from recall.namespaces.settings import NamespaceSettings
from recall.namespaces.short_term import (
    PromotedMemory,
    PromotionCandidateRow,
    drop_expired,
    keep_filling,
    least_promoted,
    newest_memories,
    note_promotion,
    promotable_memories,
    promote_memories,
    promoted_count,
    promotion_due,
)
from recall.postgres.connections import Connection

from .filling import fill_short_term, short_term_room
from .merging import merge_related
from .scores import PromotionScores, common_entities, mention_count, passes, recency
from .screening import NamespaceGuard

__all__ = ["NamespacePromotion", "promote_namespace"]

LOGGER = logging.getLogger("agent_home.namespaces")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacePromotion:
    """Changes that a run made.

    Attributes:
        promoted: numbers of the memories that this run promoted by the thresholds, best first.
        filled: numbers of those that fill the room that is left.
        expired: rows whose time was over.
        archived: numbers of memories beyond the cap, which were demoted.
        merged: numbers of new memories that hold several others.
        reason: ``rule``, or ``recency`` when the analysis failed, which *problem* names.
        due: whether the time had come. Without, nothing was done.
        busy: whether another process has the namespace.
    """

    promoted: tuple[int, ...] = ()
    filled: tuple[int, ...] = ()
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
        promote_memories(conn, namespace, chosen, now=now)
        beyond = least_promoted(conn, namespace, settings.short_term_cap)
        archive_memories(conn, namespace, beyond)
        without_room = least_promoted(conn, namespace, short_term_room(conn, namespace, settings))
        leave_short_term(conn, namespace, without_room)
        left = promoted_count(conn, namespace, now)
        if problem:
            keep_filling(conn, namespace, [one.id for one in chosen], now)
        filled = [] if problem else fill_short_term(conn, namespace, settings, now)
        again = now + timedelta(hours=settings.promote_every_h) if left or problem else None
        note_promotion(conn, namespace, now, again)
    return NamespacePromotion(
        promoted=tuple(one.id for one in chosen if one.id not in {*beyond, *without_room}), filled=tuple(filled),
        expired=expired, archived=tuple(beyond), merged=tuple(merged), reason="recency" if problem else "rule",
        problem=problem,
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
            found.append(_promoted(one, scores, "rule", now, settings))
    return sorted(found, key=lambda one: (-one.importance, -one.frequency, -one.recency, one.id))


def _by_recency(conn: Connection, namespace: int, settings: NamespaceSettings, now: datetime) -> list[PromotedMemory]:
    room = short_term_room(conn, namespace, settings) - promoted_count(conn, namespace, now)
    rows = newest_memories(conn, namespace, max(0, room), start=datetime.min.replace(tzinfo=UTC), now=now)
    scored = ((one, recency(one.said, now, settings)) for one in rows)
    return [
        _promoted(one, PromotionScores(importance=one.importance, recency=score, frequency=0), "recency", now, settings)
        for one, score in scored
    ]


def _promoted(
    one: PromotionCandidateRow, scores: PromotionScores, reason: str, now: datetime, settings: NamespaceSettings
) -> PromotedMemory:
    return PromotedMemory(
        id=one.id, importance=scores.importance, recency=scores.recency, frequency=scores.frequency, reason=reason,
        expires=now + timedelta(hours=settings.short_term_h),
    )  # fmt: skip
