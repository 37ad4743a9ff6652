"""Own the rows of short-term memory: references to memories of the moment, with their scores and the end of their time.

A row refers to its memory, so no text stands twice and none is left behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from ..postgres.connections import Connection
from .registry import changed

__all__ = [
    "PromotedMemory",
    "PromotionCandidateRow",
    "drop_expired",
    "keep_filling",
    "least_promoted",
    "likely_memories",
    "newest_memories",
    "note_processed",
    "note_promotion",
    "promotable_memories",
    "promote_memories",
    "promoted_count",
    "promotion_due",
]

_DROP: LiteralString = "DELETE FROM agent_memory.short_term_memory WHERE namespace = %s AND expires_at <= %s"
#: Why a memory is there that the thresholds did not promote: there was room, or the analysis failed.
_FILLING: LiteralString = "('room', 'recency')"
_KEEP_FILLING: LiteralString = f"""
DELETE FROM agent_memory.short_term_memory
WHERE namespace = %s AND (expires_at <= %s OR reason IN {_FILLING} AND memory <> ALL(%s))
"""
_LONG_TERM: LiteralString = """
namespace = %(namespace)s AND superseded_by IS NULL AND merged_into IS NULL AND retention_type = 'long_term'
"""
_PROMOTABLE: LiteralString = f"""
SELECT id, importance, said, messages FROM agent_memory.long_term_memory
WHERE {_LONG_TERM} AND importance > %(importance)s AND said > %(start)s ORDER BY id
"""
# Without a join, because the plan of one compares all with all where the server knows nothing of a new namespace.
_OUTSIDE: LiteralString = f"""
{_LONG_TERM} AND said > %(start)s AND id NOT IN (
    SELECT s.memory FROM agent_memory.short_term_memory s
    WHERE s.namespace = %(namespace)s AND s.reason NOT IN {_FILLING} AND s.expires_at > %(now)s)
"""
_NEWEST: LiteralString = f"""
SELECT id, importance, said, messages FROM agent_memory.long_term_memory
WHERE {_OUTSIDE} ORDER BY least(said, %(now)s::timestamptz) DESC, id DESC LIMIT %(most)s
"""
#: The weights were chosen on two people of RealMem and on three chats of LoCoMo and RealTalk. A Chinese character says
#: as much as three letters, and has three bytes.
_LIKELY: LiteralString = f"""
SELECT id, importance, said, messages FROM agent_memory.long_term_memory WHERE {_OUTSIDE}
ORDER BY ln(greatest(1, octet_length(summary))) + 0.3 * ln(importance + 0.05)
    - ln(2) * greatest(0, extract(epoch FROM %(now)s::timestamptz - said)) / 86400 / %(half_life_days)s DESC, id DESC
LIMIT %(most)s
"""
# A row that stays as it is, is not written again.
_PROMOTE: LiteralString = """
INSERT INTO agent_memory.short_term_memory(
    namespace, memory, importance, recency_score, frequency_score, reason, promoted, expires_at)
SELECT %(namespace)s, memory, importance, recency, frequency, reason, %(now)s, expires FROM unnest(
    %(ids)s::bigint[], %(importances)s::float8[], %(recencies)s::float8[], %(frequencies)s::integer[],
    %(reasons)s::text[], %(expiries)s::timestamptz[]
) AS chosen(memory, importance, recency, frequency, reason, expires)
ON CONFLICT (namespace, memory) DO UPDATE SET importance = excluded.importance,
    recency_score = excluded.recency_score, frequency_score = excluded.frequency_score, reason = excluded.reason,
    promoted = excluded.promoted, expires_at = excluded.expires_at
WHERE (short_term_memory.reason, short_term_memory.expires_at) <> (excluded.reason, excluded.expires_at)
"""
_COUNT_PROMOTED: LiteralString = f"""
SELECT count(*) FROM agent_memory.short_term_memory
WHERE namespace = %s AND reason NOT IN {_FILLING} AND expires_at > %s
"""
_LEAST: LiteralString = f"""
SELECT memory FROM agent_memory.short_term_memory WHERE namespace = %s AND reason NOT IN {_FILLING}
ORDER BY importance DESC, frequency_score DESC, recency_score DESC, memory DESC OFFSET %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionCandidateRow:
    """A memory that may be promoted: its number, its importance, when it was said last, and its exchanges."""

    id: int
    importance: float
    said: datetime
    messages: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedMemory:
    """A memory with its scores, and the end of its time.

    *reason* is ``rule`` for the thresholds, ``room`` where they left some, or ``recency`` where the analysis failed.
    """

    id: int
    importance: float
    recency: float
    frequency: int
    reason: str
    expires: datetime


def drop_expired(conn: Connection, namespace: int, now: datetime) -> int:
    """Delete the rows whose time is over, and return their number."""
    return conn.execute(_DROP, (namespace, now)).rowcount


def keep_filling(conn: Connection, namespace: int, numbers: Sequence[int], now: datetime) -> None:
    """Delete the rows that fill the room of others, but for *numbers*, and those whose time is over."""
    conn.execute(_KEEP_FILLING, (namespace, now, list(numbers)))


def promotable_memories(
    conn: Connection, namespace: int, *, importance: float, start: datetime
) -> list[PromotionCandidateRow]:
    """Return the memories above *importance* that were said after *start*. Archived ones are left out."""
    return _candidates(conn.execute(_PROMOTABLE, {"namespace": namespace, "importance": importance, "start": start}))


def newest_memories(
    conn: Connection, namespace: int, most: int, *, start: datetime, now: datetime
) -> list[PromotionCandidateRow]:
    """Return the *most* memories that were said last, latest first. They were said after *start* and not promoted."""
    return _candidates(conn.execute(_NEWEST, {"namespace": namespace, "start": start, "now": now, "most": most}))


def likely_memories(
    conn: Connection, namespace: int, most: int, *, start: datetime, now: datetime, half_life_days: float
) -> list[PromotionCandidateRow]:
    """Return the *most* memories that are likeliest to be asked about, likeliest first.

    They were said after *start* and not promoted. Long and important ones come first, and all count
    half as much after *half_life_days*.
    """
    given = {"namespace": namespace, "start": start, "now": now, "most": most, "half_life_days": half_life_days}
    return _candidates(conn.execute(_LIKELY, given))


def promote_memories(conn: Connection, namespace: int, memories: Sequence[PromotedMemory], *, now: datetime) -> None:
    """Write *memories* to short-term memory, or renew their rows there."""
    conn.execute(_PROMOTE, {
        "namespace": namespace, "now": now, "ids": [one.id for one in memories],
        "importances": [one.importance for one in memories], "recencies": [one.recency for one in memories],
        "frequencies": [one.frequency for one in memories], "reasons": [one.reason for one in memories],
        "expiries": [one.expires for one in memories],
    })  # fmt: skip


def least_promoted(conn: Connection, namespace: int, most: int) -> list[int]:
    """Return the promoted memories beyond the first *most* by importance, then by mentions, then by recency."""
    return [number for (number,) in conn.execute(_LEAST, (namespace, most))]


def promoted_count(conn: Connection, namespace: int, now: datetime) -> int:
    """Return the number of memories in short-term memory, without those that fill the room."""
    found = conn.execute(_COUNT_PROMOTED, (namespace, now)).fetchone()
    return int(found[0]) if found else 0


def promotion_due(conn: Connection, namespace: int, now: datetime) -> bool:
    """Return whether the time of the next promotion has come."""
    found = conn.execute(
        "SELECT promote_after <= %s FROM agent_memory.namespaces WHERE id = %s", (now, namespace)
    ).fetchone()
    return bool(found and found[0])


def note_processed(
    conn: Connection, namespace: int, messages: int, *, load: int, every_h: float, loaded_h: float
) -> None:
    """Note that *messages* were read, and when the next promotion is due.

    That is *every_h* hours after the last one, and *loaded_h* once *load* messages came since then, those that are not
    read yet among them.
    """
    conn.execute(
        """
        WITH backlog AS (SELECT count(*) AS n FROM agent_memory.pending_messages WHERE namespace = %(namespace)s)
        UPDATE agent_memory.namespaces SET new_messages = new_messages + %(messages)s,
            promote_after = coalesce(promoted, made) + make_interval(secs => 3600 * (CASE
                WHEN new_messages + %(messages)s + (SELECT n FROM backlog) >= %(load)s THEN %(loaded)s
                ELSE %(every)s END)::float8)
        WHERE id = %(namespace)s
        """,
        {"namespace": namespace, "messages": messages, "load": load, "every": every_h, "loaded": loaded_h},
    )
    changed(conn, namespace)


def note_promotion(conn: Connection, namespace: int, now: datetime, following: datetime | None) -> None:
    """Note that *namespace* was promoted *now*, and when the next promotion is due. ``None`` is after new messages."""
    conn.execute(
        "UPDATE agent_memory.namespaces SET promoted = %s, promote_after = %s, new_messages = 0 WHERE id = %s",
        (now, following, namespace),
    )
    changed(conn, namespace)


def _candidates(rows: Iterable[tuple[Any, ...]]) -> list[PromotionCandidateRow]:
    return [
        PromotionCandidateRow(id=number, importance=importance, said=said, messages=tuple(messages))
        for number, importance, said, messages in rows
    ]
