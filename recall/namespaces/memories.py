"""Own the rows of long-term memory: statements with their words, vectors, entities, relationships and sources.

A memory is *live* when no other one superseded it and no merged one holds it. Searches find live memories. A merged
memory keeps its parts, so that it can be taken apart again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray

from ..embedding.embedder import Embedder, Vector
from ..postgres.connections import Connection
from .schema import DIMENSION
from .words import all_words, word_vector

__all__ = [
    "NamespaceMemory",
    "NewMemory",
    "StoredRelationship",
    "add_memory",
    "add_relationships",
    "archive_memories",
    "delete_memories",
    "entities_of",
    "entity_counts",
    "keep_apart",
    "leave_short_term",
    "live_count",
    "memories_of_messages",
    "memories_with",
    "merge_memories",
    "model_number",
    "near_memories",
    "relationships_above",
    "restate_memory",
    "set_vectors",
    "split_memory",
    "strengths_of",
    "supersede_memory",
    "vector_text",
    "vectors_of",
    "without_vectors",
    "words_of",
]

_MODEL: LiteralString = """
WITH known AS (SELECT id FROM agent_memory.embedding_models WHERE fingerprint = %(print)s),
made AS (
    INSERT INTO agent_memory.embedding_models(fingerprint) SELECT %(print)s WHERE NOT EXISTS (SELECT FROM known)
    ON CONFLICT DO NOTHING RETURNING id
)
SELECT id FROM known UNION ALL SELECT id FROM made
"""
_ADD: LiteralString = """
INSERT INTO agent_memory.long_term_memory(
    namespace, session, category, role, source, summary, words, importance, said, made, messages, parts, model,
    embedding)
VALUES(%(namespace)s, %(session)s, %(category)s, %(role)s, %(source)s, %(summary)s, %(words)s::tsvector,
       %(importance)s, %(said)s, %(made)s, %(messages)s, %(parts)s, %(model)s, %(embedding)s::halfvec)
RETURNING id
"""
_ADD_ENTITIES: LiteralString = """
INSERT INTO agent_memory.memory_entities(namespace, entity, memory) SELECT %s, unnest(%s::text[]), %s
ON CONFLICT DO NOTHING
"""
_COLUMNS: LiteralString = """
m.id, m.session, m.category, m.role, m.source, m.summary, m.importance, m.retention_type, m.said, m.messages,
m.parts, m.merged_into
"""
#: A memory that nothing superseded and that is not made of others. It may be part of a merged one.
_OWN: LiteralString = "m.namespace = %(namespace)s AND m.superseded_by IS NULL AND m.parts IS NULL"
_LIVE: LiteralString = "m.namespace = %(namespace)s AND m.superseded_by IS NULL AND m.merged_into IS NULL"
#: Vectors are of length 1, so the inner product is the cosine.
_NEAR: LiteralString = f"""
SELECT {_COLUMNS}, -(m.embedding <#> %(vector)s::halfvec) FROM agent_memory.long_term_memory m
WHERE {_OWN} AND m.model = %(model)s ORDER BY m.embedding <#> %(vector)s::halfvec, m.id LIMIT %(limit)s
"""
_SHARING: LiteralString = f"""
SELECT {_COLUMNS}, NULL FROM agent_memory.long_term_memory m JOIN (
    SELECT memory, count(*) AS shared FROM agent_memory.memory_entities
    WHERE namespace = %(namespace)s AND entity = ANY(%(entities)s) GROUP BY memory
) e ON e.memory = m.id
WHERE {_OWN} ORDER BY e.shared DESC, m.id DESC LIMIT %(limit)s
"""
_WORDED: LiteralString = f"""
SELECT {_COLUMNS}, NULL FROM agent_memory.long_term_memory m
WHERE {_OWN} AND m.words @@ %(words)s::tsquery ORDER BY m.id DESC LIMIT %(limit)s
"""
_RESTATE: LiteralString = """
UPDATE agent_memory.long_term_memory SET
    said = greatest(said, %(said)s), importance = greatest(importance, %(importance)s), retention_type = 'long_term',
    messages = ARRAY(SELECT DISTINCT n FROM unnest(messages || %(messages)s::bigint[]) n ORDER BY n)
WHERE namespace = %(namespace)s AND (id = %(id)s OR id = (
    SELECT merged_into FROM agent_memory.long_term_memory WHERE namespace = %(namespace)s AND id = %(id)s))
"""
_ENTITIES: LiteralString = """
SELECT memory, array_agg(entity ORDER BY entity) FROM agent_memory.memory_entities
WHERE namespace = %s AND memory = ANY(%s) GROUP BY memory
"""
_COUNTS: LiteralString = """
SELECT entity, count(*) FROM agent_memory.memory_entities WHERE namespace = %s GROUP BY entity
"""
_RELATIONSHIPS: LiteralString = """
SELECT r.memory, r.other, r.strength FROM agent_memory.memory_relationships r
JOIN agent_memory.long_term_memory a ON a.namespace = r.namespace AND a.id = r.memory
JOIN agent_memory.long_term_memory b ON b.namespace = r.namespace AND b.id = r.other
WHERE r.namespace = %s AND r.strength > %s
  AND a.superseded_by IS NULL AND a.merged_into IS NULL AND a.retention_type = 'long_term'
  AND b.superseded_by IS NULL AND b.merged_into IS NULL AND b.retention_type = 'long_term'
ORDER BY r.strength DESC, r.memory, r.other
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory before it is stored.

    Attributes:
        category: the kind of statement, such as ``fact`` or ``preference``.
        role: who said it, ``user`` or ``assistant``.
        source: the author for the guard.
        importance: 0 to 1.
        messages: numbers of the exchanges that it was read from.
        parts: numbers of the memories that a merged one holds.
        around: stems of words that stood around the statement (:func:`recall.namespaces.words.context_words`).
        vector: of length 1, or ``None`` where no model was at hand.
    """

    session: str
    category: str
    role: str
    source: str
    summary: str
    importance: float
    said: datetime
    messages: tuple[int, ...]
    entities: tuple[str, ...] = ()
    parts: tuple[int, ...] = ()
    around: tuple[str, ...] = ()
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceMemory:
    """A stored memory. *cosine* is to the vector that was looked for, if one was. See :class:`NewMemory`."""

    id: int
    session: str
    category: str
    role: str
    source: str
    summary: str
    importance: float
    retention_type: str
    said: datetime
    messages: tuple[int, ...]
    parts: tuple[int, ...]
    merged_into: int | None
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRelationship:
    """The strength, 0 to 1, of the relationship of two memories. *memory* is the older one."""

    memory: int
    other: int
    strength: float


def model_number(conn: Connection, embedder: Embedder | None) -> int | None:
    """Return the number under which the vectors of *embedder* are kept, or ``None`` for a model of other vectors."""
    if embedder is None or embedder.dimension != DIMENSION:
        return None
    found = conn.execute(_MODEL, {"print": embedder.fingerprint}).fetchone()
    found = found or conn.execute(_MODEL, {"print": embedder.fingerprint}).fetchone()  # made by another process
    return int(found[0]) if found else None


def add_memory(conn: Connection, namespace: int, memory: NewMemory, *, model: int | None, now: datetime) -> int:
    """Store *memory* with its entities, and return its number."""
    has_vector = memory.vector is not None and model is not None
    row: dict[str, Any] = {
        "namespace": namespace, "session": memory.session, "category": memory.category, "role": memory.role,
        "source": memory.source, "summary": memory.summary, "words": word_vector(memory.summary, memory.around),
        "importance": memory.importance, "said": memory.said, "made": now, "messages": list(memory.messages),
        "parts": list(memory.parts) or None, "model": model if has_vector else None,
        "embedding": vector_text(memory.vector) if memory.vector is not None and has_vector else None,
    }  # fmt: skip
    added = conn.execute(_ADD, row).fetchone()
    assert added is not None  # noqa: S101 - INSERT ... RETURNING gives a row
    if memory.entities:
        conn.execute(_ADD_ENTITIES, (namespace, list(memory.entities), added[0]))
    return int(added[0])


def near_memories(
    conn: Connection,
    namespace: int,
    *,
    vector: Vector | None,
    model: int | None,
    entities: Collection[str],
    text: str,
    limit: int,
) -> list[NamespaceMemory]:
    """Return memories that may say the same as a new one, none twice.

    They are the *limit* nearest by vector, as many that share most *entities*, and as many that have all words of
    *text*. Superseded and merged memories are left out, and the parts of merged ones are not.
    """
    given: dict[str, Any] = {"namespace": namespace, "limit": limit}
    found: dict[int, NamespaceMemory] = {}
    if vector is not None and model is not None:
        rows = conn.execute(_NEAR, {**given, "vector": vector_text(vector), "model": model})
        found |= {row[0]: _stored(row) for row in rows}
    if entities:
        for row in conn.execute(_SHARING, {**given, "entities": list(entities)}):
            found.setdefault(row[0], _stored(row))
    if words := all_words(text):
        for row in conn.execute(_WORDED, {**given, "words": words}):
            found.setdefault(row[0], _stored(row))
    return list(found.values())


def restate_memory(conn: Connection, namespace: int, memory: int, again: NewMemory) -> None:
    """Note that a memory was said *again*: it is younger now, has more sources, and is no longer archived."""
    conn.execute(
        _RESTATE,
        {"namespace": namespace, "id": memory, "said": again.said, "importance": again.importance,
         "messages": list(again.messages)},
    )  # fmt: skip


def supersede_memory(conn: Connection, namespace: int, older: int, newer: int) -> None:
    """Note that *newer* replaces *older*, which no search finds any more. A merged memory with it falls apart."""
    part = conn.execute(
        "SELECT merged_into FROM agent_memory.long_term_memory WHERE namespace = %s AND id = %s", (namespace, older)
    ).fetchone()
    if part is not None and part[0] is not None:
        split_memory(conn, namespace, part[0])
    conn.execute(
        "UPDATE agent_memory.long_term_memory SET superseded_by = %s WHERE namespace = %s AND id = %s",
        (newer, namespace, older),
    )
    leave_short_term(conn, namespace, [older])


def add_relationships(conn: Connection, namespace: int, memory: int, others: Iterable[tuple[int, float]]) -> None:
    """Store the strength of the relationships of *memory* to *others*, given as ``(memory, strength)``."""
    for other, strength in others:
        first, second = sorted((memory, other))
        conn.execute(
            "INSERT INTO agent_memory.memory_relationships(namespace, memory, other, strength) VALUES(%s, %s, %s, %s) "
            "ON CONFLICT (namespace, memory, other) DO UPDATE SET strength = excluded.strength",
            (namespace, first, second, strength),
        )


def relationships_above(conn: Connection, namespace: int, strength: float) -> list[StoredRelationship]:
    """Return the relationships of live memories above *strength*, strongest first. Archived memories have none."""
    rows = conn.execute(_RELATIONSHIPS, (namespace, strength))
    return [StoredRelationship(memory=memory, other=other, strength=found) for memory, other, found in rows]


def words_of(conn: Connection, namespace: int, numbers: Collection[int]) -> list[str]:
    """Return the stems of memories, with those around them, each once."""
    rows = conn.execute(
        "SELECT DISTINCT unnest(tsvector_to_array(words)) FROM agent_memory.long_term_memory "
        "WHERE namespace = %s AND id = ANY(%s) ORDER BY 1",
        (namespace, list(numbers)),
    )
    return [word for (word,) in rows]


def strengths_of(conn: Connection, namespace: int, numbers: Collection[int]) -> dict[int, list[float]]:
    """Return the strengths of the relationships of *numbers*, by the memory that each of them is related to."""
    rows = conn.execute(
        "SELECT CASE WHEN memory = ANY(%(numbers)s) THEN other ELSE memory END, strength "
        "FROM agent_memory.memory_relationships "
        "WHERE namespace = %(namespace)s AND (memory = ANY(%(numbers)s) OR other = ANY(%(numbers)s))",
        {"namespace": namespace, "numbers": list(numbers)},
    )
    found: dict[int, list[float]] = {}
    for other, strength in rows:
        found.setdefault(other, []).append(strength)
    return found


def merge_memories(conn: Connection, namespace: int, merged: NewMemory, *, model: int | None, now: datetime) -> int:
    """Store *merged* in place of its parts, which stay and are found no more. Return its number.

    No part may be a merged memory itself. Those that held one of the parts before are gone.
    """
    conn.execute(
        "DELETE FROM agent_memory.long_term_memory WHERE namespace = %(namespace)s AND id IN ("
        "SELECT merged_into FROM agent_memory.long_term_memory "
        "WHERE namespace = %(namespace)s AND id = ANY(%(parts)s))",
        {"namespace": namespace, "parts": list(merged.parts)},
    )
    number = add_memory(conn, namespace, merged, model=model, now=now)
    conn.execute(
        "UPDATE agent_memory.long_term_memory SET merged_into = %s WHERE namespace = %s AND id = ANY(%s)",
        (number, namespace, list(merged.parts)),
    )
    leave_short_term(conn, namespace, merged.parts)
    return number


def split_memory(conn: Connection, namespace: int, merged: int) -> list[int]:
    """Take a merged memory apart, and return the numbers of its parts, which are found again."""
    parts = conn.execute(
        "UPDATE agent_memory.long_term_memory SET merged_into = NULL WHERE namespace = %s AND merged_into = %s "
        "RETURNING id",
        (namespace, merged),
    ).fetchall()
    if parts:
        delete_memories(conn, namespace, [merged])
    return sorted(number for (number,) in parts)


def keep_apart(conn: Connection, namespace: int, numbers: Collection[int]) -> None:
    """Forget that memories are related to each other, so that they are not merged again."""
    conn.execute(
        "DELETE FROM agent_memory.memory_relationships "
        "WHERE namespace = %(namespace)s AND memory = ANY(%(numbers)s) AND other = ANY(%(numbers)s)",
        {"namespace": namespace, "numbers": list(numbers)},
    )


def delete_memories(conn: Connection, namespace: int, numbers: Collection[int]) -> int:
    """Delete memories with their entities and relationships. Return how many there were."""
    gone = conn.execute(
        "DELETE FROM agent_memory.long_term_memory WHERE namespace = %s AND id = ANY(%s)", (namespace, list(numbers))
    )
    return gone.rowcount


def archive_memories(conn: Connection, namespace: int, numbers: Collection[int]) -> None:
    """Move memories out of short-term memory, and mark them as archived. They are found, and not promoted again."""
    conn.execute(
        "UPDATE agent_memory.long_term_memory SET retention_type = 'archived' WHERE namespace = %s AND id = ANY(%s)",
        (namespace, list(numbers)),
    )
    leave_short_term(conn, namespace, numbers)


def memories_with(conn: Connection, namespace: int, numbers: Collection[int]) -> dict[int, NamespaceMemory]:
    """Return the memories with these numbers, by number."""
    rows = conn.execute(
        f"SELECT {_COLUMNS}, NULL FROM agent_memory.long_term_memory m WHERE m.namespace = %s AND m.id = ANY(%s)",
        (namespace, list(numbers)),
    )
    return {row[0]: _stored(row) for row in rows}


def memories_of_messages(conn: Connection, namespace: int, messages: Collection[int]) -> list[NamespaceMemory]:
    """Return every memory that was read from one of *messages*, superseded and merged ones included."""
    rows = conn.execute(
        f"SELECT {_COLUMNS}, NULL FROM agent_memory.long_term_memory m "
        "WHERE m.namespace = %s AND m.messages && %s::bigint[] ORDER BY m.id",
        (namespace, list(messages)),
    )
    return [_stored(row) for row in rows]


def entities_of(conn: Connection, namespace: int, numbers: Collection[int]) -> dict[int, frozenset[str]]:
    """Return the entities of memories, by number. One without entities is left out."""
    rows = conn.execute(_ENTITIES, (namespace, list(numbers)))
    return {number: frozenset(entities) for number, entities in rows}


def entity_counts(conn: Connection, namespace: int) -> dict[str, int]:
    """Return how many memories have each entity."""
    return dict(conn.execute(_COUNTS, (namespace,)).fetchall())


def live_count(conn: Connection, namespace: int) -> int:
    """Return the number of live memories."""
    found = conn.execute(
        f"SELECT count(*) FROM agent_memory.long_term_memory m WHERE {_LIVE}", {"namespace": namespace}
    ).fetchone()
    return int(found[0]) if found else 0


def without_vectors(conn: Connection, namespace: int, model: int, limit: int) -> dict[int, str]:
    """Return the summaries of up to *limit* memories that have no vector of *model*, by number."""
    rows = conn.execute(
        "SELECT id, summary FROM agent_memory.long_term_memory "
        "WHERE namespace = %s AND model IS DISTINCT FROM %s ORDER BY id LIMIT %s",
        (namespace, model, limit),
    )
    return dict(rows.fetchall())


def set_vectors(conn: Connection, namespace: int, model: int, vectors: Mapping[int, Vector]) -> None:
    """Store the vectors of memories, by number."""
    for number, vector in vectors.items():
        conn.execute(
            "UPDATE agent_memory.long_term_memory SET model = %s, embedding = %s::halfvec "
            "WHERE namespace = %s AND id = %s",
            (model, vector_text(vector), namespace, number),
        )


def vectors_of(conn: Connection, namespace: int, numbers: Collection[int]) -> dict[int, NDArray[np.float32]]:
    """Return the vectors of memories, by number, those of the latest model. One without such a vector is left out."""
    rows = conn.execute(
        "WITH found AS (SELECT id, model, embedding FROM agent_memory.long_term_memory "
        "WHERE namespace = %s AND id = ANY(%s) AND embedding IS NOT NULL) "
        "SELECT id, halfvec_send(embedding) FROM found WHERE model = (SELECT max(model) FROM found)",
        (namespace, list(numbers)),
    )
    # Two numbers of two bytes stand before those of the vector.
    return {number: np.frombuffer(sent, ">f2", offset=4).astype(np.float32) for number, sent in rows}


def vector_text(vector: NDArray[np.float32]) -> str:
    """Return *vector* as a literal of pgvector.

    >>> vector_text(np.array([0.5, -1.0], np.float32))
    '[0.5,-1]'
    """
    return f"[{','.join(format(float(value), '.5g') for value in vector)}]"


def leave_short_term(conn: Connection, namespace: int, numbers: Collection[int]) -> None:
    """Take memories out of short-term memory. They stay what they are."""
    conn.execute(
        "DELETE FROM agent_memory.short_term_memory WHERE namespace = %s AND memory = ANY(%s)",
        (namespace, list(numbers)),
    )


def _stored(row: Sequence[Any]) -> NamespaceMemory:
    (number, session, category, role, source, summary, importance, retention, said, messages, parts, merged_into,
     cosine) = row  # fmt: skip
    return NamespaceMemory(
        id=number, session=session, category=category, role=role, source=source, summary=summary,
        importance=importance, retention_type=retention, said=said, messages=tuple(messages),
        parts=tuple(parts or ()), merged_into=merged_into, cosine=cosine,
    )  # fmt: skip
