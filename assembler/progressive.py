"""Layer 2: MEMORY.md when it outgrows its share. An index line for each entry, and in full only those that matter.

The first part stands in the prompt's prefix and does not depend on the message: standing preferences and open
threads in full, and the index. The second part is what the message asks for. Without a message, or without an index
to search, the newest entries take its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from agent_home.documents.entry import SECTIONS, parse_entry

from .receipt import EntryLine
from .section import Count, Piece, Unit, cut_piece, neutral, only
from .settings import AssemblerSettings

__all__ = ["Progressive", "progressive"]

_ALWAYS = {rule.title.casefold() for rule in SECTIONS if rule.always}
_HINT = "see `memory search --in memory`"
_INDEX_TITLE = f"## Index of all entries\n\nIn full where they matter for the message; for the others {_HINT}.\n\n"
_SELECTED_TITLE = "# MEMORY: entries for this message\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressive:
    """*stable* goes into the prefix, *selected* behind it; *lines* say what became of every entry.

    *tokens* is what both cost together at most.
    """

    stable: str
    selected: str
    tokens: int
    lines: tuple[EntryLine, ...]


def progressive(
    piece: Piece, tokens: int, scores: Mapping[str, float] | None, settings: AssemblerSettings, count: Count
) -> Progressive:
    """Fit MEMORY, too large as a whole, into *tokens*.

    *scores* are recall's, by entry id, higher is better; ``None`` when there is no message or recall failed. Of equal
    scores the newer entry comes first.
    """
    entries = [unit for unit in piece.units if unit.entry_id]
    stable, stable_tokens, shown, indexed = _stable(piece, tokens, settings, count)
    room = tokens - stable_tokens - count(_SELECTED_TITLE)
    chosen, left = _choose([unit for unit in entries if unit.entry_id not in shown], scores, room)
    selected = [unit for unit in entries if unit.entry_id in chosen]
    body = "".join(unit.text.rstrip("\r\n") + "\n" for unit in selected)
    cost = sum(unit.tokens for unit in selected) + count(_SELECTED_TITLE) if selected else 0
    return Progressive(
        stable=stable,
        selected=_SELECTED_TITLE + body if body else "",
        tokens=stable_tokens + cost,
        lines=tuple(_line(unit, shown, chosen, left, indexed, scores) for unit in entries),
    )


@lru_cache(maxsize=16)
def _stable(
    piece: Piece, tokens: int, settings: AssemblerSettings, count: Count
) -> tuple[str, int, frozenset[str], frozenset[str]]:
    """The first part, its tokens, the ids shown in full in it, and those with an index line.

    Kept, because a warm process needs it again for every message.
    """
    index, indexed = _index([unit for unit in piece.units if unit.entry_id], int(tokens * settings.index_share), count)
    always_room = tokens - count(index) - int(tokens * settings.selected_share)
    always = cut_piece(_always(piece), always_room, count, hint=_HINT)
    shown = frozenset(unit.entry_id for unit in always.units if unit.entry_id)
    stable = always.text.rstrip("\r\n") + "\n\n" + index if always.text else index
    return stable, count(stable), shown, frozenset(indexed)


def _always(piece: Piece) -> Piece:
    """Standing preferences and open threads, which go first, and what the file says besides its entries."""
    kept = only(piece, lambda unit: not unit.entry_id or unit.section.casefold() in _ALWAYS)
    last = len(piece.units)
    units = (unit if unit.entry_id else replace(unit, rank=unit.rank + last) for unit in kept.units)
    return replace(kept, units=tuple(units))


def _index(entries: Sequence[Unit], tokens: int, count: Count) -> tuple[str, set[str]]:
    """Index lines in file order, as many as fit, newest first; and the ids that have one."""
    lines: dict[str, str] = {}
    for unit in entries:
        entry = parse_entry(unit.text)
        if entry is not None:
            lines[unit.entry_id] = neutral(entry.index_line) + "\n"
    room = tokens - count(_INDEX_TITLE) - count(_more(len(lines)))
    kept: set[str] = set()
    for unit in sorted(entries, key=lambda unit: unit.rank):
        cost = count(lines.get(unit.entry_id, ""))
        if unit.entry_id in lines and cost <= room:
            kept.add(unit.entry_id)
            room -= cost
    missing = len(lines) - len(kept)
    if not kept:
        return (_more(missing) if count(_more(missing)) <= tokens else ""), kept
    body = "".join(line for entry_id, line in lines.items() if entry_id in kept)
    return _INDEX_TITLE + body + (_more(missing) if missing else ""), kept


def _more(number: int) -> str:
    return f"[{number} entries without a line here: {_HINT}]\n"


def _choose(entries: Sequence[Unit], scores: Mapping[str, float] | None, room: int) -> tuple[set[str], dict[str, str]]:
    """The entries in full: the best scored first, then the newest. And why each other one is left out."""
    found = scores or {}
    order = sorted(entries, key=lambda unit: (-found.get(unit.entry_id, float("-inf")), unit.rank))
    chosen: set[str] = set()
    left: dict[str, str] = {}
    for unit in order:
        if unit.tokens <= room:
            chosen.add(unit.entry_id)
            room -= unit.tokens
        else:
            left[unit.entry_id] = f"needs {unit.tokens} tokens, {max(room, 0)} were left of MEMORY's share"
    return chosen, left


def _line(
    unit: Unit,
    shown: Collection[str],
    chosen: Collection[str],
    left: Mapping[str, str],
    indexed: Collection[str],
    scores: Mapping[str, float] | None,
) -> EntryLine:
    score = (scores or {}).get(unit.entry_id)
    if unit.entry_id in shown:
        return EntryLine(id=unit.entry_id, action="kept", reason="always shown", tokens=unit.tokens, score=score)
    if unit.entry_id in chosen:
        reason = "matches the message" if score is not None else "among the newest"
        return EntryLine(id=unit.entry_id, action="kept", reason=reason, tokens=unit.tokens, score=score)
    action = "indexed" if unit.entry_id in indexed else "dropped"
    reason = left.get(unit.entry_id, "over MEMORY's share")
    return EntryLine(id=unit.entry_id, action=action, reason=reason, tokens=0, score=score)
