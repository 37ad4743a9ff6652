"""Own layer 2: a MEMORY.md over its share, with an index line for each entry and only relevant entries in full.

The first part is in the prompt's prefix and does not depend on the message. It has the standing preferences and open
threads in full, and the index. The second part has the entries that match the message. Without a message, or without
an index to search, it has the newest entries.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from agent_home.documents.entry import SECTIONS, parse_entry

from .receipt import EntryLine
from .section import Count, PromptSection, Unit, cut_section, escape_tags, select_units
from .settings import AssemblerSettings

__all__ = ["ProgressiveMemory", "build_progressive"]

_ALWAYS = {rule.title.casefold() for rule in SECTIONS if rule.always}
_HINT = "see `memory search --in memory`"
_INDEX_TITLE = f"## Index of all entries\n\nIn full where they matter for the message; for the others {_HINT}.\n\n"
_SELECTED_TITLE = "# MEMORY: entries for this message\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressiveMemory:
    """Layer 2 in two parts: *stable* for the prefix, and *selected* after it. *lines* explain every entry.

    *tokens* is the most that both parts cost together.
    """

    stable: str
    selected: str
    tokens: int
    lines: tuple[EntryLine, ...]


def build_progressive(
    section: PromptSection, tokens: int, scores: Mapping[str, float] | None, settings: AssemblerSettings, count: Count
) -> ProgressiveMemory:
    """Fit a MEMORY.md that is too large as a whole into *tokens*.

    *scores* has recall's scores by entry id, and higher is better. It is ``None`` when there is no message or recall
    failed. Of equal scores, the newer entry comes first.
    """
    entries = [unit for unit in section.units if unit.entry_id]
    stable, stable_tokens, always_shown, indexed = _stable_part(section, tokens, settings, count)
    room = tokens - stable_tokens - count(_SELECTED_TITLE)
    chosen, reasons = _choose([unit for unit in entries if unit.entry_id not in always_shown], scores, room)
    selected = [unit for unit in entries if unit.entry_id in chosen]
    body = "".join(unit.text.rstrip("\r\n") + "\n" for unit in selected)
    cost = sum(unit.tokens for unit in selected) + count(_SELECTED_TITLE) if selected else 0
    return ProgressiveMemory(
        stable=stable,
        selected=_SELECTED_TITLE + body if body else "",
        tokens=stable_tokens + cost,
        lines=tuple(_line(unit, always_shown, chosen, reasons, indexed, scores) for unit in entries),
    )


@lru_cache(maxsize=16)
def _stable_part(
    section: PromptSection, tokens: int, settings: AssemblerSettings, count: Count
) -> tuple[str, int, frozenset[str], frozenset[str]]:
    """Return the first part, its tokens, the ids that it shows in full, and the ids with an index line.

    The result is cached, because a warm process needs it again for every message.
    """
    index, indexed = _index(
        [unit for unit in section.units if unit.entry_id], int(tokens * settings.index_share), count
    )
    always_room = tokens - count(index) - int(tokens * settings.selected_share)
    always = cut_section(_always_first(section), always_room, count, hint=_HINT)
    always_shown = frozenset(unit.entry_id for unit in always.units if unit.entry_id)
    stable = always.text.rstrip("\r\n") + "\n\n" + index if always.text else index
    return stable, count(stable), always_shown, frozenset(indexed)


def _always_first(section: PromptSection) -> PromptSection:
    """Return standing preferences and open threads, which rank first, and the text outside entries."""
    kept = select_units(section, lambda unit: not unit.entry_id or unit.section.casefold() in _ALWAYS)
    last = len(section.units)
    units = (unit if unit.entry_id else replace(unit, rank=unit.rank + last) for unit in kept.units)
    return replace(kept, units=tuple(units))


def _index(entries: Sequence[Unit], tokens: int, count: Count) -> tuple[str, set[str]]:
    """Return the index lines that fit, in file order, and their ids. Newer entries are preferred."""
    lines: dict[str, str] = {}
    for unit in entries:
        entry = parse_entry(unit.text)
        if entry is not None:
            lines[unit.entry_id] = escape_tags(entry.index_line) + "\n"
    room = tokens - count(_INDEX_TITLE) - count(_missing_notice(len(lines)))
    kept: set[str] = set()
    for unit in sorted(entries, key=lambda unit: unit.rank):
        cost = count(lines.get(unit.entry_id, ""))
        if unit.entry_id in lines and cost <= room:
            kept.add(unit.entry_id)
            room -= cost
    missing = len(lines) - len(kept)
    if not kept:
        return (_missing_notice(missing) if count(_missing_notice(missing)) <= tokens else ""), kept
    body = "".join(line for entry_id, line in lines.items() if entry_id in kept)
    return _INDEX_TITLE + body + (_missing_notice(missing) if missing else ""), kept


def _missing_notice(number: int) -> str:
    return f"[{number} entries without a line here: {_HINT}]\n"


def _choose(entries: Sequence[Unit], scores: Mapping[str, float] | None, room: int) -> tuple[set[str], dict[str, str]]:
    """Choose the entries to show in full, best score first, then newest. Return also a reason for each other one."""
    found = scores or {}
    order = sorted(entries, key=lambda unit: (-found.get(unit.entry_id, float("-inf")), unit.rank))
    chosen: set[str] = set()
    reasons: dict[str, str] = {}
    for unit in order:
        if unit.tokens <= room:
            chosen.add(unit.entry_id)
            room -= unit.tokens
        else:
            reasons[unit.entry_id] = f"needs {unit.tokens} tokens, {max(room, 0)} were left of MEMORY's share"
    return chosen, reasons


def _line(
    unit: Unit,
    always_shown: Collection[str],
    chosen: Collection[str],
    reasons: Mapping[str, str],
    indexed: Collection[str],
    scores: Mapping[str, float] | None,
) -> EntryLine:
    score = (scores or {}).get(unit.entry_id)
    if unit.entry_id in always_shown:
        return EntryLine(id=unit.entry_id, action="kept", reason="always shown", tokens=unit.tokens, score=score)
    if unit.entry_id in chosen:
        reason = "matches the message" if score is not None else "among the newest"
        return EntryLine(id=unit.entry_id, action="kept", reason=reason, tokens=unit.tokens, score=score)
    action = "indexed" if unit.entry_id in indexed else "dropped"
    reason = reasons.get(unit.entry_id, "over MEMORY's share")
    return EntryLine(id=unit.entry_id, action=action, reason=reason, tokens=0, score=score)
