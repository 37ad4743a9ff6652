"""Turn new messages of a namespace into memories. Each message is read once, whoever asks, and however often.

One transaction reads a batch, so a process that is killed leaves it unread. Two processes never work on one namespace
at a time: the second leaves it alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from recall.embedding.embedder import Embedder, Vector
from recall.errors import ModelError
from recall.namespaces.chat_log import LoggedExchange, exchanges_before, mark_read, unread_exchanges
from recall.namespaces.memories import (
    NamespaceMemory,
    NewMemory,
    add_memory,
    add_relationships,
    entities_of,
    entity_counts,
    live_count,
    model_number,
    near_memories,
    restate_memory,
    set_vectors,
    supersede_memory,
    without_vectors,
)
from recall.namespaces.registry import changed, find_namespace, lock_namespace
from recall.namespaces.schema import database
from recall.namespaces.settings import NamespaceSettings
from recall.namespaces.short_term import note_processed
from recall.postgres.connections import Connection

from ..statements.contradiction import Relation
from ..statements.sentences import shorten
from .entities import entities_in
from .filling import fill_short_term
from .relations import ComparedMemory, entity_rarity, relate_memories, relation_strength
from .screening import NamespaceGuard
from .statements import ReadStatement, read_statements

__all__ = ["ProcessedMessages", "process_messages"]

#: Memories that get a missing vector in one run.
_MOST_VECTORS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedMessages:
    """Messages that a run read, and memories that it made.

    Attributes:
        messages: messages that were read.
        added: new memories, and *restated*, statements that were memories already.
        superseded: older memories that a new one replaces.
        held: statements that the guard held back.
        busy: whether another process works on the namespace.
        degraded: what did not work.
    """

    messages: int = 0
    added: int = 0
    restated: int = 0
    superseded: int = 0
    held: int = 0
    busy: bool = False
    degraded: tuple[str, ...] = ()


def process_messages(
    url: str,
    name: str,
    *,
    settings: NamespaceSettings,
    embedder: Embedder | None,
    guard: NamespaceGuard,
    now: datetime,
    most: int = 0,
) -> ProcessedMessages:
    """Read the unread messages of *name*, oldest first, at most *most* of them, or all with 0.

    Raises:
        NoSuchNamespace: there is none.
        GuardRefused: the guard cannot run. The batch stays unread.
        ServerUnavailable: the server does not answer. The batch stays unread.
    """
    done = ProcessedMessages()
    while not most or done.messages < most:
        size = min(settings.batch_messages, most - done.messages) if most else settings.batch_messages
        with database(url) as conn:
            namespace = find_namespace(conn, name)
            if not lock_namespace(conn, namespace, wait=False):
                return replace(done, busy=True)
            exchanges = unread_exchanges(conn, namespace, size)
            batch = _ReadingRun(conn, namespace, settings, embedder, guard, now)
            batch.fill_vectors()
            batch.read(exchanges)
            if exchanges:
                mark_read(conn, namespace, [exchange.id for exchange in exchanges])
                note_processed(
                    conn, namespace, len(exchanges), load=settings.load_messages, every_h=settings.promote_every_h,
                    loaded_h=settings.promote_loaded_h,
                )  # fmt: skip
                fill_short_term(conn, namespace, settings, now)
        done = _together(done, batch.done)
        if not exchanges:
            return done
    return done


class _ReadingRun:
    """The memories of one batch, in one transaction."""

    def __init__(
        self,
        conn: Connection,
        namespace: int,
        settings: NamespaceSettings,
        embedder: Embedder | None,
        guard: NamespaceGuard,
        now: datetime,
    ) -> None:
        self._conn, self._namespace, self._settings, self._now = conn, namespace, settings, now
        self._embedder, self._guard = embedder, guard
        self._model = model_number(conn, embedder)
        self.done = ProcessedMessages()

    def fill_vectors(self) -> None:
        """Embed memories that were stored without a vector, or by another model."""
        if self._model is None:
            return
        missing = without_vectors(self._conn, self._namespace, self._model, _MOST_VECTORS)
        vectors = self._embedded(list(missing.values()))
        if missing and vectors is not None:
            set_vectors(self._conn, self._namespace, self._model, dict(zip(missing, vectors, strict=True)))
            changed(self._conn, self._namespace)

    def read(self, exchanges: Sequence[LoggedExchange]) -> None:
        """Store what *exchanges* say."""
        statements: list[ReadStatement] = []
        for session, group in groupby(sorted(exchanges, key=_session_and_place), key=lambda one: one.session):
            said = list(group)
            before = exchanges_before(
                self._conn, self._namespace, session, said[0].id, self._settings.context_messages
            )  # fmt: skip
            found = read_statements(said, before, settings=self._settings, embedder=self._embedder, now=self._now)
            statements += found
        kept = [clean for statement in statements if (clean := self._screened(statement)) is not None]
        kept.sort(key=lambda statement: statement.messages)
        held = len(statements) - len(kept)
        self.done = replace(self.done, messages=len(exchanges), held=held)
        vectors = self._embedded([statement.text for statement in kept])
        counts, memories = entity_counts(self._conn, self._namespace), live_count(self._conn, self._namespace)
        rarity = entity_rarity(counts, memories + len(kept))
        for place, statement in enumerate(kept):
            self._store(statement, None if vectors is None else vectors[place], rarity)

    def _screened(self, statement: ReadStatement) -> ReadStatement | None:
        text = self._guard.memory(shorten(statement.text, self._settings.summary_chars), statement.source)
        return replace(statement, text=text) if text else None

    def _store(self, statement: ReadStatement, vector: Vector | None, rarity: Mapping[str, float]) -> None:
        """Store a statement, or note that a memory says it already. A memory that it replaces goes out of use."""
        entities = entities_in(statement.text)
        memory = NewMemory(
            session=statement.session, category=statement.category, role=statement.role, source=statement.source,
            summary=statement.text, importance=statement.importance, said=statement.said,
            messages=statement.messages, entities=entities, around=statement.around, vector=vector,
        )  # fmt: skip
        near = near_memories(
            self._conn, self._namespace, vector=vector, model=self._model, entities=entities,
            text=statement.text, limit=self._settings.related_memories,
        )  # fmt: skip
        later = {one.id for one in near if _said_later(one, memory)}
        relations = {one.id: _relation(memory, one, is_later=one.id in later) for one in near}
        same = next((one for one in near if relations[one.id].kind == "same"), None)
        if same is not None:
            restate_memory(self._conn, self._namespace, same.id, memory)
            self.done = replace(self.done, restated=self.done.restated + 1)
            return
        number = add_memory(self._conn, self._namespace, memory, model=self._model, now=self._now)
        replaced = [one for one in near if relations[one.id].kind == "replaced"]
        for one in replaced:
            older, newer = (number, one.id) if one.id in later else (one.id, number)
            supersede_memory(self._conn, self._namespace, older, newer)
        others = [one for one in near if one not in replaced]
        add_relationships(self._conn, self._namespace, number, self._relationships(memory, others, rarity))
        self.done = replace(
            self.done, added=self.done.added + 1, superseded=self.done.superseded + len(replaced)
        )  # fmt: skip

    def _relationships(
        self, memory: NewMemory, others: Sequence[NamespaceMemory], rarity: Mapping[str, float]
    ) -> list[tuple[int, float]]:
        """Return the memories among *others* that are related to *memory*, each with the strength."""
        known = entities_of(self._conn, self._namespace, [one.id for one in others])
        found = []
        for one in others:
            shared = known.get(one.id, frozenset()), memory.entities
            strength = relation_strength(one.summary, memory.summary, shared, rarity, one.cosine)
            if strength >= self._settings.least_relation:
                found.append((one.id, strength))
        return found

    def _embedded(self, texts: Sequence[str]) -> Vector | None:
        """Return the vectors of *texts*, or ``None``. A failing model leaves them to a later run."""
        if self._embedder is None or self._model is None or not texts:
            return None
        try:
            return self._embedder.embed(texts)
        except ModelError as error:
            problem = f"stored without vectors, which a later run makes: {error}"
            self.done = replace(self.done, degraded=tuple(dict.fromkeys((*self.done.degraded, problem))))
            return None


def _session_and_place(exchange: LoggedExchange) -> tuple[str, int]:
    return exchange.session, exchange.id


def _said_later(stored: NamespaceMemory, memory: NewMemory) -> bool:
    """Return whether a stored memory was said after *memory*, whose exchange is read late or once more."""
    return (stored.said, max(stored.messages, default=0)) > (memory.said, max(memory.messages, default=0))


def _relation(memory: NewMemory, stored: NamespaceMemory, *, is_later: bool) -> Relation:
    """Return what the later one of both does to the other one. *is_later* says that it is the stored one."""
    older, newer = (memory, stored) if is_later else (stored, memory)
    return relate_memories(_compared(older), _compared(newer), stored.cosine)


def _compared(memory: NewMemory | NamespaceMemory) -> ComparedMemory:
    return ComparedMemory(
        text=memory.summary, category=memory.category, source=memory.source, session=memory.session, said=memory.said
    )


def _together(first: ProcessedMessages, second: ProcessedMessages) -> ProcessedMessages:
    names = ("messages", "added", "restated", "superseded", "held")
    return replace(
        second, **{name: getattr(first, name) + getattr(second, name) for name in names},
        degraded=tuple(dict.fromkeys((*first.degraded, *second.degraded))),
    )  # fmt: skip
