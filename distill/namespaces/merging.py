"""Merge memories with a strong relationship into one, and take a merged memory apart again.

A merged memory says all that its parts say, the older one first, and cites the exchanges of all of them. The parts stay
in the database, out of every search. Only statements of one speaker are merged, so that nobody's words become another
one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recall.embedding.embedder import Embedder
from recall.errors import ModelError
from recall.namespaces.errors import NoSuchMemory
from recall.namespaces.memories import (
    NamespaceMemory,
    NewMemory,
    add_relationships,
    entities_of,
    keep_apart,
    memories_with,
    merge_memories,
    model_number,
    relationships_above,
    split_memory,
    strengths_of,
    words_of,
)
from recall.namespaces.registry import changed, find_namespace, lock_namespace
from recall.namespaces.schema import database
from recall.namespaces.settings import NamespaceSettings
from recall.postgres.connections import Connection
from recall.text.identity import identity_key

from ..statements.sentences import split_sentences
from ..statements.standalone import split_speaker
from .filling import fill_short_term
from .screening import NamespaceGuard

__all__ = ["merge_related", "merged_text", "split_merged"]

#: Relationships that are looked at in one run, the strongest first.
_MOST_PAIRS = 1000


def merge_related(
    conn: Connection,
    namespace: int,
    *,
    settings: NamespaceSettings,
    embedder: Embedder | None,
    guard: NamespaceGuard,
    now: datetime,
) -> list[int]:
    """Merge pairs of live memories whose relationship is stronger than the settings say. Return the merged ones.

    The strongest pairs come first, and a memory is merged once in a run. A pair stays apart if different speakers said
    it, if the merged text would be too long, or if the guard holds that text back.
    """
    pairs = relationships_above(conn, namespace, settings.merge_strength)[:_MOST_PAIRS]
    known = memories_with(conn, namespace, {number for pair in pairs for number in (pair.memory, pair.other)})
    taken, made = set[int](), list[int]()
    for pair in pairs:
        if taken & {pair.memory, pair.other}:
            continue
        both = sorted((known[pair.memory], known[pair.other]), key=lambda one: (one.said, one.id))
        text = merged_text(both[0].summary, both[1].summary)
        if not _may_merge(both, text, settings) or guard.memory(text, both[0].source) != text:
            continue
        made.append(_merged(conn, namespace, both, text, embedder, now))
        taken |= {pair.memory, pair.other}
    return made


def split_merged(url: str, name: str, memory: int, *, settings: NamespaceSettings, now: datetime) -> list[int]:
    """Take the merged memory apart, and return the numbers of its parts. They are not merged again.

    Raises:
        NoSuchNamespace: there is none.
        NoSuchMemory: the namespace has no merged memory of that number.
    """
    with database(url) as conn:
        namespace = find_namespace(conn, name)
        lock_namespace(conn, namespace, wait=True)
        parts = split_memory(conn, namespace, memory)
        if not parts:
            raise NoSuchMemory(name, memory)
        keep_apart(conn, namespace, parts)
        fill_short_term(conn, namespace, settings, now)
        changed(conn, namespace)
    return parts


def merged_text(older: str, newer: str) -> str:
    """Return a text that says what both say, with the speaker once and no sentence twice.

    >>> merged_text("Ann: I prefer Flask.", "Ann: FastAPI is too much for me. I prefer Flask.")
    'Ann: I prefer Flask. FastAPI is too much for me.'
    """
    _, first = split_speaker(older)
    _, second = split_speaker(newer)
    said = {identity_key(sentence) for sentence in split_sentences(first)}
    added = [sentence for sentence in split_sentences(second) if identity_key(sentence) not in said]
    return " ".join([_ended(older) if added else older, *added])


def _ended(text: str) -> str:
    """Return *text* as a sentence behind which another one may stand."""
    return text if not text[-1:].isalnum() else f"{text}."


def _may_merge(both: Sequence[NamespaceMemory], text: str, settings: NamespaceSettings) -> bool:
    first, second = both
    one_speaker = first.role == second.role and first.source == second.source and _head(first) == _head(second)
    parts = sum(max(1, len(one.parts)) for one in both)
    return one_speaker and parts <= settings.merge_parts and len(text) <= settings.summary_chars


def _head(memory: NamespaceMemory) -> str:
    return memory.summary[: len(memory.summary) - len(split_speaker(memory.summary)[1])]


def _merged(
    conn: Connection,
    namespace: int,
    both: Sequence[NamespaceMemory],
    text: str,
    embedder: Embedder | None,
    now: datetime,
) -> int:
    """Store the memory that takes the place of *both*, related to what they were related to."""
    leading = max(both, key=lambda one: (one.importance, one.said))
    numbers = [one.id for one in both]
    entities = entities_of(conn, namespace, numbers)
    strengths = strengths_of(conn, namespace, numbers)
    model = model_number(conn, embedder)
    vector = None
    if embedder is not None and model is not None:
        try:
            vector = embedder.embed([text])[0]
        except ModelError:
            vector = None  # a later run makes it
    merged = NewMemory(
        session=leading.session, category=leading.category, role=leading.role, source=leading.source, summary=text,
        importance=leading.importance, said=max(one.said for one in both),
        messages=tuple(sorted({number for one in both for number in one.messages})),
        entities=tuple(sorted({entity for one in numbers for entity in entities.get(one, ())})),
        parts=tuple(sorted(part for one in both for part in (one.parts or (one.id,)))),
        around=tuple(words_of(conn, namespace, numbers)), vector=vector,
    )  # fmt: skip
    number = merge_memories(conn, namespace, merged, model=model, now=now)
    shares = [(other, sum(found) / len(both)) for other, found in strengths.items() if other not in numbers]
    add_relationships(conn, namespace, number, shares)
    return number
