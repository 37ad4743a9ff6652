"""Own the sections of a prompt. A section consists of units, and each unit is kept or dropped whole.

A unit is an entry, a list item, a paragraph, a table or a code block. A long paragraph may be cut between its lines. A
heading stays as long as a unit under it does. Nothing is cut inside a line, and no newline is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from agent_home.documents.document import Block, parse
from agent_home.documents.entry import superseded_by
from agent_home.documents.links import disarm_links
from guard.lazy_regex import lazy_regex

__all__ = [
    "Count",
    "PromptSection",
    "Unit",
    "cut_section",
    "defused",
    "make_section",
    "notice_text",
    "select_units",
]

Count = Callable[[str], int]
Cut = Literal["never", "oldest-first", "newest-first"]
#: A paragraph of more tokens than this may be cut between its lines.
LONG_PARAGRAPH = 200
_FENCE = lazy_regex(r"<(?=[\s/]*agent-home)", re.IGNORECASE)
_COMMENTS = lazy_regex(r"(?:\s*<!--(?:(?!-->).)*-->)+\s*", re.DOTALL)
#: A line and the blank lines after it.
_LINES = lazy_regex(r"[^\r\n]*(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))*|[^\r\n]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Whole lines of a section.

    *headings* are the indexes of the headings above it, outermost first. The unit of rank 0 is dropped last.
    """

    text: str
    tokens: int
    entry_id: str = ""
    section: str = ""
    date: str = ""
    heading: bool = False
    headings: tuple[int, ...] = ()
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromptSection:
    """A section with its units in file order. *tokens* is the cost of units and notice together.

    *superseded* has the superseded entries that the section leaves out, each with the id of its successor. *retired*
    has the resolved and retracted ones, each with its state.

    A section equals only itself, so that it can be a cache key without a comparison of thousands of units.
    """

    name: str
    units: tuple[Unit, ...]
    dropped: tuple[Unit, ...] = ()
    notice: str = ""
    tokens: int = 0
    superseded: tuple[tuple[str, str], ...] = ()
    retired: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        body = "".join(unit.text for unit in self.units)
        return body + self.notice if body else self.notice.lstrip("\n")


def defused(text: str) -> str:
    """Return *text* so that it cannot open or close the fences around it, and no link of it takes data away."""
    return disarm_links(_FENCE.sub("‹", text))


@lru_cache(maxsize=64)
def make_section(name: str, text: str, cut: Cut, count: Count) -> PromptSection:
    """Make the section *name* from the text of a file.

    Comments, front matter, headings without content and superseded, resolved and retracted entries are left out. The
    successor of a superseded entry names it, and search still finds it. A file that does not begin with a level 1
    heading gets its name as one. An empty file gives a section without units.

    Sections are immutable and cached, because a warm process assembles the same files again and again.
    """
    whole = text if text.endswith(("\n", "\r")) else text + "\n"  # tokens are counted line by line
    document = parse(whole)
    newer = superseded_by(document.entries())
    superseded = tuple((entry.id, newer[entry.id]) for entry in document.entries() if entry.id in newer)
    gone = {e.id: e.fields.get("State", "") for e in document.entries() if e.retired and e.id not in newer}
    retired = tuple(gone.items())
    blocks = _with_blanks([block for block in document.blocks if not _is_hidden(block, {*newer, *gone})])
    units = _units(blocks, count)
    if not any(not unit.heading for unit in units):
        return PromptSection(name=name, units=(), superseded=superseded, retired=retired)
    if not (blocks[0].kind == "heading" and blocks[0].level == 1):
        title = f"# {name}\n\n"
        units = [Unit(text=title, tokens=count(title), heading=True), *_after_title(units)]
    units = _ranked(_without_empty_headings(units), cut)
    tokens = sum(unit.tokens for unit in units)
    return PromptSection(name=name, units=tuple(units), tokens=tokens, superseded=superseded, retired=retired)


@lru_cache(maxsize=256)
def cut_section(section: PromptSection, tokens: int, count: Count, *, hint: str) -> PromptSection:
    """Cut *section* to the units that fit into *tokens*, best rank first, and add a notice about the rest.

    An entry that does not fit is skipped, and a smaller one after it may still be kept. Prose ends at the first unit
    that does not fit, unless more than half of the room would stay empty. *hint* tells the reader where the rest is. A
    section that fits is returned unchanged. If no unit fits, the result has no units, and has a notice if that fits.
    """
    if section.tokens <= tokens:
        return section
    notice = notice_text(len(section.units), hint)
    room = tokens - count(notice)
    half, ended = room / 2, False
    kept: set[int] = set()
    for index in sorted(range(len(section.units)), key=lambda i: section.units[i].rank):
        unit = section.units[index]
        if unit.heading or (ended and not unit.entry_id):
            continue
        added = {index, *unit.headings} - kept
        cost = sum(section.units[i].tokens for i in added)
        if cost <= room:
            kept |= added
            room -= cost
        else:
            ended = ended or room <= half
    return _with_kept(section, kept, hint, tokens, count)


def select_units(section: PromptSection, keep: Callable[[Unit], bool]) -> PromptSection:
    """Return *section* with only the units that *keep* accepts, and the headings above them.

    No unit counts as dropped, because the caller shows the others elsewhere.
    """
    kept = {i for i, unit in enumerate(section.units) if not unit.heading and keep(unit)}
    kept |= {heading for i in kept for heading in section.units[i].headings}
    units = _reduced(section.units, kept)
    return PromptSection(name=section.name, units=tuple(units), tokens=sum(unit.tokens for unit in units))


def _with_kept(section: PromptSection, kept: set[int], hint: str, tokens: int, count: Count) -> PromptSection:
    units = _reduced(section.units, kept)
    dropped = tuple(unit for i, unit in enumerate(section.units) if i not in kept and not unit.heading)
    notice = notice_text(len(dropped), hint)
    if not units and count(notice) > tokens:
        notice = ""
    cost = sum(unit.tokens for unit in units) + count(notice)
    return PromptSection(name=section.name, units=tuple(units), dropped=dropped, notice=notice, tokens=cost)


def _reduced(units: Sequence[Unit], kept: Collection[int]) -> list[Unit]:
    """Return the units with the indexes *kept*, which include their headings, and renumber *headings*."""
    place = {index: number for number, index in enumerate(sorted(kept))}
    return [replace(units[i], headings=tuple(place[heading] for heading in units[i].headings)) for i in place]


def notice_text(dropped: int, hint: str) -> str:
    """Return the line that says how many parts are missing and where they are."""
    return f"\n[{dropped} parts cut: {hint}]\n"


def _is_hidden(block: Block, hidden: Collection[str]) -> bool:
    if block.kind == "html":
        return _COMMENTS.fullmatch(block.raw) is not None
    return block.kind == "front" or (block.entry is not None and block.entry.id in hidden)


def _with_blanks(blocks: Sequence[Block]) -> list[Block]:
    """Join each block with the blank lines after it, so that a kept block keeps its spacing."""
    joined: list[Block] = []
    before = "blank"
    for block in blocks:
        if block.kind != "blank":
            joined.append(block)
        elif before != "blank":  # else two blank blocks meet where a block was left out
            joined[-1] = replace(joined[-1], raw=joined[-1].raw + block.raw)
        before = block.kind
    return joined


def _units(blocks: Sequence[Block], count: Count) -> list[Unit]:
    units: list[Unit] = []
    open_headings: list[tuple[int, int, str]] = []  # (level, index, title)
    for block in blocks:
        text = defused(block.raw)
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


def _after_title(units: Sequence[Unit]) -> list[Unit]:
    """Return *units* with their headings renumbered for a title before all of them."""
    return [replace(unit, headings=(0, *(index + 1 for index in unit.headings))) for unit in units]


def _without_empty_headings(units: Sequence[Unit]) -> list[Unit]:
    used = {heading for unit in units if not unit.heading for heading in unit.headings}
    return _reduced(units, {index for index, unit in enumerate(units) if not unit.heading or index in used})


def _ranked(units: Sequence[Unit], cut: Cut) -> list[Unit]:
    """Return *units* with the ranks in which they are kept.

    Text outside entries explains the entries, and ranks before them. The cut oldest-first drops the oldest entries
    first, and of one date the lowest one in the file, because new entries are added on top. A text without entries
    grows at its end.
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
