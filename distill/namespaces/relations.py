"""Own how two memories are related: by what they say, and by how much both are about the same.

What they say is read as for the entries of a home (``distill.entries.consolidation``): the same, a replacement, or
something else. The strength of the relationship of all others is the geometric mean of two shares, so that both must be
large: the share of common entities, rare ones counting more, and the likeness of the whole statements.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from agent_home.documents.entry import Entry, new_id
from recall.namespaces.words import words_in

from ..entries.consolidation import relate_entries
from ..entries.promotion import PREFIXES
from ..reading.labels import KINDS, ItemKind
from ..statements.contradiction import Relation
from ..statements.standalone import split_speaker
from .entities import shared_weight

__all__ = ["ComparedMemory", "entity_rarity", "relate_memories", "relation_strength"]

#: The section of an entry of each other kind.
_OTHER_PREFIX = "RC"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedMemory:
    """Fields of a memory that is compared with another one."""

    text: str
    category: str
    source: str
    session: str
    said: datetime


def relate_memories(older: ComparedMemory, newer: ComparedMemory, cosine: float | None) -> Relation:
    """Return what *newer* does to *older*. An agent's words replace no user's, and nobody speaks for another one."""
    return relate_entries(_entry(older), _entry(newer), cosine=cosine)


def relation_strength(
    first: str,
    second: str,
    shared: tuple[Collection[str], Collection[str]],
    rarity: Mapping[str, float],
    cosine: float | None,
) -> float:
    """Return the strength of the relationship of two statements, 0 to 1.

    Args:
        first: a statement.
        second: the other one.
        shared: the entities of each of them.
        rarity: of entities, 0 to 1.
        cosine: of their vectors. Without it their words are compared.
    """
    mine, theirs = set(shared[0]), set(shared[1])
    common, all_of_them = shared_weight(mine & theirs, rarity), shared_weight(mine | theirs, rarity)
    if not common or not all_of_them:
        return 0.0
    likeness = _word_likeness(first, second) if cosine is None else cosine
    return math.sqrt(min(1.0, common / all_of_them) * min(1.0, max(0.0, likeness)))


def entity_rarity(counts: Mapping[str, int], memories: int) -> dict[str, float]:
    """Return the rarity of each entity, 0 to 1: 1 for one that stands once, 0 for one that stands everywhere."""
    whole = math.log(max(2, memories) + 1)
    return {entity: max(0.0, 1 - math.log(max(1, count)) / whole) for entity, count in counts.items()}


def _word_likeness(first: str, second: str) -> float:
    mine, theirs = (set(words_in(split_speaker(text)[1])) for text in (first, second))
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0


def _entry(memory: ComparedMemory) -> Entry:
    kind: ItemKind = next((kind for kind in KINDS if kind == memory.category), "fact")
    prefix = PREFIXES.get(kind) or _OTHER_PREFIX
    session = hashlib.blake2b(memory.session.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return Entry(
        id=new_id(prefix, memory.text, ()), date=f"{memory.said:%Y-%m-%d}", title=memory.text,
        fields={"Sources": f"{session}#m", "Origin": memory.source},
    )  # fmt: skip
