"""Erase texts from a namespace: from its log, and every memory that was made from them.

An erased exchange keeps its number and its id, so that sending it again does not bring its words back. Memories are
made from the log, so those of an erased exchange are deleted whole, and the exchange is read again without the words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import LiteralString

from ..postgres.connections import Connection
from .chat_log import EXCHANGE_COLUMNS, LoggedExchange, logged_exchange

__all__ = [
    "FORGOTTEN",
    "MemorySummary",
    "delete_with_parts",
    "every_exchange",
    "every_summary",
    "exchanges_after",
    "exchanges_of_session",
    "read_again",
    "rename_session",
    "rewrite_exchange",
]

#: Why an exchange is held that was forgotten whole.
FORGOTTEN = "forgotten"
#: Rows that are fetched at a time.
_FETCHED = 500
_ALL: LiteralString = f"SELECT {EXCHANGE_COLUMNS} FROM agent_memory.chat_history c WHERE c.namespace = %s ORDER BY c.id"
_SESSION: LiteralString = f"""
SELECT {EXCHANGE_COLUMNS} FROM agent_memory.chat_history c WHERE c.namespace = %s AND c.session = %s ORDER BY c.id
"""
_AFTER: LiteralString = """
SELECT (SELECT min(n.id) FROM agent_memory.chat_history n
        WHERE n.namespace = c.namespace AND n.session = c.session AND n.id > c.id AND n.held = '')
FROM agent_memory.chat_history c WHERE c.namespace = %(namespace)s AND c.id = ANY(%(numbers)s)
"""
_REWRITE: LiteralString = """
UPDATE agent_memory.chat_history SET session = %(session)s, message_id = %(message_id)s, user_name = %(user_name)s,
    agent_name = %(agent_name)s, user_input = %(user_input)s, ai_output = %(ai_output)s, entities = %(entities)s,
    digest = '', held = CASE WHEN %(held)s <> '' THEN %(held)s ELSE held END
WHERE namespace = %(namespace)s AND id = %(id)s
"""
_SPLIT: LiteralString = """
WITH gone AS (
    SELECT id FROM agent_memory.long_term_memory
    WHERE namespace = %(namespace)s AND (id = ANY(%(ids)s) OR parts && %(ids)s::bigint[])
), freed AS (
    UPDATE agent_memory.long_term_memory SET merged_into = NULL
    WHERE namespace = %(namespace)s AND merged_into IN (SELECT id FROM gone) AND id <> ALL(%(ids)s)
)
SELECT id FROM gone
"""
_QUEUE: LiteralString = """
INSERT INTO agent_memory.pending_messages(namespace, message)
SELECT namespace, id FROM agent_memory.chat_history WHERE namespace = %s AND id = ANY(%s) AND held = ''
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySummary:
    """The text of a memory, superseded or merged ones included, and the exchanges that it was read from."""

    id: int
    summary: str
    session: str
    messages: tuple[int, ...]


def every_exchange(conn: Connection, namespace: int) -> Iterator[LoggedExchange]:
    """Yield all exchanges of the log, held ones included, a few in memory at a time."""
    with conn.cursor("agent_memory_log") as cursor:
        cursor.itersize = _FETCHED
        cursor.execute(_ALL, (namespace,))
        for row in cursor:
            yield logged_exchange(row)


def exchanges_of_session(conn: Connection, namespace: int, session: str) -> list[LoggedExchange]:
    """Return the exchanges of *session* in their order, held ones included."""
    return [logged_exchange(row) for row in conn.execute(_SESSION, (namespace, session))]


def exchanges_after(conn: Connection, namespace: int, numbers: Collection[int]) -> set[int]:
    """Return the exchanges right behind these *numbers* in their sessions. Their memories have words of these."""
    rows = conn.execute(_AFTER, {"namespace": namespace, "numbers": list(numbers)})
    return {number for (number,) in rows if number is not None}


def every_summary(conn: Connection, namespace: int) -> Iterator[MemorySummary]:
    """Yield the texts of all memories, a few in memory at a time."""
    with conn.cursor("agent_memory_summaries") as cursor:
        cursor.itersize = _FETCHED
        cursor.execute(
            "SELECT id, summary, session, messages FROM agent_memory.long_term_memory WHERE namespace = %s ORDER BY id",
            (namespace,),
        )
        for number, summary, session, messages in cursor:
            yield MemorySummary(id=number, summary=summary, session=session, messages=tuple(messages))


def rewrite_exchange(conn: Connection, namespace: int, exchange: LoggedExchange) -> None:
    """Store *exchange* in place of the one with its number. No later exchange counts as a revision of it."""
    row = {name: getattr(exchange, name) for name in (
        "id", "session", "message_id", "user_name", "agent_name", "user_input", "ai_output", "held",
    )}  # fmt: skip
    conn.execute(_REWRITE, {**row, "namespace": namespace, "entities": list(exchange.entities)})


def rename_session(conn: Connection, namespace: int, before: str, after: str) -> None:
    """Give the memories of a session its new name."""
    conn.execute(
        "UPDATE agent_memory.long_term_memory SET session = %s WHERE namespace = %s AND session = %s",
        (after, namespace, before),
    )


def delete_with_parts(conn: Connection, namespace: int, numbers: Collection[int]) -> int:
    """Delete memories, and the merged ones that hold one of them. Other parts of these stand by themselves again.

    Return how many are gone.
    """
    gone = [number for (number,) in conn.execute(_SPLIT, {"namespace": namespace, "ids": list(numbers)})]
    return conn.execute(
        "DELETE FROM agent_memory.long_term_memory WHERE namespace = %s AND id = ANY(%s)", (namespace, gone)
    ).rowcount


def read_again(conn: Connection, namespace: int, messages: Collection[int]) -> None:
    """Let exchanges be read once more. Held ones are not."""
    conn.execute(_QUEUE, (namespace, list(messages)))
    conn.execute(
        "DELETE FROM agent_memory.pending_messages p USING agent_memory.chat_history c WHERE p.namespace = %s "
        "AND c.namespace = p.namespace AND c.id = p.message AND c.held <> ''",
        (namespace,),
    )
