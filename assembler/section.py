"""A section of the prompt made of units, each kept or dropped whole.

A unit is an entry, a list item, a paragraph, a table or a code block; a long paragraph may be cut between its lines.
A heading stands as long as something under it does. Nothing is cut inside a line, and no newline is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from agent_home.documents.document import Block, parse
from agent_home.documents.entry import superseded_by

__all__ = ["Count", "Piece", "Unit", "cut_piece", "make_piece", "neutral", "notice_text", "only"]

Count = Callable[[str], int]
Cut = Literal["never", "oldest-first", "newest-first"]
#: A paragraph over this many tokens may be cut between its lines.
LONG_PARAGRAPH = 200
_FENCE = re.compile(r"<(?=[\s/]*agent-home)", re.IGNORECASE)
_COMMENTS = re.compile(r"(?:\s*<!--(?:(?!-->).)*-->)+\s*", re.DOTALL)
#: A line with the blank lines after it.
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))*|[^\r\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Whole lines. *headings* index the units of the headings above it, outermost first; *rank* 0 is kept longest."""

    text: str
    tokens: int
    entry_id: str = ""
    section: str = ""
    date: str = ""
    heading: bool = False
    headings: tuple[int, ...] = ()
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """A section: its units in file order. ``tokens`` is what they cost together, notice included.

    *superseded* are the entries that are no part of it because another one took their place, each with that one's id.

    Equal to itself only, so that what is computed from one can be kept without comparing thousands of units.
    """

    name: str
    units: tuple[Unit, ...]
    dropped: tuple[Unit, ...] = ()
    notice: str = ""
    tokens: int = 0
    superseded: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        body = "".join(unit.text for unit in self.units)
        return body + self.notice if body else self.notice.lstrip("\n")


def neutral(text: str) -> str:
    """*text* that cannot open or close the fences around it."""
    return _FENCE.sub("‹", text)


@lru_cache(maxsize=64)
def make_piece(name: str, text: str, cut: Cut, count: Count) -> Piece:
    """The section *name* from a file's text: comments, front matter and headings with nothing under them left out.

    So are entries that another one superseded: the newer one names them, and search still finds them.

    A file that does not begin with a level 1 heading gets its name as one. An empty file gives a piece without units.
    Pieces are immutable and kept: a warm process assembles the same files again and again.
    """
    whole = text if text.endswith(("\n", "\r")) else text + "\n"  # texts are counted one by one up to line ends
    document = parse(whole)
    newer = superseded_by(document.entries())
    superseded = tuple((entry.id, newer[entry.id]) for entry in document.entries() if entry.id in newer)
    blocks = _with_blanks([block for block in document.blocks if not _is_left_out(block, newer)])
    units = _units(blocks, count)
    if not any(not unit.heading for unit in units):
        return Piece(name=name, units=(), superseded=superseded)
    if not (blocks[0].kind == "heading" and blocks[0].level == 1):
        title = f"# {name}\n\n"
        units = [Unit(text=title, tokens=count(title), heading=True), *_shifted(units)]
    units = _ranked(_without_empty_headings(units), cut)
    tokens = sum(unit.tokens for unit in units)
    return Piece(name=name, units=tuple(units), tokens=tokens, superseded=superseded)


@lru_cache(maxsize=256)
def cut_piece(piece: Piece, tokens: int, count: Count, *, hint: str) -> Piece:
    """*piece* with the units that fit into *tokens*, best ranked first; the rest is dropped, and a notice says so.

    An entry that does not fit is passed over and a smaller one of lower rank may still be kept; prose ends where it
    stops fitting, unless that would waste more than half of the room. *hint* tells the reader where the rest is. A
    piece that fits is returned as it is; one of which nothing fits has no units, and a notice where that fits.
    """
    if piece.tokens <= tokens:
        return piece
    notice = notice_text(len(piece.units), hint)
    room = tokens - count(notice)
    half, ended = room / 2, False
    kept: set[int] = set()
    for index in sorted(range(len(piece.units)), key=lambda i: piece.units[i].rank):
        unit = piece.units[index]
        if unit.heading or (ended and not unit.entry_id):
            continue
        added = {index, *unit.headings} - kept
        cost = sum(piece.units[i].tokens for i in added)
        if cost <= room:
            kept |= added
            room -= cost
        else:
            ended = ended or room <= half
    return _with_only(piece, kept, hint, tokens, count)


def only(piece: Piece, wanted: Callable[[Unit], bool]) -> Piece:
    """*piece* reduced to the units that are *wanted* and the headings above them. Nothing counts as dropped: the caller
    shows the rest elsewhere.
    """
    kept = {i for i, unit in enumerate(piece.units) if not unit.heading and wanted(unit)}
    kept |= {heading for i in kept for heading in piece.units[i].headings}
    units = _reduced(piece.units, kept)
    return Piece(name=piece.name, units=tuple(units), tokens=sum(unit.tokens for unit in units))


def _with_only(piece: Piece, kept: set[int], hint: str, tokens: int, count: Count) -> Piece:
    units = _reduced(piece.units, kept)
    dropped = tuple(unit for i, unit in enumerate(piece.units) if i not in kept and not unit.heading)
    notice = notice_text(len(dropped), hint)
    if not units and count(notice) > tokens:
        notice = ""
    cost = sum(unit.tokens for unit in units) + count(notice)
    return Piece(name=piece.name, units=tuple(units), dropped=dropped, notice=notice, tokens=cost)


def _reduced(units: Sequence[Unit], kept: Collection[int]) -> list[Unit]:
    """The units at the places *kept*, every heading above one of them included, with their headings counted anew."""
    place = {index: number for number, index in enumerate(sorted(kept))}
    return [replace(units[i], headings=tuple(place[heading] for heading in units[i].headings)) for i in place]


def notice_text(dropped: int, hint: str) -> str:
    """The line that says what is missing and where it is."""
    return f"\n[{dropped} parts cut: {hint}]\n"


def _is_left_out(block: Block, superseded: Collection[str]) -> bool:
    if block.kind == "html":
        return _COMMENTS.fullmatch(block.raw) is not None
    return block.kind == "front" or (block.entry is not None and block.entry.id in superseded)


def _with_blanks(blocks: Sequence[Block]) -> list[Block]:
    """Blocks with the blank lines after them joined to them, so that keeping a block keeps its spacing."""
    joined: list[Block] = []
    before = "blank"
    for block in blocks:
        if block.kind != "blank":
            joined.append(block)
        elif before != "blank":  # two blank blocks meet where something between them was left out
            joined[-1] = replace(joined[-1], raw=joined[-1].raw + block.raw)
        before = block.kind
    return joined


def _units(blocks: Sequence[Block], count: Count) -> list[Unit]:
    units: list[Unit] = []
    open_headings: list[tuple[int, int, str]] = []  # (level, index, title)
    for block in blocks:
        text = neutral(block.raw)
        if block.kind == "heading":
            open_headings = [item for item in open_headings if item[0] < block.level]
        above = tuple(index for _, index, _ in open_headings)
        section = next((title for level, _, title in open_headings if level == 2), "")
        if block.kind == "heading":
            units.append(Unit(text=text, tokens=count(text), heading=True, headings=above))
            open_headings.append((block.level, len(units) - 1, block.title))
            continue
        entry_id, date = (block.entry.id, block.entry.date) if block.entry else ("", "")
        units += [
            Unit(text=part, tokens=count(part), entry_id=entry_id, section=section, date=date, headings=above)
            for part in _parts(block, text, count)
        ]
    return units


def _parts(block: Block, text: str, count: Count) -> list[str]:
    if block.kind != "text" or count(text) <= LONG_PARAGRAPH or text.lstrip().startswith("|"):
        return [text]
    return _LINES.findall(text)


def _shifted(units: Sequence[Unit]) -> list[Unit]:
    """Units after a heading was put before them all."""
    return [replace(unit, headings=(0, *(index + 1 for index in unit.headings))) for unit in units]


def _without_empty_headings(units: Sequence[Unit]) -> list[Unit]:
    used = {heading for unit in units if not unit.heading for heading in unit.headings}
    return _reduced(units, {index for index, unit in enumerate(units) if not unit.heading or index in used})


def _ranked(units: Sequence[Unit], cut: Cut) -> list[Unit]:
    """Units with the order in which they are kept.

    Text that is no entry explains the entries and is kept before them. Oldest first drops entries by their dates, and
    of one date the one further down, because new entries are put on top; a text without entries grows at its end.
    """
    order = [i for i, unit in enumerate(units) if not unit.entry_id]
    entries = [i for i, unit in enumerate(units) if unit.entry_id]
    if cut == "oldest-first" and not entries:
        order.reverse()
    if cut == "oldest-first":
        entries.sort(key=lambda i: units[i].date, reverse=True)
    elif entries:
        entries.sort(key=lambda i: units[i].date)
    rank = {index: place for place, index in enumerate([*order, *entries])}
    return [replace(unit, rank=rank[i]) for i, unit in enumerate(units)]
