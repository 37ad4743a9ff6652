"""How much ``MEMORY.md`` may hold, and which entries leave when it holds more: the least fit ones, never the wanted.

A pure function over entries. What may leave is what may leave for its age as well (``SectionRule.leaves``), when no
person protected it and nobody referred to it lately; where nothing of that is left, a section stays over its size and
is named. Moving entries to the archive is the business of ``distill.entries.decay``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from agent_home.documents.entry import Entry, section_of
from agent_home.tokens import count_tokens

__all__ = ["EntryUse", "Eviction", "select_evictions"]

#: What a reference of long ago and a confirmation by git are worth, in days by which an entry counts as younger.
_DAYS_PER_REFERENCE = 30
_MAX_REFERENCES = 3
_DAYS_OF_EVIDENCE = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryUse:
    """How an entry is used: the day from which it is unused, its references so far, and whether one is recent.

    *settled*: it is resolved, or another one superseded it.
    """

    since: date | None
    references: int = 0
    recent: bool = False
    settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """*entries* with the reason why each leaves, the least fit first; *crowded* names what stays over its size."""

    entries: tuple[tuple[Entry, str], ...] = ()
    crowded: tuple[str, ...] = ()


def select_evictions(
    entries: Sequence[Entry],
    use: Mapping[str, EntryUse],
    *,
    sizes: Mapping[str, int],
    memory_tokens: int,
    frame_tokens: int,
) -> Eviction:
    """Which of *entries* have no room.

    Args:
        entries: the live ones that stay otherwise.
        use: of every entry, by its id.
        sizes: how many entries a section may hold, by its prefix.
        memory_tokens: what ``MEMORY.md`` may cost in all; *frame_tokens* of them for headings and other text.
    """
    ranked = sorted((entry for entry in entries if _may_leave(entry, use[entry.id])), key=lambda e: _fitness(e, use))
    held = Counter(entry.prefix for entry in entries)
    spent = frame_tokens + sum(count_tokens(entry.render()) for entry in entries)
    found: list[tuple[Entry, str]] = []
    for entry in ranked:
        size = sizes.get(entry.prefix)
        if size is not None and held[entry.prefix] > size:
            reason = f"its section holds {held[entry.prefix]} entries, wanted {size}"
        elif spent > memory_tokens:
            reason = f"MEMORY.md costs {spent} tokens, wanted {memory_tokens}"
        else:
            continue
        found.append((entry, reason))
        held[entry.prefix] -= 1
        spent -= count_tokens(entry.render())
    crowded = [f"{_title(p)} holds {held[p]} entries, wanted {size}" for p, size in sizes.items() if held[p] > size]
    if spent > memory_tokens:
        crowded.append(f"MEMORY.md costs {spent} tokens, wanted {memory_tokens}")
    return Eviction(entries=tuple(found), crowded=tuple(crowded))


def _may_leave(entry: Entry, use: EntryUse) -> bool:
    rule = section_of(entry.prefix)
    if rule is None or entry.protected or use.recent or use.since is None:
        return False
    return rule.leaves == "any" or (rule.leaves != "never" and use.settled)


def _fitness(entry: Entry, use: Mapping[str, EntryUse]) -> tuple[bool, date, str]:
    """What is settled first, then what is unused for longest; references and evidence make an entry younger."""
    mine = use[entry.id]
    bonus = _DAYS_PER_REFERENCE * min(mine.references, _MAX_REFERENCES)
    bonus += _DAYS_OF_EVIDENCE * entry.fields.get("Evidence", "").startswith("verified")
    return not mine.settled, (mine.since or date.max - timedelta(days=bonus)) + timedelta(days=bonus), entry.id


def _title(prefix: str) -> str:
    rule = section_of(prefix)
    return rule.title if rule else prefix
