"""Fill the room that the thresholds of promotion leave in short-term memory.

The thresholds alone leave it nearly empty where people come every few days: few things are mentioned four times in one.
So whatever room is left is filled each time that messages were read. One half is for what was said last, because the
next question is often about it. The other half is for the memories that are most likely to be asked about: recent,
important ones that say much, and no two that say nearly the same.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from recall.namespaces.memories import live_count, vectors_of
from recall.namespaces.schema import part_of
from recall.namespaces.settings import NamespaceSettings
from recall.namespaces.short_term import (
    PromotedMemory,
    PromotionCandidateRow,
    keep_filling,
    likely_memories,
    newest_memories,
    promote_memories,
    promoted_count,
)
from recall.postgres.connections import Connection

from .scores import recency

__all__ = ["different_memories", "fill_short_term", "short_term_room"]

LOGGER = logging.getLogger("agent_home.namespaces")
#: So many candidates are looked at for each place, because some of them say what another one says.
_CANDIDATES = 4


def short_term_room(conn: Connection, namespace: int, settings: NamespaceSettings) -> int:
    """Return how many memories may be in short-term memory: a share of all of them."""
    share = int(settings.short_term_share * live_count(conn, namespace))
    return min(max(settings.short_term_least, share), settings.short_term_cap)


def fill_short_term(conn: Connection, namespace: int, settings: NamespaceSettings, now: datetime) -> list[int]:
    """Choose anew what fills the room that promoted memories leave. Return the numbers of these memories.

    They stay until they are ``recency_days`` old, or until better ones come. A failure leaves short-term memory as it
    was, and a line of the log names its kind: what the caller does must not wait for this.
    """
    try:
        with part_of(conn):
            return _filled(conn, namespace, settings, now)
    except Exception as error:
        if conn.broken:
            raise
        LOGGER.warning("short-term memory was not filled (%s)", type(error).__name__)
        return []


def _filled(conn: Connection, namespace: int, settings: NamespaceSettings, now: datetime) -> list[int]:
    room = short_term_room(conn, namespace, settings) - promoted_count(conn, namespace, now)
    chosen = _chosen(conn, namespace, room, settings, now) if settings.fill and room > 0 else []
    keep_filling(conn, namespace, [one.id for one in chosen], now)
    promote_memories(
        conn, namespace,
        [
            PromotedMemory(
                id=one.id, importance=one.importance, recency=recency(one.said, now, settings), frequency=0,
                reason="room", expires=min(one.said, now) + timedelta(days=settings.recency_days),
            )
            for one in chosen
        ],
        now=now,
    )  # fmt: skip
    return [one.id for one in chosen]


def _chosen(
    conn: Connection, namespace: int, room: int, settings: NamespaceSettings, now: datetime
) -> list[PromotionCandidateRow]:
    start = now - timedelta(days=settings.recency_days)
    newest = newest_memories(conn, namespace, room - room // 2, start=start, now=now)
    likely = likely_memories(
        conn, namespace, _CANDIDATES * room, start=start, now=now, half_life_days=settings.fill_half_life_days
    )
    taken = {one.id for one in newest}
    others = [one for one in likely if one.id not in taken]
    vectors = vectors_of(conn, namespace, [one.id for one in (*newest, *others)])
    return [*newest, *different_memories(newest, others, vectors, room - len(newest), settings.fill_likeness)]


def different_memories(
    first: Sequence[PromotionCandidateRow],
    candidates: Sequence[PromotionCandidateRow],
    vectors: Mapping[int, NDArray[np.float32]],
    most: int,
    likeness: float,
) -> list[PromotionCandidateRow]:
    """Return at most *most* of *candidates*, those in front first, without any that is like another one.

    One is like another if the cosine of their vectors is above *likeness*. Those are taken last. *first* are there
    already. A memory without a vector is like none.
    """
    kept = [vectors[one.id] for one in first if one.id in vectors]
    compared = [one for one in candidates if one.id in vectors]
    near = dict[int, float]()
    if kept and compared:
        cosines = np.stack([vectors[one.id] for one in compared]) @ np.stack(kept).T
        near = dict(zip([one.id for one in compared], cosines.max(axis=1).tolist(), strict=True))
    chosen, alike = list[PromotionCandidateRow](), list[PromotionCandidateRow]()
    others = np.zeros((most, len(next(iter(vectors.values()), ()))), np.float32)
    filled = 0
    for one in candidates:
        if len(chosen) >= most:
            break
        vector = vectors.get(one.id)
        if vector is not None:
            nearest = float((others[:filled] @ vector).max()) if filled else -1.0
            if max(nearest, near.get(one.id, -1.0)) > likeness:
                alike.append(one)
                continue
            others[filled] = vector
            filled += 1
        chosen.append(one)
    return [*chosen, *alike][:most]
