"""Layer 1: the context files of the manifest, read for an audience and fitted into their room.

When they do not all fit, generated files give way first, then the others in reverse order, protected ones last; each
keeps its floor. MEMORY.md is offered a fixed part of what floors and protected files leave, so that a long file of the
user's does not silence it.

Floors that do not fit together shrink in proportion, after those of generated files are gone. A floor is kept in whole
units: a file gets the tokens of as many units as it takes to reach its floor, protected files first. Where there is no
room for the unit that reaches it, the file keeps the units that fit into its floor; ``floor`` in the receipt is what
it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent_home.home import MEMORY, Home
from agent_home.settings import ContextFile

from .budget import Claim, share_out, shrunk
from .receipt import EntryLine, SectionLine
from .section import Count, Piece, cut_piece, make_piece, notice_text
from .sources import Reading, Sources

__all__ = ["Section", "fit", "load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A context file: *whole* as the file has it, *piece* as it fits into its *share* of tokens.

    *floor* is what it keeps at least, in this budget.
    """

    file: ContextFile
    path: str
    whole: Piece
    piece: Piece
    share: int
    floor: int
    reading: Reading

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def cut(self) -> bool:
        """Whether something of the file is not in *piece*."""
        return len(self.piece.units) != len(self.whole.units)

    def line(self) -> SectionLine:
        """The section in the receipt."""
        if not self.whole.units:
            return self._line("dropped", self.reading.reason or "nothing in it but headings")
        if not self.piece.units:
            return self._line("dropped", f"no part of it fits its share of {self.share} tokens")
        if self.cut:
            parts = len(self.piece.dropped)
            return self._line("cut", f"{parts} parts over its share of {self.share} tokens, {self.file.cut}")
        return self._line("kept", "whole")

    def entry_lines(self) -> list[EntryLine]:
        """The file's entries in the receipt, in file order."""
        kept = {unit.entry_id for unit in self.piece.units}
        return [
            EntryLine(id=unit.entry_id, action="kept", reason=f"{self.path} is shown", tokens=unit.tokens)
            if unit.entry_id in kept
            else EntryLine(id=unit.entry_id, action="dropped", reason=f"over the share of {self.path}", tokens=0)
            for unit in self.whole.units
            if unit.entry_id
        ]

    def superseded_lines(self) -> list[EntryLine]:
        """The entries that are no part of the section because another one took their place, in file order."""
        return [
            EntryLine(id=entry_id, action="dropped", reason=f"superseded by {newer}", tokens=0)
            for entry_id, newer in self.whole.superseded
        ]

    def _line(self, action: str, reason: str) -> SectionLine:
        return SectionLine(
            name=self.name, tokens=self.piece.tokens, full_tokens=self.whole.tokens, action=action, reason=reason,
            floor=self.floor,
        )  # fmt: skip


def load(home: Home, sources: Sources, count: Count) -> list[Section]:
    """The context files in prompt order, whole. One that may not or cannot be shown has no units and says why."""
    found = []
    for file in home.manifest.context:
        path = home.context_path(file.file)
        reading = sources.read(path)
        piece = make_piece(file.name, reading.text, file.cut, count)
        found.append(
            Section(file=file, path=path, whole=piece, piece=piece, share=piece.tokens, floor=0, reading=reading)
        )
    return found


def fit(sections: Sequence[Section], tokens: int, count: Count, *, memory_first: float) -> list[Section]:
    """The same sections in the same order, together within *tokens*.

    *memory_first* is MEMORY.md's part of what floors and protected files leave.
    """
    floors = _floors(sections, tokens, count)
    offered = _offered_to_memory(sections, floors, tokens, memory_first)
    claims = [
        Claim(name=s.name, full=s.whole.tokens, floor=floors[s.name] + offered.get(s.name, 0), rank=_rank(s, place))
        for place, s in enumerate(sections)
    ]
    shares = share_out(claims, tokens)
    fitted = {s.name: _cut(s, shares[s.name], floors[s.name], count) for s in sections}
    _hand_on(sections, claims, fitted, tokens, count)
    return [fitted[section.name] for section in sections]


def _rank(section: Section, place: int) -> int:
    """Smaller is served first: protected, then the rest in prompt order, MEMORY.md, generated."""
    if section.file.cut == "never":
        return place
    if section.file.file == MEMORY:
        return 2_000
    return place + (3_000 if section.file.owner == "generated" else 1_000)


def _floors(sections: Sequence[Section], tokens: int, count: Count) -> dict[str, int]:
    """What each file keeps at least, by name: its floor, rounded up to whole units as far as there is room.

    A file without a floor keeps the line that says what was cut.
    """
    notices = {s.name: min(s.whole.tokens, _notice_cost(s, count)) for s in sections}
    if sum(notices.values()) > tokens:
        notices = dict.fromkeys(notices, 0)
    more = {s.name: max(0, min(s.file.floor, s.whole.tokens) - notices[s.name]) for s in sections}
    if sum(notices.values()) + sum(more.values()) > tokens:
        more |= {s.name: 0 for s in sections if s.file.owner == "generated"}
    more = shrunk(more, tokens - sum(notices.values()))
    floors = {name: notices[name] + more[name] for name in notices}
    left = tokens - sum(floors.values())
    for _, section in sorted(enumerate(sections), key=lambda item: _rank(item[1], item[0])):
        rest = _whole_units(section, floors[section.name], count) - floors[section.name]
        if rest <= left:
            floors[section.name] += rest
            left -= rest
    return floors


def _offered_to_memory(
    sections: Sequence[Section], floors: Mapping[str, int], tokens: int, part: float
) -> Mapping[str, int]:
    """What MEMORY.md gets above its floor before other files get anything, by name; protected files come first."""
    protected = sum(s.whole.tokens - floors[s.name] for s in sections if s.file.cut == "never")
    left = max(0, tokens - sum(floors.values()) - protected)
    return {s.name: min(int(left * part), s.whole.tokens - floors[s.name]) for s in sections if s.file.file == MEMORY}


def _whole_units(section: Section, floor: int, count: Count) -> int:
    """The tokens of the fewest whole units, best ranked first, that reach *floor*."""
    if section.whole.tokens <= floor or section.file.floor == 0:
        return floor
    units = section.whole.units
    total, kept = _notice_cost(section, count), set[int]()
    for index in sorted(range(len(units)), key=lambda i: units[i].rank):
        if total >= floor:
            break
        if not units[index].heading:
            added = {index, *units[index].headings} - kept
            kept |= added
            total += sum(units[i].tokens for i in added)
    return min(total, section.whole.tokens)


def _notice_cost(section: Section, count: Count) -> int:
    """The tokens of the line that says how much of the file is missing: every file has room for it."""
    return count(notice_text(len(section.whole.units), _hint(section)))


def _cut(section: Section, share: int, floor: int, count: Count) -> Section:
    piece = cut_piece(section.whole, share, count, hint=_hint(section))
    return replace(section, piece=piece, share=share, floor=floor)


def _hand_on(
    sections: Sequence[Section], claims: Sequence[Claim], fitted: dict[str, Section], tokens: int, count: Count
) -> None:
    """What whole units left over is offered once more, in order of rank. MEMORY.md uses its share in layer 2."""
    used = {name: s.share if s.file.file == MEMORY and s.cut else s.piece.tokens for name, s in fitted.items()}
    left = tokens - sum(used.values())
    by_name = {section.name: section for section in sections}
    for claim in sorted(claims, key=lambda claim: claim.rank):
        section = fitted[claim.name]
        if section.cut and left > 0:
            again = _cut(by_name[claim.name], used[claim.name] + left, section.floor, count)
            spent = again.share if again.file.file == MEMORY and again.cut else again.piece.tokens
            left -= spent - used[claim.name]
            fitted[claim.name] = again


def _hint(section: Section) -> str:
    return f"see {section.path}"
