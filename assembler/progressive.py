"""Own layer 2: a MEMORY.md over its share, with an index line for each entry and only relevant entries in full.

The first part is in the prompt's prefix and does not depend on the message. It has the standing preferences and open
threads in full, and the index. The second part has the entries that match the message. They share one room with the
other recalled texts. Without a message, or without an index to search, it has the newest entries. Room that nothing
else needs shows further entries, standing preferences and open threads first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from agent_home.documents.entry import SECTIONS, parse_entry

from .recalled.recall_section import TURNS_SHOWN, RecalledPassage, Room, no_room, tells_only
from .receipt import EntryLine
from .section import Count, PromptSection, Unit, cut_section, defused, select_units
from .settings import AssemblerSettings

__all__ = ["EntryBlock", "ProgressiveMemory", "build_progressive"]

_ALWAYS = {rule.title.casefold() for rule in SECTIONS if rule.always}
#: Reason of an entry that only idle room shows.
IDLE = "room was idle"
_HINT = "see `memory search --in memory`"
_INDEX_TITLE = f"## Index of all entries\n\nIn full where they matter for the message; for the others {_HINT}.\n\n"
_SELECTED_TITLE = "# MEMORY: entries in full\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressiveMemory:
    """The part of MEMORY.md that is in the prefix, and its tokens.

    *entries* are all entries in file order, and *by_value* the others than those shown, best first. *always_shown* and
    *indexed* are the ids that the prefix shows in full and by an index line. *share* is MEMORY.md's share of tokens.
    """

    stable: str
    tokens: int
    entries: tuple[Unit, ...]
    by_value: tuple[Unit, ...]
    always_shown: frozenset[str]
    indexed: frozenset[str]
    share: int


@lru_cache(maxsize=16)
def build_progressive(
    section: PromptSection, tokens: int, settings: AssemblerSettings, count: Count
) -> ProgressiveMemory:
    """Return the prefix part of a MEMORY.md that is too large as a whole for its share of *tokens*.

    The result is cached, because a warm process needs it again for every message.
    """
    stable, stable_tokens, always_shown, indexed = _stable_part(section, tokens, settings, count)
    entries = tuple(unit for unit in section.units if unit.entry_id)
    # of two entries with one id the last one counts
    others = {unit.entry_id: unit for unit in entries if unit.entry_id not in always_shown}
    return ProgressiveMemory(
        stable=stable,
        tokens=stable_tokens,
        entries=entries,
        by_value=tuple(sorted(others.values(), key=lambda unit: (not _is_always_shown(unit), unit.rank))),
        always_shown=always_shown,
        indexed=indexed,
        share=tokens,
    )


@dataclass(slots=True, kw_only=True)
class EntryBlock:
    """Entries of *memory* that the prompt shows in full after its prefix, in *room*."""

    memory: ProgressiveMemory
    count: Count
    room: Room
    _open: dict[str, Unit] = field(default_factory=dict)
    _kept: dict[str, str] = field(default_factory=dict)
    #: Why an entry is left out. A number is the room that was left for it.
    _reasons: dict[str, str | int] = field(default_factory=dict)
    _scores: dict[str, float] = field(default_factory=dict)
    #: Tokens of the title before the entries and of the notice behind them.
    _frame_tokens: int = 0
    #: The entries in order of value, once something asked for it.
    _order: list[Unit] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open = {unit.entry_id: unit for unit in self.memory.by_value}
        notice = "" if self.memory.stable else f"\n{_missing_notice(len(self.memory.entries))}"
        self._frame_tokens = self.count(_SELECTED_TITLE) + self.count(notice)

    def score(self, hits: Sequence[RecalledPassage]) -> None:
        """Record recall's scores of all entries found."""
        self._scores = {_entry_id(hit): round(hit.score, 4) for hit in hits}
        self._order = []

    def add(self, hit: RecalledPassage, shown: Collection[str] = ()) -> None:
        """Add the entry of *hit* if it fits into the room left and does not only tell turns that are *shown*."""
        self._add(_entry_id(hit), "matches the message", shown)

    def fill(self, shown: Collection[str] = ()) -> None:
        """Add further entries within MEMORY.md's share, in order of value."""
        left = self.memory.share - self.memory.tokens - self.tokens
        others = self._by_value()
        least = min((unit.tokens for unit in others), default=0)
        for unit in others:
            if left < least:
                break
            if self._cost(unit) <= left:
                found = unit.entry_id in self._scores
                left -= self._add(unit.entry_id, "matches the message" if found else "among the newest", shown)
        over = f"over MEMORY's share of {self.memory.share} tokens"
        left_out = [unit.entry_id for unit in others if unit.entry_id not in self._kept]
        self._reasons = {**dict.fromkeys(left_out, over), **self._reasons}

    def fill_idle_room(self, shown: Collection[str] = (), *, wanted_only: bool) -> None:
        """Add further entries to what is left of the room, in order of value, whatever MEMORY.md's share is.

        With *wanted_only*, only entries that were found and those of sections that are always shown are added.
        """
        for unit in self._by_value():
            wanted = unit.entry_id in self._scores or _is_always_shown(unit)
            if not wanted and wanted_only:
                continue
            if self._cost(unit) <= self.room.left:
                self._add(unit.entry_id, "matches the message" if unit.entry_id in self._scores else IDLE, shown)
            elif self._reasons.get(unit.entry_id) != TURNS_SHOWN:
                self._reasons[unit.entry_id] = self.room.left

    def release(self, shown: Collection[str]) -> None:
        """Remove the entries whose turns are all *shown* by now."""
        for entry_id in [entry_id for entry_id in self._kept if tells_only(self._open[entry_id].text, shown)]:
            del self._kept[entry_id]
            self._reasons[entry_id] = TURNS_SHOWN
            self.room.left += self._cost(self._open[entry_id])

    @property
    def shown(self) -> frozenset[str]:
        """Return the ids of the entries that the prompt shows in full, in its prefix or here."""
        return self.memory.always_shown | self._kept.keys()

    @property
    def tokens(self) -> int:
        """Return the tokens of the block."""
        if not self._kept:
            return 0
        return self._frame_tokens + sum(self._open[entry_id].tokens for entry_id in self._kept)

    @property
    def text(self) -> str:
        """Return the entries in file order under their title, or nothing.

        A notice counts the others where the prefix has no room for one.
        """
        chosen = [unit.text.rstrip("\r\n") + "\n" for unit in self.memory.entries if unit.entry_id in self._kept]
        missing = 0 if self.memory.stable else len(self.memory.entries) - len(chosen)
        notice = f"\n{_missing_notice(missing)}" if missing else ""
        return _SELECTED_TITLE + "".join(chosen) + notice if chosen else ""

    @property
    def lines(self) -> tuple[EntryLine, ...]:
        """Return the receipt's lines about all entries of MEMORY.md, in file order."""
        return tuple(self._line(unit) for unit in self.memory.entries)

    def _by_value(self) -> list[Unit]:
        """Return the entries not shown: those found first, then those of sections always shown, then the newest."""
        if not self._order:
            scores = self._scores
            found = [unit for unit in self.memory.by_value if unit.entry_id in scores]
            others = [unit for unit in self.memory.by_value if unit.entry_id not in scores]
            self._order = [*sorted(found, key=lambda unit: -scores[unit.entry_id]), *others]
        return [unit for unit in self._order if unit.entry_id not in self._kept]

    def _add(self, entry_id: str, reason: str, shown: Collection[str]) -> int:
        """Add an entry. Return its tokens, or 0 if it is not added."""
        unit = self._open.get(entry_id)
        if unit is None or entry_id in self._kept:
            return 0
        if tells_only(unit.text, shown):
            self._reasons[entry_id] = TURNS_SHOWN
            return 0
        cost = self._cost(unit)
        if cost > self.room.left:
            self._reasons[entry_id] = self.room.left
            return 0
        self.room.left -= cost
        self._kept[entry_id] = reason
        return cost

    def _cost(self, unit: Unit) -> int:
        """Return the tokens of *unit*, with those around the entries for the first one."""
        return unit.tokens + (0 if self._kept else self._frame_tokens)

    def _line(self, unit: Unit) -> EntryLine:
        entry_id = unit.entry_id
        score = self._scores.get(entry_id)
        if entry_id in self.memory.always_shown:
            return EntryLine(id=entry_id, action="kept", reason="always shown", tokens=unit.tokens, score=score)
        if entry_id in self._kept:
            return EntryLine(id=entry_id, action="kept", reason=self._kept[entry_id], tokens=unit.tokens, score=score)
        reason = self._reasons.get(entry_id, "over MEMORY's share")
        if not isinstance(reason, str):
            reason = no_room(unit.tokens, reason)
        return _left_out(entry_id, "indexed" if entry_id in self.memory.indexed else "dropped", reason, score)


@lru_cache(maxsize=32_768)
def _left_out(entry_id: str, action: str, reason: str, score: float | None) -> EntryLine:
    """Return the line of an entry that is not shown. A warm process leaves most of them out for the same reason."""
    return EntryLine(id=entry_id, action=action, reason=reason, tokens=0, score=score)


def _is_always_shown(unit: Unit) -> bool:
    return _is_always_section(unit.section)


@lru_cache(maxsize=64)
def _is_always_section(title: str) -> bool:
    return title.casefold() in _ALWAYS


def _entry_id(hit: RecalledPassage) -> str:
    return hit.source.partition("#")[2]


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
    kept = select_units(section, lambda unit: not unit.entry_id or _is_always_shown(unit))
    last = len(section.units)
    units = (unit if unit.entry_id else replace(unit, rank=unit.rank + last) for unit in kept.units)
    return replace(kept, units=tuple(units))


def _index(entries: Sequence[Unit], tokens: int, count: Count) -> tuple[str, set[str]]:
    """Return the index lines that fit, in file order, and their ids. Newer entries are preferred."""
    lines: dict[str, str] = {}
    for unit in entries:
        entry = parse_entry(unit.text)
        if entry is not None:
            lines[unit.entry_id] = defused(entry.index_line) + "\n"
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
