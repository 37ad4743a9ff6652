"""Merging two versions of a memory file into one, by what it says and not by lines.

Entries are told apart by their ids, sections of a daily log by their anchors, everything else by its text. What either
side added is kept, what one side took out is gone unless the other changed it, and what both changed is one entry where
their changes fit together (``agent_home.documents.entry_merge``) and two where they do not, the second one flagged.
Sections and order stay; the result never holds conflict markers. Merging again changes nothing. Git calls this as a
merge driver (``agent_home.git.merge_driver``); a file whose structure is broken is left to a person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .. import storage
from ..errors import DocumentInvalid
from .check import UNCLOSED_RULES, holds_entries, text_problems
from .document import Block, Document, parse
from .entry import Entry
from .entry_merge import conflicting_version, merged_entry

__all__ = ["MergedText", "merge_files", "merge_texts"]

#: Files of which a section is one piece: nobody edits a line of it.
_LOGS = ("DailyActivity/", "Archive/DailyActivity/", "ledger/")
_ANCHOR = re.compile(r"\((?P<anchor>[a-z]-[0-9a-z]+)\)$")
#: Ends the title of the second of two sections that both machines wrote.
_OTHER = ", other version"
_UNMERGEABLE = UNCLOSED_RULES | {"conflict-marker"}
#: What a piece is called: its kind, its name, and a number where several have the same.
_Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedText:
    """The merged file. *flagged* are the ids or anchors of what both sides changed so that both versions stand."""

    text: str
    flagged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    key: _Key
    raw: str  # without blank lines around it, ending in a newline
    part: _Key  # of what it stands under; its own for a heading, and for a section that is one piece
    entry: Entry | None = None
    heading: bool = False
    listed: bool = False


@dataclass(slots=True)
class _Version:
    """A file as pieces by key, in file order; *gaps* are the blank lines between two that stand side by side."""

    pieces: dict[_Key, _Piece] = field(default_factory=dict)
    gaps: dict[tuple[_Key | None, _Key | None], str] = field(default_factory=dict)

    @property
    def entries(self) -> dict[str, Entry]:
        return {piece.entry.id: piece.entry for piece in self.pieces.values() if piece.entry}


_TOP: _Key = ("top", "", 0)


def merge_texts(base: str, ours: str, theirs: str, path: str) -> MergedText:
    """The version of the file *path* that holds what *ours* and *theirs* made of *base*, which may be empty.

    Raises:
        DocumentInvalid: one of the two has a block that is never closed, or conflict markers: its structure is unsure.
    """
    if theirs in (ours, base):
        return MergedText(text=ours)
    if ours == base:
        return MergedText(text=theirs)
    for text in (ours, theirs):
        broken = next((p for p in text_problems(path, text) if p.rule in _UNMERGEABLE), None)
        if broken:
            problem = f"cannot be merged: {broken.message}; mend it on the branch it comes from, and merge again"
            raise DocumentInvalid(path, broken.line, broken.rule, problem)
    start, left, right = (_version(parse(text), path) for text in (base, ours, theirs))
    merged, flagged = _merged(start, left, right)
    return MergedText(text=_rendered(merged, (left, right), path), flagged=tuple(flagged))


def merge_files(base: Path, ours: Path, theirs: Path, path: str) -> MergedText:
    """Merge three files as git hands them to a merge driver, into *ours*; *path* is the name in the home.

    Raises:
        DocumentInvalid: as for :func:`merge_texts`, or a file is not UTF-8; nothing was written.
    """
    merged = merge_texts(storage.read_text(base), storage.read_text(ours), storage.read_text(theirs), path)
    storage.stage(ours, merged.text.encode())
    return merged


def _version(document: Document, path: str) -> _Version:
    version = _Version()
    before, gap, part = None, "", _TOP
    for piece in _pieces(document, path):
        if isinstance(piece, str):
            gap += piece
            continue
        kind, name, _ = piece.key
        number = next(n for n in range(len(version.pieces) + 1) if (kind, name, n) not in version.pieces)
        key = (kind, name, number)
        part = key if kind == "part" else part
        version.pieces[key] = replace(piece, key=key, part=part)
        version.gaps[before, key] = gap
        before, gap = key, ""
    version.gaps[before, None] = gap
    return version


def _pieces(document: Document, path: str) -> Iterator[_Piece | str]:
    """The pieces of a file, and the blank lines between them as texts."""
    whole = path.startswith(_LOGS)
    sections = document.sections()
    first = sections[0].start if sections and whole else len(document.blocks)
    for block in document.blocks[:first]:
        yield block.raw if block.kind == "blank" else _piece(block, holds_entries(path))
    for section in sections if whole else ():
        blocks = list(document.blocks[section.start : section.end])
        end = len(blocks)
        while blocks[end - 1].kind == "blank":
            end -= 1
        raw = _ended("".join(block.raw for block in blocks[:end]))
        name = raw if _is_other(section.title) else _name_of(section.title)
        yield _Piece(key=("part", name, 0), raw=raw, part=_TOP)
        yield "".join(block.raw for block in blocks[end:])


def _piece(block: Block, entries: bool) -> _Piece:  # noqa: FBT001
    if block.kind == "heading" and block.level == 2:
        return _Piece(key=("part", block.title.casefold(), 0), raw=_ended(block.raw), part=_TOP, heading=True)
    if block.entry and entries:
        return _Piece(
            key=("entry", block.entry.id, 0), raw=_ended(block.raw), part=_TOP, entry=block.entry, listed=True
        )
    return _Piece(key=("text", block.raw.rstrip(), 0), raw=_ended(block.raw), part=_TOP,
                  listed=block.kind in {"entry", "item"})  # fmt: skip


def _merged(base: _Version, ours: _Version, theirs: _Version) -> tuple[list[_Piece], list[str]]:
    """The pieces of the merged file in order, and what is flagged in it."""
    kept: dict[_Key, _Piece] = {}
    beside: dict[_Key, _Piece] = {}
    taken = ours.entries | theirs.entries
    for key in dict.fromkeys((*ours.pieces, *theirs.pieces)):
        piece, other = _three_way(base.pieces.get(key), ours.pieces.get(key), theirs.pieces.get(key), taken)
        if piece is not None:
            kept[key] = piece
        if other is not None and other.key not in ours.pieces and other.key not in theirs.pieces:
            beside[key] = other
    for piece in list(kept.values()):
        heading = ours.pieces.get(piece.part) or theirs.pieces.get(piece.part)
        if heading is not None:  # it may have been taken out, while there is still something under it
            kept.setdefault(piece.part, heading)
    ordered = []
    for part in (_TOP, *_ordered(ours, theirs, {key for key in kept if key[0] == "part"})):
        for key in _ordered(ours, theirs, {key for key, piece in kept.items() if piece.part == part}):
            ordered += [kept[key], *([beside[key]] if key in beside else [])]
    return ordered, [_called(piece) for piece in beside.values()]


def _three_way(
    base: _Piece | None, ours: _Piece | None, theirs: _Piece | None, taken: Mapping[str, Entry]
) -> tuple[_Piece | None, _Piece | None]:
    """What is kept of one piece, and the other version where both changed it and both stand."""
    if ours is None or theirs is None:
        there = ours or theirs
        unchanged = base is not None and there is not None and base.raw == there.raw
        return (None if unchanged else there), None
    if ours.raw == theirs.raw or ours.heading or (base and theirs.raw == base.raw):
        return ours, None
    if base and ours.raw == base.raw:
        return theirs, None
    if ours.entry and theirs.entry:
        entry = merged_entry(base.entry if base else None, ours.entry, theirs.entry)
        if entry is not None:
            return replace(ours, raw=_ended(entry.render()), entry=entry), None
    first, second = sorted((ours, theirs), key=lambda piece: piece.raw, reverse=True)
    return replace(first, part=ours.part), _other_version(replace(second, part=ours.part), taken)


def _other_version(piece: _Piece, taken: Mapping[str, Entry]) -> _Piece:
    """*piece* under a name of its own, flagged."""
    if piece.entry:
        entry = conflicting_version(piece.entry.id, piece.entry, taken)
        return replace(piece, key=("entry", entry.id, 0), raw=_ended(entry.render()), entry=entry)
    title, _, rest = piece.raw.partition("\n")
    anchor = _ANCHOR.search(title)
    title = f"{title[: anchor.start()].rstrip()}{_OTHER} {anchor.group()}" if anchor else f"{title.rstrip()}{_OTHER}"
    raw = f"{title}\n{rest}"
    return replace(piece, key=("part", raw, 0), raw=raw)


def _ordered(ours: _Version, theirs: _Version, wanted: Collection[_Key]) -> list[_Key]:
    """Those *wanted*, in our order; what only they have stands before what follows it there, else at the end."""
    order = [key for key in ours.pieces if key in wanted]
    at = len(order)
    for key in reversed([key for key in theirs.pieces if key in wanted]):
        if key in ours.pieces:
            at = order.index(key)
        else:
            order.insert(at, key)
    return order


def _rendered(pieces: Sequence[_Piece], versions: Sequence[_Version], path: str) -> str:
    wanted = Counter(piece.raw.strip() for piece in pieces if piece.entry)
    for least in ("", "\n"):
        text = "".join(_spaced(pieces, versions, least))
        if not wanted - Counter(block.raw.strip() for block in parse(text).blocks):
            return text
    problem = "cannot be merged: what stands between its entries joins them; put blank lines around it, and merge again"
    raise DocumentInvalid(path, 0, "malformed-entry", problem)


def _spaced(pieces: Sequence[_Piece], versions: Sequence[_Version], least: str) -> Iterator[str]:
    before: _Piece | None = None
    for piece in pieces:
        yield _gap(before, piece, versions, least)
        yield piece.raw
        before = piece
    last = before.key if before else None
    yield next((version.gaps[last, None] for version in versions if (last, None) in version.gaps), "")


def _gap(before: _Piece | None, piece: _Piece, versions: Sequence[_Version], least: str) -> str:
    pair = (before.key if before else None, piece.key)
    for version in versions:
        if pair in version.gaps:
            return version.gaps[pair] or least
    if before is None:
        return ""
    return least if before.listed and piece.listed else "\n"


def _is_other(title: str) -> bool:
    return _ANCHOR.sub("", title).rstrip().endswith(_OTHER)


def _called(piece: _Piece) -> str:
    """How a person finds the piece: its id, its anchor or its title."""
    return piece.entry.id if piece.entry else _name_of(piece.raw.split("\n", 1)[0])


def _name_of(title: str) -> str:
    anchor = _ANCHOR.search(title)
    return anchor["anchor"] if anchor else title.lstrip("# ").casefold()


def _ended(raw: str) -> str:
    return raw if raw.endswith(("\n", "\r")) else f"{raw}\n"
