"""Eviction: which entries leave ``MEMORY.md`` when it, or one of its sections, is over its size limit.

A pure function over entries. An entry may leave if its section lets it age out (``SectionRule.leaves``), no person
protected it, it is no lasting fact about the user, and no recent reference names it. The least useful entries leave
first. A section without such an entry stays over its limit and is reported. ``distill.entries.decay`` moves the entries
to the archive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from agent_home.documents.entry import Entry, section_of
from agent_home.tokens import count_tokens

__all__ = ["EntryUse", "Eviction", "select_evictions"]

#: Days by which one old reference, and a confirmation by git, make an entry count as younger.
_DAYS_PER_REFERENCE = 30
_MAX_REFERENCES = 3
_DAYS_OF_EVIDENCE = 30
#: Days by which the origin of an entry makes it count as older.
_DAYS_OF_ORIGIN = {"tool": 30, "web": 60}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryUse:
    """Use of an entry: the day since which it is unused, its number of references, and whether one is recent.

    *settled*: the entry is resolved, retracted or superseded. *lasting*: it is a fact about the user that does not age.
    """

    since: date | None
    references: int = 0
    recent: bool = False
    settled: bool = False
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """Evicted *entries* with their reasons, least useful first. *crowded* names sections that stay over their limit."""

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
    """Select the entries that must leave to meet the limits.

    Args:
        entries: the live entries that no other rule removes.
        use: the use of every entry, by its id.
        sizes: the largest number of entries of a section, by its prefix.
        memory_tokens: the limit of ``MEMORY.md``. *frame_tokens* of them belong to headings and other text.
    """
    evictable = [entry for entry in entries if _may_leave(entry, use[entry.id])]
    counts = Counter(entry.prefix for entry in entries)
    tokens = frame_tokens + sum(count_tokens(entry.render()) for entry in entries)
    evicted: list[tuple[Entry, str]] = []
    for entry in sorted(evictable, key=lambda entry: _usefulness(entry, use)):
        size = sizes.get(entry.prefix)
        if size is not None and counts[entry.prefix] > size:
            reason = f"its section holds {counts[entry.prefix]} entries, the limit is {size}"
        elif tokens > memory_tokens:
            reason = f"MEMORY.md costs {tokens} tokens, the limit is {memory_tokens}"
        else:
            continue
        evicted.append((entry, reason))
        counts[entry.prefix] -= 1
        tokens -= count_tokens(entry.render())
    crowded = [
        f"{_section_title(prefix)} holds {counts[prefix]} entries, the limit is {size}"
        for prefix, size in sizes.items()
        if counts[prefix] > size
    ]
    if tokens > memory_tokens:
        crowded.append(f"MEMORY.md costs {tokens} tokens, the limit is {memory_tokens}")
    return Eviction(entries=tuple(evicted), crowded=tuple(crowded))


def _may_leave(entry: Entry, use: EntryUse) -> bool:
    rule = section_of(entry.prefix)
    if rule is None or entry.protected or use.recent or use.since is None:
        return False
    if use.lasting and not use.settled:
        return False
    return rule.leaves == "any" or (rule.leaves != "never" and use.settled)


def _usefulness(entry: Entry, use: Mapping[str, EntryUse]) -> tuple[bool, date, str]:
    """Return a sort key: settled entries first, then the longest unused.

    References and evidence make an entry count as younger, and words of a tool or a stranger as older.
    """
    mine = use[entry.id]
    bonus = _DAYS_PER_REFERENCE * min(mine.references, _MAX_REFERENCES)
    bonus += _DAYS_OF_EVIDENCE * entry.fields.get("Evidence", "").startswith("verified")
    bonus -= _DAYS_OF_ORIGIN.get(entry.fields.get("Origin", ""), 0)
    return not mine.settled, (mine.since or date.max - timedelta(days=bonus)) + timedelta(days=bonus), entry.id


def _section_title(prefix: str) -> str:
    rule = section_of(prefix)
    return rule.title if rule else prefix
