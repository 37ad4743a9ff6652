"""A Markdown file as a row of blocks whose texts, joined, are the file.

Parsing loses nothing: every byte of the text belongs to exactly one block, so that ``parse(text).render() == text``
for every text, and an edit touches only the blocks it names. Structure comes from markdown-it, so that a heading
inside a code fence is no heading. What a valid ``MEMORY.md`` is, is said by ``agent_home.documents.check``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from .entry import Entry, parse_entry

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Block", "Document", "Kind", "Section", "parse"]

Kind = Literal["front", "heading", "entry", "item", "code", "html", "text", "blank"]
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_HEADING_TEXT = re.compile(r"^ {0,3}#{1,6}[ \t]*(?P<title>.*?)(?:[ \t]+#+)?[ \t]*$")
_KINDS: dict[str, Kind] = {"fence": "code", "code_block": "code", "html_block": "html", "heading_open": "heading"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A run of whole lines. *line* counts from 1; *level* and *title* are a heading's."""

    kind: Kind
    raw: str
    line: int = 0
    level: int = 0
    title: str = ""
    entry: Entry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and what stands under it, up to the next heading of its level or above.

    *start* and *end* index the document's blocks, the heading itself included. The text before the first heading
    is the section with level 0 and an empty title.
    """

    title: str
    level: int
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """An immutable Markdown file; every edit gives a new one."""

    blocks: tuple[Block, ...]

    def render(self) -> str:
        return "".join(block.raw for block in self.blocks)

    def entries(self) -> Iterator[Entry]:
        """The entries in file order."""
        return (block.entry for block in self.blocks if block.entry is not None)

    def entry(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.entries() if entry.id == entry_id), None)

    def sections(self, level: int = 2) -> list[Section]:
        """The sections of *level* in file order; an empty list when there are none."""
        found = []
        for index, block in enumerate(self.blocks):
            if block.kind == "heading" and block.level == level:
                end = self._end_of(index, level)
                found.append(Section(title=block.title, level=level, line=block.line, start=index, end=end))
        return found

    def section(self, title: str, level: int = 2) -> Section | None:
        """The first section with that title, compared without case and surrounding space."""
        wanted = title.strip().casefold()
        return next((s for s in self.sections(level) if s.title.casefold() == wanted), None)

    def section_entries(self, title: str) -> list[Entry]:
        """The entries under ``## title`` in file order; empty when there is no such section."""
        section = self.section(title)
        if section is None:
            return []
        return [block.entry for block in self.blocks[section.start : section.end] if block.entry is not None]

    def with_entry(self, title: str, entry: Entry) -> Document:
        """*entry* placed first in section *title*: newest on top. A missing section is made at the end."""
        return self._spliced(*self._place_of(title, [_entry_block(entry)]))

    def with_entries(self, added: Sequence[tuple[str, Entry]], changed: Sequence[Entry] = ()) -> Document:
        """The entries of *changed* replaced by their ids, then each ``(section title, entry)`` of *added* placed.

        The same as :meth:`with_entry_changed` and :meth:`with_entry` one after the other, at the cost of one edit.

        Raises:
            KeyError: an entry of *changed* is not there.
        """
        if not added and not changed:
            return self
        edited = self._replaced(changed)
        groups: dict[str, list[tuple[str, Entry]]] = {}
        for title, entry in added:
            groups.setdefault(title.strip().casefold(), []).append((title, entry))
        for group in groups.values():
            newest_first = [_entry_block(entry) for _, entry in reversed(group)]
            start, end, blocks = edited._place_of(group[0][0], newest_first)  # noqa: SLF001 - of this very class
            edited = Document((*edited.blocks[:start], *blocks, *edited.blocks[end:]))
        result = parse(edited.render())
        if _said(result.blocks) == _said(edited.blocks):
            return result
        # Something would join with what it stands beside: find it by halves, because one by one takes too long.
        if len(changed) + len(added) == 1:
            return self.with_entry_changed(changed[0]) if changed else self.with_entry(*added[0])
        if changed and added:
            return self.with_entries((), changed).with_entries(added)
        a, c = len(added) // 2, len(changed) // 2
        return self.with_entries(added[:a], changed[:c]).with_entries(added[a:], changed[c:])

    def with_entry_changed(self, entry: Entry) -> Document:
        """The entry of the same id replaced in place.

        Raises:
            KeyError: no entry has that id.
        """
        at = self._index_of(entry.id)
        return self._spliced(at, at + 1, [_entry_block(entry)])

    def without_entry(self, entry_id: str) -> Document:
        """The document without that entry; the lines around it stay.

        Raises:
            KeyError: no entry has that id.
        """
        at = self._index_of(entry_id)
        return self._spliced(at, at + 1, [])

    def without_entries(self, ids: Collection[str]) -> Document:
        """The document without all entries of these ids, at the cost of one edit; an id that is not there is none."""
        if not ids:
            return self
        edited = Document(tuple(b for b in self.blocks if b.entry is None or b.entry.id not in ids))
        result = parse(edited.render())
        if _said(result.blocks) == _said(edited.blocks):
            return result
        result = self  # something would join with what it stands beside
        for block in self.blocks:
            if block.entry is not None and block.entry.id in ids:
                result = result.without_entry(block.entry.id)
        return result

    def with_text_at_end(self, text: str) -> Document:
        """*text* appended after a blank line; the result is parsed anew."""
        gap = self._gap_before_section() if self.blocks else ""
        return parse(self.render() + gap + text)

    def with_blocks(self, blocks: Sequence[Block]) -> Document:
        """The document with other blocks, parsed anew so that kinds and lines are right again."""
        return parse("".join(block.raw for block in blocks))

    def _index_of(self, entry_id: str) -> int:
        for index, block in enumerate(self.blocks):
            if block.entry is not None and block.entry.id == entry_id:
                return index
        raise KeyError(entry_id)

    def _replaced(self, changed: Sequence[Entry]) -> Document:
        """The blocks of *changed* exchanged, the first one of an id that stands twice; not parsed."""
        wanted = {entry.id: _entry_block(entry) for entry in changed}
        blocks = [
            wanted.pop(block.entry.id) if block.entry is not None and block.entry.id in wanted else block
            for block in self.blocks
        ]
        if wanted:
            raise KeyError(next(iter(wanted)))
        return Document(tuple(blocks))

    def _place_of(self, title: str, entries: list[Block]) -> tuple[int, int, list[Block]]:
        """The blocks from where to where give way to which, so that *entries* stand first in section *title*."""
        section = self.section(title)
        if section is None:
            lead = "" if not self.blocks else self._gap_before_section()
            heading = Block(kind="heading", raw=f"## {title}\n", level=2, title=title.strip())
            blocks = [Block(kind="blank", raw=lead), heading, Block(kind="blank", raw="\n"), *entries]
            return len(self.blocks), len(self.blocks), blocks
        at = section.start + 1
        while at < section.end and self.blocks[at].kind != "entry":
            at += 1
        if at < section.end:
            return at, at, entries
        return self._placed_at_end(section, entries)

    def _end_of(self, start: int, level: int) -> int:
        for index in range(start + 1, len(self.blocks)):
            block = self.blocks[index]
            if block.kind == "heading" and block.level <= level:
                return index
        return len(self.blocks)

    def _gap_before_section(self) -> str:
        text = self.blocks[-1].raw
        if not text.endswith(("\n", "\r")):
            return "\n\n"
        return "" if self.blocks[-1].kind == "blank" else _blank_line_after(text)

    def _placed_at_end(self, section: Section, entries: Sequence[Block]) -> tuple[int, int, list[Block]]:
        """Where the first entry of an entry-less section goes: after its text, one blank line on each side."""
        end = section.end
        while end > section.start + 1 and self.blocks[end - 1].kind == "blank":
            end -= 1
        before = self.blocks[end - 1].raw
        lead = _blank_line_after(before) if before.endswith(("\n", "\r")) else "\n\n"
        tail = [Block(kind="blank", raw="\n")] if section.end < len(self.blocks) else []
        return end, section.end, [Block(kind="blank", raw=lead), *entries, *tail]

    def _spliced(self, start: int, end: int, blocks: Sequence[Block]) -> Document:
        """Parsed anew, because a splice can join what stood apart: a blank line then keeps it apart."""
        before, after = self.blocks[:start], self.blocks[end:]
        above, below = _said(before), _said(after)
        head, tail = ("".join(block.raw for block in part) for part in ((*before, *blocks), after))
        for gap in ("", _blank_line_after(head)):
            result = parse(head + gap + tail)
            said = _said(result.blocks)
            if said[: len(above)] == above and said[len(said) - len(below) :] == below:
                break
        return result


@lru_cache(maxsize=64)  # a write looks at memory and each month of the archive several times over; none of them changes
def parse(text: str) -> Document:
    """Read *text* into blocks. Never fails; ``parse(text).render() == text``.

    A line ends at LF, CR or CR LF, as in CommonMark, and nowhere else.
    """
    lines = _LINE.findall(text)
    front = _front_matter_end(lines)
    spans = _spans("".join(lines[front:]), front)
    blocks: list[Block] = []
    if front:
        blocks.append(Block(kind="front", raw="".join(lines[:front]), line=1))
    at = front
    for start, end, token in spans:
        if start < at:  # an overlap would duplicate text; the first block that claims a line keeps it
            continue
        blocks.extend(_filler(lines, at, start))
        stop = end
        while stop > start + 1 and not lines[stop - 1].strip():
            stop -= 1
        blocks.append(_block(lines, start, stop, token))
        at = stop
    blocks.extend(_filler(lines, at, len(lines)))
    return Document(tuple(blocks))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _spans(text: str, offset: int) -> list[tuple[int, int, Token]]:
    """``(first line, line after the last, token)`` of every top-level block; list items stand for their list."""
    found = []
    in_list = False
    for token in _markdown().parse(text):
        if token.level == 0:
            in_list = token.type in {"bullet_list_open", "ordered_list_open"}
        wanted = token.type == "list_item_open" if in_list else token.level == 0
        if token.map and wanted and token.level <= 1 and token.nesting >= 0:
            found.append((token.map[0] + offset, token.map[1] + offset, token))
    return found


def _block(lines: Sequence[str], start: int, stop: int, token: Token) -> Block:
    raw = "".join(lines[start:stop])
    if token.type == "list_item_open":
        entry = parse_entry(raw) if token.markup in {"-", "*", "+"} else None
        return Block(kind="entry" if entry else "item", raw=raw, line=start + 1, entry=entry)
    kind = _KINDS.get(token.type, "text")
    if kind != "heading":
        return Block(kind=kind, raw=raw, line=start + 1)
    match = _HEADING_TEXT.match(lines[start].rstrip("\r\n")) if token.markup.startswith("#") else None
    title = match["title"] if match else " ".join(line.strip() for line in lines[start : stop - 1])
    return Block(kind="heading", raw=raw, line=start + 1, level=int(token.tag[1]), title=title.strip())


def _filler(lines: Sequence[str], start: int, end: int) -> Iterator[Block]:
    """Lines that no token covers: blank ones, and link definitions."""
    at = start
    while at < end:
        blank = not lines[at].strip()
        stop = at + 1
        while stop < end and (not lines[stop].strip()) == blank:
            stop += 1
        yield Block(kind="blank" if blank else "text", raw="".join(lines[at:stop]), line=at + 1)
        at = stop


def _front_matter_end(lines: Sequence[str]) -> int:
    """Number of lines of a leading ``---`` block, fences included; 0 when there is none.

    What a blank line follows is a rule across the page, and what holds a heading is text: neither hides anything.
    """
    if len(lines) < 2 or lines[0].rstrip() != "---" or not lines[1].strip():
        return 0
    for index in range(1, len(lines)):
        if lines[index].startswith("## "):
            return 0
        if lines[index].rstrip() == "---":
            return index + 1
    return 0


def _blank_line_after(text: str) -> str:
    """A line end that makes a blank line; after CR a LF would only complete the line end."""
    return "\r" if text.endswith("\r") else "\n"


def _said(blocks: Sequence[Block]) -> list[str]:
    """The texts of the blocks that say something."""
    return [block.raw for block in blocks if block.kind != "blank"]


def _entry_block(entry: Entry) -> Block:
    return Block(kind="entry", raw=entry.render(), entry=entry)
