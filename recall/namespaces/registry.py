"""Own which namespaces there are, who may read whose memories, and whose turn it is to be promoted.

A namespace reads its own memories, and those of the namespaces that shared theirs with it. Sharing is explicit, in one
direction, and does not go on: what A shares with B, B cannot share with C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from ..postgres.connections import Connection
from ..postgres.storable_text import storable_text
from .errors import NamespaceRefused, NoSuchNamespace
from .names import appearance, checked_name

__all__ = [
    "DueNamespace",
    "NamespaceCounts",
    "ReadableNamespace",
    "changed",
    "count_rows",
    "delete_namespace",
    "due_namespaces",
    "ensure_namespace",
    "find_namespace",
    "lock_namespace",
    "namespace_names",
    "readable_namespaces",
    "shared_with",
    "start_sharing",
    "stop_sharing",
]

_FIND: LiteralString = "SELECT id FROM agent_memory.namespaces WHERE name = %s"
#: A deletion that runs is waited for, and one that begins later waits.
_HOLD: LiteralString = _FIND + " FOR KEY SHARE"
_LOOKS: LiteralString = "SELECT name FROM agent_memory.namespaces WHERE appearance = %s"
_MAKE: LiteralString = """
INSERT INTO agent_memory.namespaces(name, appearance, made) VALUES(%s, %s, %s) ON CONFLICT DO NOTHING RETURNING id
"""
#: Other statements that refer to the row go on meanwhile: they lock its key alone.
_LOCK: LiteralString = "SELECT id FROM agent_memory.namespaces WHERE id = %s FOR NO KEY UPDATE"
_READABLE: LiteralString = """
SELECT n.id, n.name, n.version FROM agent_memory.namespaces n WHERE n.id = %(id)s
UNION ALL
(SELECT n.id, n.name, n.version FROM agent_memory.shares s JOIN agent_memory.namespaces n ON n.id = s.owner
 WHERE s.reader = %(id)s ORDER BY n.name)
"""
_SHARED: LiteralString = """
SELECT n.name, s.reader = %(id)s FROM agent_memory.shares s
JOIN agent_memory.namespaces n ON n.id = CASE WHEN s.reader = %(id)s THEN s.owner ELSE s.reader END
WHERE s.reader = %(id)s OR s.owner = %(id)s ORDER BY n.name
"""
_START_SHARING: LiteralString = """
INSERT INTO agent_memory.shares(reader, owner, made) VALUES(%s, %s, %s) ON CONFLICT DO NOTHING RETURNING owner
"""
#: Messages of the log may still have to be read, and a promotion may be due. The longest waiting come first.
_DUE: LiteralString = """
SELECT n.name, TRUE, FALSE FROM agent_memory.namespaces n
JOIN (SELECT namespace, min(message) AS first FROM agent_memory.pending_messages GROUP BY namespace
      ORDER BY first LIMIT %(most)s) p ON p.namespace = n.id
UNION ALL
(SELECT n.name, FALSE, TRUE FROM agent_memory.namespaces n WHERE n.promote_after <= %(now)s
 ORDER BY n.promote_after LIMIT %(most)s)
"""
_COUNTS: LiteralString = """
SELECT
    (SELECT count(*) FROM agent_memory.chat_history WHERE namespace = %(id)s),
    (SELECT count(*) FROM agent_memory.chat_history WHERE namespace = %(id)s AND held <> ''),
    (SELECT count(*) FROM agent_memory.pending_messages WHERE namespace = %(id)s),
    (SELECT count(*) FROM agent_memory.long_term_memory
     WHERE namespace = %(id)s AND superseded_by IS NULL AND merged_into IS NULL),
    (SELECT count(*) FROM agent_memory.long_term_memory WHERE namespace = %(id)s AND retention_type = 'archived'
     AND superseded_by IS NULL AND merged_into IS NULL),
    (SELECT count(*) FROM agent_memory.long_term_memory WHERE namespace = %(id)s AND parts IS NOT NULL),
    (SELECT count(*) FROM agent_memory.long_term_memory WHERE namespace = %(id)s AND superseded_by IS NOT NULL),
    (SELECT count(*) FROM agent_memory.short_term_memory WHERE namespace = %(id)s AND expires_at > %(now)s),
    (SELECT count(DISTINCT entity) FROM agent_memory.memory_entities WHERE namespace = %(id)s),
    (SELECT count(*) FROM agent_memory.memory_relationships WHERE namespace = %(id)s),
    (SELECT count(*) FROM agent_memory.long_term_memory WHERE namespace = %(id)s AND embedding IS NULL),
    promoted, promote_after FROM agent_memory.namespaces WHERE id = %(id)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableNamespace:
    """A namespace that another one reads, or itself. *version* changes with its memories."""

    id: int
    name: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNamespace:
    """A namespace with messages that are not read yet (*unread*), or with a promotion that is due."""

    name: str
    unread: bool
    promotion: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceCounts:
    """Numbers of rows of a namespace. *memories* are those in force, *archived* and *merged* ones included.

    *reads* and *read_by* are names of namespaces. *promoted* and *promote_after* are times, or ``None``.
    """

    name: str
    messages: int
    held: int
    pending: int
    memories: int
    archived: int
    merged: int
    superseded: int
    short_term: int
    entities: int
    relationships: int
    without_vector: int
    promoted: datetime | None
    promote_after: datetime | None
    reads: tuple[str, ...]
    read_by: tuple[str, ...]


def find_namespace(conn: Connection, name: str) -> int:
    """Return the number of the namespace *name*.

    Raises:
        NoSuchNamespace: there is none.
    """
    found = conn.execute(_FIND, (storable_text(name),)).fetchone()
    if found is None:
        raise NoSuchNamespace(name)
    return int(found[0])


def ensure_namespace(conn: Connection, name: str, now: datetime) -> int:
    """Return the number of the namespace *name*, which is made where it lacks and stays until the transaction ends.

    Raises:
        NamespaceRefused: it may not be called so, or one that looks the same is there.
    """
    looks = appearance(checked_name(name))
    while True:  # another process may make or delete it between two statements
        found = conn.execute(_HOLD, (name,)).fetchone() or conn.execute(_MAKE, (name, looks, now)).fetchone()
        if found is not None:
            return int(found[0])
        other = conn.execute(_LOOKS, (looks,)).fetchone()
        if other is not None and other[0] != name:
            raise NamespaceRefused(f"a namespace whose name looks like {name!a} is there already. Choose another name")


def lock_namespace(conn: Connection, namespace: int, *, wait: bool) -> bool:
    """Lock the namespace for a change of its memories, until the transaction ends. Messages are recorded meanwhile.

    Return ``False`` when it was deleted, or without *wait* when another process has it.
    """
    statement: LiteralString = _LOCK if wait else _LOCK + " SKIP LOCKED"
    return conn.execute(statement, (namespace,)).fetchone() is not None


def changed(conn: Connection, namespace: int) -> None:
    """Note that the memories of *namespace* changed, so that no earlier answer is given again."""
    conn.execute("UPDATE agent_memory.namespaces SET version = version + 1 WHERE id = %s", (namespace,))


def readable_namespaces(conn: Connection, namespace: int) -> list[ReadableNamespace]:
    """Return the namespaces whose memories *namespace* reads: itself first, then those shared with it, by name."""
    rows = conn.execute(_READABLE, {"id": namespace})
    return [ReadableNamespace(id=number, name=name, version=version) for number, name, version in rows]


def start_sharing(conn: Connection, owner: int, reader: int, now: datetime) -> bool:
    """Let the namespace *reader* read the memories of *owner*. Return ``False`` if it did already.

    Raises:
        NamespaceRefused: both are one namespace.
    """
    if owner == reader:
        raise NamespaceRefused("a namespace reads its own memories already. Name another one to share them with")
    return conn.execute(_START_SHARING, (reader, owner, now)).fetchone() is not None


def stop_sharing(conn: Connection, owner: int, reader: int) -> bool:
    """Let the namespace *reader* read the memories of *owner* no more. Return ``False`` if it did not."""
    gone = conn.execute("DELETE FROM agent_memory.shares WHERE owner = %s AND reader = %s", (owner, reader))
    return gone.rowcount > 0


def shared_with(conn: Connection, namespace: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of those whose memories *namespace* reads, and of those who read its own."""
    rows = conn.execute(_SHARED, {"id": namespace}).fetchall()
    return tuple(name for name, reads in rows if reads), tuple(name for name, reads in rows if not reads)


def delete_namespace(conn: Connection, namespace: int) -> bool:
    """Delete the namespace with everything of it. Return ``False`` if it was gone."""
    return conn.execute("DELETE FROM agent_memory.namespaces WHERE id = %s", (namespace,)).rowcount > 0


def namespace_names(conn: Connection, *, prefix: str = "", after: str = "", limit: int = 1000) -> list[str]:
    """Return at most *limit* names of namespaces that begin with *prefix* and stand behind *after*, in order."""
    rows = conn.execute(
        "SELECT name FROM agent_memory.namespaces WHERE name >= %(prefix)s AND starts_with(name, %(prefix)s) "
        "AND name > %(after)s ORDER BY name LIMIT %(limit)s",
        {"prefix": storable_text(prefix), "after": storable_text(after), "limit": limit},
    )
    return [name for (name,) in rows]


def due_namespaces(conn: Connection, now: datetime, *, most: int) -> Sequence[DueNamespace]:
    """Return up to *most* namespaces with unread messages, and up to *most* with a promotion that is due."""
    rows = conn.execute(_DUE, {"now": now, "most": most}).fetchall()
    names = dict.fromkeys(name for name, _, _ in rows)
    unread, late = ({row[0] for row in rows if row[place]} for place in (1, 2))
    return [DueNamespace(name=name, unread=name in unread, promotion=name in late) for name in names]


def count_rows(conn: Connection, namespace: int, name: str, now: datetime) -> NamespaceCounts:
    """Return the numbers of rows of *namespace*.

    Raises:
        NoSuchNamespace: it was deleted.
    """
    row: tuple[Any, ...] | None = conn.execute(_COUNTS, {"id": namespace, "now": now}).fetchone()
    if row is None:
        raise NoSuchNamespace(name)
    reads, read_by = shared_with(conn, namespace)
    names = ("messages", "held", "pending", "memories", "archived", "merged", "superseded", "short_term", "entities",
             "relationships", "without_vector", "promoted", "promote_after")  # fmt: skip
    return NamespaceCounts(name=name, reads=reads, read_by=read_by, **dict(zip(names, row, strict=True)))
