"""Parse a Markdown file into blocks and edit it block by block.

Every byte of the text belongs to exactly one block, so ``parse(text).render() == text`` for every text. An edit changes
only the blocks that it names. Structure comes from markdown-it, so a heading inside a code fence is not a heading. The
rules for a valid ``MEMORY.md`` are in ``agent_home.documents.check``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from guard.lazy_regex import lazy_regex

from .entry import Entry, parse_entry

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Block", "Document", "Kind", "Section", "item_paragraphs", "parse"]

Kind = Literal["front", "heading", "entry", "item", "code", "html", "text", "blank"]
_LINE = lazy_regex(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_HEADING_MARK = lazy_regex(r" {0,3}#{1,6}")
#: What could make a later heading or entry part of an open block. Three ticks or tildes may be a code span: no matter.
_FENCE_OR_HTML = lazy_regex(r"```|~~~|(?:\A|[\r\n])[ \t>*+\-0-9.)]*<[A-Za-z/!?]")
_TABLE_RULE = lazy_regex(r"[ \t]*[|:-]")
_OPENS_PART = lazy_regex(r"- \*\*\[|#{1,6}(?:[ \t]|[\r\n]|\Z)")
#: An entry whose further lines begin with a letter, so that none of them opens a block of its own, and blank lines.
_PLAIN_ENTRY = lazy_regex(r"(?P<entry>- \*\*\[[^\r\n]*\n(?: {2,3}[A-Za-z][^\r\n]*\n)*)(?P<blank>(?:[ \t]*\n)*)\Z")
_KINDS: dict[str, Kind] = {"fence": "code", "code_block": "code", "html_block": "html", "heading_open": "heading"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A run of whole lines. *line* counts from 1. *level* and *title* belong to headings."""

    kind: Kind
    raw: str
    line: int = 0
    level: int = 0
    title: str = ""
    entry: Entry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with the blocks below it, up to the next heading of its level or above.

    *start* and *end* index the document's blocks, and the range includes the heading.
    """

    title: str
    level: int
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """An immutable Markdown file. Every edit returns a new document."""

    blocks: tuple[Block, ...]

    def render(self) -> str:
        return "".join(block.raw for block in self.blocks)

    def entries(self) -> Iterator[Entry]:
        """Return an iterator over the entries in file order."""
        return (block.entry for block in self.blocks if block.entry is not None)

    def entry(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.entries() if entry.id == entry_id), None)

    def sections(self, level: int = 2) -> list[Section]:
        """Return the sections of *level* in file order."""
        found = []
        for index, block in enumerate(self.blocks):
            if block.kind == "heading" and block.level == level:
                end = self._end_of(index, level)
                found.append(Section(title=block.title, level=level, line=block.line, start=index, end=end))
        return found

    def section(self, title: str, level: int = 2) -> Section | None:
        """Return the first section with that title. Case and surrounding space are ignored."""
        folded_title = title.strip().casefold()
        return next((s for s in self.sections(level) if s.title.casefold() == folded_title), None)

    def section_entries(self, title: str) -> list[Entry]:
        """Return the entries under ``## title`` in file order. The list is empty when there is no such section."""
        section = self.section(title)
        if section is None:
            return []
        return [block.entry for block in self.blocks[section.start : section.end] if block.entry is not None]

    def with_entry(self, title: str, entry: Entry) -> Document:
        """Return the document with *entry* first in section *title*. A missing section is added at the end."""
        return self._spliced(*self._insertion_at(title, [_entry_block(entry)]))

    def with_entries(self, added: Sequence[tuple[str, Entry]], changed: Sequence[Entry] = ()) -> Document:
        """Return the document with *changed* entries replaced and *added* ``(section title, entry)`` pairs inserted.

        The result equals a series of :meth:`with_entry_changed` and :meth:`with_entry` calls at the cost of one edit.

        Raises:
            KeyError: the document has no entry with the id of an entry of *changed*.
        """
        if not added and not changed:
            return self
        edited = self._replaced(changed)
        groups: dict[str, list[tuple[str, Entry]]] = {}
        for title, entry in added:
            groups.setdefault(title.strip().casefold(), []).append((title, entry))
        for group in groups.values():
            newest_first = [_entry_block(entry) for _, entry in reversed(group)]
            start, end, blocks = edited._insertion_at(group[0][0], newest_first)  # noqa: SLF001 - of this very class
            edited = Document((*edited.blocks[:start], *blocks, *edited.blocks[end:]))
        result = parse(edited.render())
        if _non_blank(result.blocks) == _non_blank(edited.blocks):
            return result
        # A new block would join a neighbour. Halving finds it faster than one edit for each entry.
        if len(changed) + len(added) == 1:
            return self.with_entry_changed(changed[0]) if changed else self.with_entry(*added[0])
        if changed and added:
            return self.with_entries((), changed).with_entries(added)
        half_added, half_changed = len(added) // 2, len(changed) // 2
        return self.with_entries(added[:half_added], changed[:half_changed]).with_entries(
            added[half_added:], changed[half_changed:]
        )

    def with_entry_changed(self, entry: Entry) -> Document:
        """Return the document with the entry of the same id replaced in place.

        Raises:
            KeyError: no entry has that id.
        """
        at = self._index_of(entry.id)
        return self._spliced(at, at + 1, [_entry_block(entry)])

    def without_entry(self, entry_id: str) -> Document:
        """Return the document without that entry. The lines around it stay.

        Raises:
            KeyError: no entry has that id.
        """
        at = self._index_of(entry_id)
        return self._spliced(at, at + 1, [])

    def without_entries(self, ids: Collection[str]) -> Document:
        """Return the document without the entries of these ids, at the cost of one edit. Unknown ids are ignored."""
        if not ids:
            return self
        edited = Document(tuple(b for b in self.blocks if b.entry is None or b.entry.id not in ids))
        result = parse(edited.render())
        if _non_blank(result.blocks) == _non_blank(edited.blocks):
            return result
        result = self  # two neighbours of a removed entry would join
        for block in self.blocks:
            if block.entry is not None and block.entry.id in ids:
                result = result.without_entry(block.entry.id)
        return result

    def with_text_at_end(self, text: str) -> Document:
        """Return the document with *text* appended after a blank line, parsed anew."""
        gap = self._gap_before_section() if self.blocks else ""
        return parse(self.render() + gap + text)

    def with_blocks(self, blocks: Sequence[Block]) -> Document:
        """Return the document with other blocks, parsed anew so that kinds and line numbers are correct."""
        return parse("".join(block.raw for block in blocks))

    def _index_of(self, entry_id: str) -> int:
        for index, block in enumerate(self.blocks):
            if block.entry is not None and block.entry.id == entry_id:
                return index
        raise KeyError(entry_id)

    def _replaced(self, changed: Sequence[Entry]) -> Document:
        """Return the document with *changed* entries replaced, not parsed. Of a repeated id the first block changes."""
        replacements = {entry.id: _entry_block(entry) for entry in changed}
        blocks = [
            replacements.pop(block.entry.id) if block.entry is not None and block.entry.id in replacements else block
            for block in self.blocks
        ]
        if replacements:
            raise KeyError(next(iter(replacements)))
        return Document(tuple(blocks))

    def _insertion_at(self, title: str, entries: list[Block]) -> tuple[int, int, list[Block]]:
        """Return ``(start, end, blocks)``: the blocks in place of that range put *entries* first in section *title*."""
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
        return self._insertion_at_end(section, entries)

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

    def _insertion_at_end(self, section: Section, entries: Sequence[Block]) -> tuple[int, int, list[Block]]:
        """Return ``(start, end, blocks)`` for a section without entries: after its text, between blank lines."""
        end = section.end
        while end > section.start + 1 and self.blocks[end - 1].kind == "blank":
            end -= 1
        before = self.blocks[end - 1].raw
        lead = _blank_line_after(before) if before.endswith(("\n", "\r")) else "\n\n"
        tail = [Block(kind="blank", raw="\n")] if section.end < len(self.blocks) else []
        return end, section.end, [Block(kind="blank", raw=lead), *entries, *tail]

    def _spliced(self, start: int, end: int, blocks: Sequence[Block]) -> Document:
        """Replace a range of blocks and parse anew. A blank line is added where the splice would join two blocks."""
        before, after = self.blocks[:start], self.blocks[end:]
        above, below = _non_blank(before), _non_blank(after)
        head, tail = ("".join(block.raw for block in part) for part in ((*before, *blocks), after))
        for gap in ("", _blank_line_after(head)):
            result = parse(head + gap + tail)
            texts = _non_blank(result.blocks)
            if texts[: len(above)] == above and texts[len(texts) - len(below) :] == below:
                break
        return result


@lru_cache(maxsize=64)  # a write parses memory and each month of the archive several times
def parse(text: str) -> Document:
    """Parse *text* into blocks. Never fails, and ``parse(text).render() == text``.

    A line ends at LF, CR or CR LF, as in CommonMark, and nowhere else.
    """
    lines = _LINE.findall(text)
    front = _front_matter_end(lines)
    blocks: list[Block] = []
    if front:
        blocks.append(Block(kind="front", raw="".join(lines[:front]), line=1))
    for start, part in _independent_parts(lines, front):
        blocks.extend(replace(block, line=start + block.line) for block in _part_blocks(part))
    return Document(tuple(blocks))


def _independent_parts(lines: Sequence[str], start: int) -> Iterator[tuple[int, str]]:
    """Yield the parts of the text from line *start* on that can be parsed alone, with the lines before each.

    A heading or an entry at the margin closes every block but a code fence or HTML. A text with one of these is a
    single part. An entry that alone would be the head of a table stays with the list before it.
    """
    if start == len(lines):
        return
    if _FENCE_OR_HTML.search("".join(lines[start:])):
        yield start, "".join(lines[start:])
        return
    first = start
    for at in range(start + 1, len(lines)):
        opens = lines[at].startswith(("- **[", "#")) and _OPENS_PART.match(lines[at])
        if opens and not ("|" in lines[at] and _TABLE_RULE.match("".join(lines[at + 1 : at + 2]))):
            yield first, "".join(lines[first:at])
            first = at
    yield first, "".join(lines[first:])


def item_paragraphs(raw: str) -> Iterator[tuple[int, int, int]]:
    """Yield ``(depth, start, end)`` of the first paragraph of the list item *raw*, and of the items in it.

    *start* and *end* are offsets, from the marker to before the last line end. Unindented lines that go on with a
    paragraph are left out, because who writes them rarely means them to be part of the item.
    """
    lines = _LINE.findall(raw)
    if len(lines) == 1:
        yield 0, 0, len(raw.rstrip("\r\n"))
        return
    offsets = [0, *accumulate(map(len, lines))]
    before, nested = None, 0
    for token in _markdown().parse(raw):
        if token.type in {"list_item_open", "list_item_close", "blockquote_open", "blockquote_close"}:
            nested += token.nesting * (1 if token.type.startswith("list") else 1000)
        elif token.type == "paragraph_open" and before == "list_item_open" and nested < 1000 and token.map:
            first, stop = token.map
            end = next((at for at in range(first + 1, stop) if not lines[at].startswith((" ", "\t"))), stop)
            yield nested - 1, offsets[first], offsets[first] + len("".join(lines[first:end]).rstrip("\r\n"))
        before = token.type


@lru_cache(maxsize=16384)  # an edit changes one entry, and the others are parsed already
def _part_blocks(text: str) -> tuple[Block, ...]:
    """Parse a part of a text into blocks, whose lines count from 1.

    Most entries need no parser of Markdown, which takes ten times as long.
    """
    plain = _PLAIN_ENTRY.match(text)
    if plain is not None:
        return _plain_entry(plain["entry"], plain["blank"])
    lines = _LINE.findall(text)
    blocks: list[Block] = []
    at = 0
    for start, end, token in _spans(text):
        if start < at:  # an overlap would duplicate text; the first block that claims a line keeps it
            continue
        if not any(line.strip() for line in lines[start:end]):  # a paragraph of U+3000 or a form feed: a blank line
            continue
        blocks.extend(_filler(lines, at, start))
        stop = end
        while stop > start + 1 and not lines[stop - 1].strip():
            stop -= 1
        blocks.append(_block(lines, start, stop, token))
        at = stop
    blocks.extend(_filler(lines, at, len(lines)))
    return tuple(blocks)


def _plain_entry(raw: str, blank: str) -> tuple[Block, ...]:
    """Return the blocks of one entry and the blank lines after it."""
    entry = parse_entry(raw)
    block = Block(kind="entry" if entry else "item", raw=raw, line=1, entry=entry)
    return (block, Block(kind="blank", raw=blank, line=1 + raw.count("\n"))) if blank else (block,)


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _spans(text: str) -> list[tuple[int, int, Token]]:
    """Return ``(first line, line after the last, token)`` of every top-level block. A list counts as its items."""
    found = []
    in_list = False
    for token in _markdown().parse(text):
        if token.level == 0:
            in_list = token.type in {"bullet_list_open", "ordered_list_open"}
        is_top_block = token.type == "list_item_open" if in_list else token.level == 0
        if token.map and is_top_block and token.level <= 1 and token.nesting >= 0:
            found.append((token.map[0], token.map[1], token))
    return found


def _block(lines: Sequence[str], start: int, stop: int, token: Token) -> Block:
    raw = "".join(lines[start:stop])
    if token.type == "list_item_open":
        entry = parse_entry(raw) if token.markup in {"-", "*", "+"} else None
        return Block(kind="entry" if entry else "item", raw=raw, line=start + 1, entry=entry)
    kind = _KINDS.get(token.type, "text")
    if kind != "heading":
        return Block(kind=kind, raw=raw, line=start + 1)
    if token.markup.startswith("#"):
        title = _heading_title(lines[start])
    else:
        title = " ".join(line.strip() for line in lines[start : stop - 1])
    return Block(kind="heading", raw=raw, line=start + 1, level=int(token.tag[1]), title=title.strip())


def _heading_title(line: str) -> str:
    """Return the title in a line that begins with number signs. A closing run of them is no part of it."""
    title = _HEADING_MARK.sub("", line.rstrip("\r\n"), count=1).strip(" \t")
    unclosed = title.rstrip("#")
    return unclosed.rstrip(" \t") if unclosed.endswith((" ", "\t")) else title


def _filler(lines: Sequence[str], start: int, end: int) -> Iterator[Block]:
    """Yield blocks for the lines that no token covers: blank lines and link definitions."""
    at = start
    while at < end:
        blank = not lines[at].strip()
        stop = at + 1
        while stop < end and (not lines[stop].strip()) == blank:
            stop += 1
        yield Block(kind="blank" if blank else "text", raw="".join(lines[at:stop]), line=at + 1)
        at = stop


def _front_matter_end(lines: Sequence[str]) -> int:
    """Return the number of lines of a leading ``---`` block, fences included, or 0 when there is none.

    A ``---`` before a blank line is a thematic break, and a block with a ``##`` heading is text.
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
    """Return a line end that adds a blank line. After CR it is CR, because LF would only complete the line end."""
    return "\r" if text.endswith("\r") else "\n"


def _non_blank(blocks: Sequence[Block]) -> list[str]:
    """Return the texts of the blocks that are not blank."""
    return [block.raw for block in blocks if block.kind != "blank"]


def _entry_block(entry: Entry) -> Block:
    return Block(kind="entry", raw=entry.render(), entry=entry)
