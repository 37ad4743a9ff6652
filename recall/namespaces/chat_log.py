"""Own the log of a namespace: exchanges of a user and an agent, appended once and read in order.

Several agents may append to one namespace at once. An exchange with an id that is there already adds nothing, so it may
be sent again. One with the same id and other words is a revision, under an id of its own, and both stay. One that was
forgotten keeps its id, so that sending it again does not bring it back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any, LiteralString

from ..postgres.connections import Connection

__all__ = [
    "EXCHANGE_COLUMNS",
    "AppendedExchange",
    "LoggedExchange",
    "NamespaceExchange",
    "RecentMentions",
    "append_exchanges",
    "exchanges_before",
    "logged_exchange",
    "mark_read",
    "mentions_since",
    "unread_count",
    "unread_exchanges",
]

#: Hexadecimal digits behind the id of a revision.
_REVISION_DIGITS = 8
_NUMBERS: LiteralString = "SELECT nextval('agent_memory.message_numbers') FROM generate_series(1, %s)"
_APPEND: LiteralString = """
WITH added AS (
    INSERT INTO agent_memory.chat_history(
        namespace, id, session, message_id, source, user_name, agent_name, user_input, ai_output, said, utc_offset_s,
        recorded, digest, entities, held)
    VALUES(%(namespace)s, %(id)s, %(session)s, %(message_id)s, %(source)s, %(user_name)s, %(agent_name)s,
           %(user_input)s, %(ai_output)s, %(said)s, %(utc_offset_s)s, %(recorded)s, %(digest)s, %(entities)s, %(held)s)
    ON CONFLICT (namespace, message_id) DO NOTHING RETURNING id, held
), queued AS (
    INSERT INTO agent_memory.pending_messages(namespace, message) SELECT %(namespace)s, id FROM added WHERE held = ''
)
SELECT id FROM added
"""
_KNOWN: LiteralString = "SELECT id, digest FROM agent_memory.chat_history WHERE namespace = %s AND message_id = %s"
#: Columns of the table ``c`` that :func:`logged_exchange` takes.
EXCHANGE_COLUMNS: LiteralString = """
c.id, c.session, c.message_id, c.source, c.user_name, c.agent_name, c.user_input, c.ai_output, c.said, c.utc_offset_s,
c.entities
"""
_UNREAD: LiteralString = f"""
SELECT {EXCHANGE_COLUMNS} FROM agent_memory.pending_messages p
JOIN agent_memory.chat_history c ON c.namespace = p.namespace AND c.id = p.message
WHERE p.namespace = %s ORDER BY p.message LIMIT %s
"""
_BEFORE: LiteralString = f"""
SELECT {EXCHANGE_COLUMNS} FROM agent_memory.chat_history c
WHERE c.namespace = %s AND c.session = %s AND c.id < %s AND c.held = '' ORDER BY c.id DESC LIMIT %s
"""
_MENTIONS: LiteralString = """
SELECT id, entities FROM agent_memory.chat_history
WHERE namespace = %s AND said > %s AND said <= %s AND held = ''
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceExchange:
    """Words of a user and the answer of the agent. Either may be empty.

    Attributes:
        session: the conversation.
        message_id: names the exchange within its namespace.
        source: the author of *user_input*: user, participant, tool or web.
        user_name: the name of that author, and *agent_name* that of the agent. Either may be empty.
        said: the time, with the offset of the place where it was said.
        entities: names in both texts.
        held: why the guard held the exchange back. Such a one is never read. Empty for all others.
    """

    session: str
    message_id: str
    source: str
    user_input: str
    ai_output: str
    said: datetime
    user_name: str = ""
    agent_name: str = ""
    entities: tuple[str, ...] = ()
    held: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedExchange(NamespaceExchange):
    """An exchange of the log, with its number. Later ones have greater numbers."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedExchange:
    """Fate of an exchange: its number, the id under which it stands, and whether it was *known* before."""

    id: int
    message_id: str
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentMentions:
    """The numbers of the exchanges of a time, and of those that name each entity."""

    messages: frozenset[int]
    named: Mapping[str, set[int]]


def append_exchanges(
    conn: Connection, namespace: int, exchanges: Sequence[NamespaceExchange], now: datetime
) -> list[AppendedExchange]:
    """Append *exchanges* in their order, and return what became of each."""
    numbers = [number for (number,) in conn.execute(_NUMBERS, (len(exchanges),))]
    done: dict[int, AppendedExchange] = {}
    # In the order of their ids, so that two writers of the same exchanges do not wait for each other.
    for place in sorted(range(len(exchanges)), key=lambda place: exchanges[place].message_id):
        done[place] = _append(conn, namespace, numbers[place], exchanges[place], now)
    return [done[place] for place in range(len(exchanges))]


def _append(
    conn: Connection, namespace: int, number: int, exchange: NamespaceExchange, now: datetime
) -> AppendedExchange:
    digest = _digest(exchange)
    revision = f"{exchange.message_id}~{digest.hex()[:_REVISION_DIGITS]}"
    for message_id in (exchange.message_id, revision):
        row = _row(namespace, number, replace(exchange, message_id=message_id), digest, now)
        if conn.execute(_APPEND, row).fetchone() is not None:
            return AppendedExchange(id=number, message_id=message_id, known=False)
        known = conn.execute(_KNOWN, (namespace, message_id)).fetchone()
        if known is not None and known[1] in {digest, b""}:
            return AppendedExchange(id=known[0], message_id=message_id, known=True)
    return AppendedExchange(id=known[0] if known else number, message_id=revision, known=True)


def _row(namespace: int, number: int, exchange: NamespaceExchange, digest: bytes, now: datetime) -> dict[str, Any]:
    offset = exchange.said.utcoffset() or timedelta()
    return {
        "namespace": namespace, "id": number, "session": exchange.session, "message_id": exchange.message_id,
        "source": exchange.source, "user_name": exchange.user_name, "agent_name": exchange.agent_name,
        "user_input": exchange.user_input, "ai_output": exchange.ai_output, "said": exchange.said,
        "utc_offset_s": int(offset.total_seconds()), "recorded": now, "digest": digest,
        "entities": list(exchange.entities), "held": exchange.held,
    }  # fmt: skip


def unread_exchanges(conn: Connection, namespace: int, limit: int) -> list[LoggedExchange]:
    """Return the first *limit* exchanges that were not read yet, in their order."""
    return [logged_exchange(row) for row in conn.execute(_UNREAD, (namespace, limit))]


def exchanges_before(conn: Connection, namespace: int, session: str, number: int, limit: int) -> list[LoggedExchange]:
    """Return the last *limit* exchanges of *session* before the one with that number, in their order."""
    rows = conn.execute(_BEFORE, (namespace, session, number, limit)).fetchall()
    return [logged_exchange(row) for row in reversed(rows)]


def mark_read(conn: Connection, namespace: int, numbers: Sequence[int]) -> None:
    """Note that these exchanges were read."""
    conn.execute(
        "DELETE FROM agent_memory.pending_messages WHERE namespace = %s AND message = ANY(%s)",
        (namespace, list(numbers)),
    )


def unread_count(conn: Connection, namespace: int) -> int:
    """Return the number of exchanges that were not read yet."""
    found = conn.execute(
        "SELECT count(*) FROM agent_memory.pending_messages WHERE namespace = %s", (namespace,)
    ).fetchone()
    return int(found[0]) if found else 0


def mentions_since(conn: Connection, namespace: int, start: datetime, end: datetime) -> RecentMentions:
    """Return the exchanges after *start* and up to *end*, and which of them name each entity."""
    messages, named = set[int](), dict[str, set[int]]()
    for number, entities in conn.execute(_MENTIONS, (namespace, start, end)):
        messages.add(number)
        for entity in entities:
            named.setdefault(entity, set()).add(number)
    return RecentMentions(messages=frozenset(messages), named=named)


def logged_exchange(row: Sequence[Any]) -> LoggedExchange:
    """Return the exchange of a row of the log."""
    number, session, message_id, source, user_name, agent_name, user_input, ai_output, said, offset_s, entities = row
    return LoggedExchange(
        id=number, session=session, message_id=message_id, source=source, user_name=user_name, agent_name=agent_name,
        user_input=user_input, ai_output=ai_output, said=said.astimezone(timezone(timedelta(seconds=offset_s))),
        entities=tuple(entities),
    )  # fmt: skip


def _digest(exchange: NamespaceExchange) -> bytes:
    said = f"{exchange.source}\0{exchange.user_input}\0{exchange.ai_output}"
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()
