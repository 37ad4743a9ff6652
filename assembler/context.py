"""Layer 1: the context files of the manifest, read for an audience and fitted into their room.

When they do not all fit, generated files give way first, then MEMORY.md goes down to its share, then the others in
reverse order, each down to its floor; protected ones last. A floor means whole units: a file keeps at least as many
tokens as its floor says, if it has them, unless even the floors do not fit; then they shrink in proportion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_home.home import MEMORY, Home
from agent_home.settings import ContextFile

from .budget import Claim, share_out
from .piece import Count, Piece, cut_piece, make_piece, notice_text
from .receipt import EntryLine, SectionLine
from .sources import Sources

__all__ = ["Section", "fit", "load"]

#: A part's separator and rounding at the joint.
_JOINT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A context file: *whole* as the file has it, *piece* as it fits into its *share* of tokens."""

    file: ContextFile
    path: str
    whole: Piece
    piece: Piece
    share: int
    floor: int
    problem: str = ""

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
            return self._line("dropped", self.problem or "nothing in it but headings")
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

    def _line(self, action: str, reason: str) -> SectionLine:
        return SectionLine(
            name=self.name, tokens=self.piece.tokens, full_tokens=self.whole.tokens, action=action, reason=reason
        )


def load(home: Home, sources: Sources, count: Count) -> list[Section]:
    """The context files in prompt order, whole. One that may not or cannot be shown has no units and says why."""
    found = []
    for file in home.manifest.context:
        path = home.context_path(file.file)
        text, problem = sources.text(path)
        piece = make_piece(file.name, text, file.cut, count)
        piece = replace(piece, tokens=piece.tokens + _JOINT) if piece.units else piece
        found.append(
            Section(file=file, path=path, whole=piece, piece=piece, share=piece.tokens, floor=0, problem=problem)
        )
    return found


def fit(sections: Sequence[Section], tokens: int, count: Count) -> list[Section]:
    """The same sections in the same order, together within *tokens*."""
    floors = {section.name: _floor_cost(section, count) for section in sections}
    if sum(floors.values()) > tokens:
        floors |= {section.name: 0 for section in sections if section.file.owner == "generated"}
    claims = [
        Claim(name=s.name, full=s.whole.tokens, floor=floors[s.name], rank=_rank(s, place))
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


def _floor_cost(section: Section, count: Count) -> int:
    """The tokens of the fewest whole units, best ranked first, that reach the file's floor."""
    if section.whole.tokens <= section.file.floor:
        return section.whole.tokens
    units = section.whole.units
    notice = count(notice_text(len(units), _hint(section)))
    total, kept = notice + _JOINT, set[int]()
    for index in sorted(range(len(units)), key=lambda i: units[i].rank):
        if total >= section.file.floor:
            break
        if not units[index].heading:
            added = {index, *units[index].headings} - kept
            kept |= added
            total += sum(units[i].tokens for i in added)
    return min(total, section.whole.tokens)


def _cut(section: Section, share: int, floor: int, count: Count) -> Section:
    piece = section.whole
    if piece.tokens > share:
        piece = cut_piece(piece, share - _JOINT, count, hint=_hint(section))
        piece = replace(piece, tokens=piece.tokens + _JOINT) if piece.units else piece
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
