"""Merge two versions of a memory file by entries, sections and blocks instead of by lines.

Entries are identified by their ids, sections of a daily log by their anchors, and everything else by its text. The
merge keeps every addition of either side. It drops what one side removed, unless the other side changed it. An entry
that both sides changed is merged field by field (``agent_home.documents.entry_merge``). Where the fields do not fit
together, both versions stay and the second one is flagged. Sections and order stay, the result never has conflict
markers, and merging again changes nothing. Git calls this module as a merge driver (``agent_home.git.merge_driver``).
A file with an unclosed block is left to a person (``agent_home.git.line_merge``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from guard.lazy_regex import lazy_regex

from .. import storage
from ..errors import DocumentInvalid
from .check import UNCLOSED_RULES, Problem, holds_entries, text_problems
from .document import Block, Document, parse
from .entry import Entry
from .entry_merge import conflicting_version, merged_entry

__all__ = ["MergedText", "is_unmergeable", "merge_files", "merge_texts"]

#: Files whose sections are merged as one chunk each, because nobody edits their lines.
_LOGS = ("DailyActivity/", "Archive/DailyActivity/", "ledger/")
_ANCHOR = lazy_regex(r"\((?P<anchor>[a-z]-[0-9a-z]+)\)$")
#: Suffix of the title of the second of two sections that both machines wrote.
_CONFLICT_TITLE = ", other version"
_UNMERGEABLE = UNCLOSED_RULES | {"conflict-marker"}
#: Kind and name of a chunk, and a number that separates chunks with the same name.
_Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedText:
    """The merged file. *flagged* has the ids or anchors of conflicting changes, of which both versions stay."""

    text: str
    flagged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _MergeChunk:
    key: _Key
    raw: str  # without blank lines around it, ends in a newline
    parent: _Key  # key of the heading above; a heading and a section in one chunk are their own parents
    entry: Entry | None = None
    is_heading: bool = False
    is_list_item: bool = False


@dataclass(slots=True)
class _Version:
    """A file as chunks by key, in file order. *gaps* has the blank lines between two neighbouring chunks."""

    chunks: dict[_Key, _MergeChunk] = field(default_factory=dict)
    gaps: dict[tuple[_Key | None, _Key | None], str] = field(default_factory=dict)

    @property
    def entries(self) -> dict[str, Entry]:
        return {chunk.entry.id: chunk.entry for chunk in self.chunks.values() if chunk.entry}


_TOP: _Key = ("top", "", 0)


def merge_texts(base: str, ours: str, theirs: str, path: str) -> MergedText:
    """Merge the changes that *ours* and *theirs* made to *base*, which may be empty, in the file *path*.

    Raises:
        DocumentInvalid: *ours* or *theirs* has a block that is never closed, or conflict markers.
    """
    if theirs in (ours, base):
        return MergedText(text=ours)
    if ours == base:
        return MergedText(text=theirs)
    for text in (ours, theirs):
        found = _obstacle(path, text)
        if found:
            problem = f"cannot be merged: {found.message}. Correct it on the branch that added it and merge again"
            raise DocumentInvalid(path, found.line, found.rule, problem)
    start, left, right = (_parse_version(parse(text), path) for text in (base, ours, theirs))
    merged, flagged = _merge_versions(start, left, right)
    return MergedText(text=_render(merged, (left, right), path), flagged=tuple(flagged))


def is_unmergeable(path: str, text: str) -> bool:
    """Return whether *text*, the file *path*, has a block that is never closed, or conflict markers."""
    return path.endswith(".md") and _obstacle(path, text) is not None


def _obstacle(path: str, text: str) -> Problem | None:
    return next((problem for problem in text_problems(path, text) if problem.rule in _UNMERGEABLE), None)


def merge_files(base: Path, ours: Path, theirs: Path, path: str) -> MergedText:
    """Merge three files as git passes them to a merge driver, and write *ours*. *path* is the name in the home.

    Raises:
        DocumentInvalid: see :func:`merge_texts`, or a file is not UTF-8. Nothing was written.
    """
    merged = merge_texts(storage.read_text(base), storage.read_text(ours), storage.read_text(theirs), path)
    storage.stage(ours, merged.text.encode())
    return merged


def _parse_version(document: Document, path: str) -> _Version:
    version = _Version()
    before, gap, part = None, "", _TOP
    seen: Counter[tuple[str, str]] = Counter()
    for chunk in _chunks(document, path):
        if isinstance(chunk, str):
            gap += chunk
            continue
        kind, name, _ = chunk.key
        key = (kind, name, seen[kind, name])
        seen[kind, name] += 1
        part = key if kind == "part" else part
        version.chunks[key] = replace(chunk, key=key, parent=part)
        version.gaps[before, key] = gap
        before, gap = key, ""
    version.gaps[before, None] = gap
    return version


def _chunks(document: Document, path: str) -> Iterator[_MergeChunk | str]:
    """Yield the chunks of a file, and the blank lines between them as strings."""
    by_section = path.startswith(_LOGS)
    sections = document.sections()
    first = sections[0].start if sections and by_section else len(document.blocks)
    for block in document.blocks[:first]:
        yield block.raw if block.kind == "blank" else _chunk(block, holds_entries(path))
    for section in sections if by_section else ():
        blocks = list(document.blocks[section.start : section.end])
        end = len(blocks)
        while blocks[end - 1].kind == "blank":
            end -= 1
        raw = _with_line_end("".join(block.raw for block in blocks[:end]))
        name = raw if _is_conflicting_section(section.title) else _anchor_or_title(section.title)
        yield _MergeChunk(key=("part", name, 0), raw=raw, parent=_TOP)
        yield "".join(block.raw for block in blocks[end:])


def _chunk(block: Block, entries: bool) -> _MergeChunk:  # noqa: FBT001
    if block.kind == "heading" and block.level == 2:
        return _MergeChunk(
            key=("part", block.title.casefold(), 0), raw=_with_line_end(block.raw), parent=_TOP, is_heading=True
        )
    if block.entry and entries:
        return _MergeChunk(
            key=("entry", block.entry.id, 0),
            raw=_with_line_end(block.raw),
            parent=_TOP,
            entry=block.entry,
            is_list_item=True,
        )
    return _MergeChunk(key=("text", block.raw.rstrip(), 0), raw=_with_line_end(block.raw), parent=_TOP,
                  is_list_item=block.kind in {"entry", "item"})  # fmt: skip


def _merge_versions(base: _Version, ours: _Version, theirs: _Version) -> tuple[list[_MergeChunk], list[str]]:
    """Return the chunks of the merged file in order, and the names of the flagged ones."""
    kept: dict[_Key, _MergeChunk] = {}
    conflicting: dict[_Key, _MergeChunk] = {}
    known = ours.entries | theirs.entries
    for key in dict.fromkeys((*ours.chunks, *theirs.chunks)):
        chunk, other = _three_way(base.chunks.get(key), ours.chunks.get(key), theirs.chunks.get(key), known)
        if chunk is not None:
            kept[key] = chunk
        if other is not None and other.key not in ours.chunks and other.key not in theirs.chunks:
            conflicting[key] = other
    for chunk in list(kept.values()):
        heading = ours.chunks.get(chunk.parent) or theirs.chunks.get(chunk.parent)
        if heading is not None:  # a removed heading returns when a chunk below it stays
            kept.setdefault(chunk.parent, heading)
    ordered = []
    in_ours, in_theirs = (_by_part(version, kept) for version in (ours, theirs))
    parts = ([key for key in version.chunks if key in kept and key[0] == "part"] for version in (ours, theirs))
    for part in (_TOP, *_ordered(*parts)):
        for key in _ordered(in_ours.get(part, []), in_theirs.get(part, [])):
            ordered += [kept[key], *([conflicting[key]] if key in conflicting else [])]
    return ordered, [_display_name(chunk) for chunk in conflicting.values()]


def _three_way(
    base: _MergeChunk | None, ours: _MergeChunk | None, theirs: _MergeChunk | None, known: Mapping[str, Entry]
) -> tuple[_MergeChunk | None, _MergeChunk | None]:
    """Return the merged chunk, or ``None``, and the conflicting version where both sides changed the chunk."""
    if ours is None or theirs is None:
        remaining = ours or theirs
        unchanged = base is not None and remaining is not None and base.raw == remaining.raw
        return (None if unchanged else remaining), None
    if ours.raw == theirs.raw or ours.is_heading or (base and theirs.raw == base.raw):
        return ours, None
    if base and ours.raw == base.raw:
        return theirs, None
    if ours.entry and theirs.entry:
        entry = merged_entry(base.entry if base else None, ours.entry, theirs.entry)
        if entry is not None:
            return replace(ours, raw=_with_line_end(entry.render()), entry=entry), None
    first, second = sorted((ours, theirs), key=lambda chunk: chunk.raw, reverse=True)
    return replace(first, parent=ours.parent), _as_conflicting_version(replace(second, parent=ours.parent), known)


def _as_conflicting_version(chunk: _MergeChunk, known: Mapping[str, Entry]) -> _MergeChunk:
    """Return *chunk* with a key of its own, flagged as a conflicting version."""
    if chunk.entry:
        entry = conflicting_version(chunk.entry.id, chunk.entry, known)
        return replace(chunk, key=("entry", entry.id, 0), raw=_with_line_end(entry.render()), entry=entry)
    title, _, rest = chunk.raw.partition("\n")
    anchor = _ANCHOR.search(title)
    title = (
        f"{title[: anchor.start()].rstrip()}{_CONFLICT_TITLE} {anchor.group()}"
        if anchor
        else f"{title.rstrip()}{_CONFLICT_TITLE}"
    )
    raw = f"{title}\n{rest}"
    return replace(chunk, key=("part", raw, 0), raw=raw)


def _by_part(version: _Version, kept: Mapping[_Key, _MergeChunk]) -> dict[_Key, list[_Key]]:
    """Return the *kept* keys of *version* below each part, in their order."""
    keys: dict[_Key, list[_Key]] = {}
    for key in version.chunks:
        if key in kept:
            keys.setdefault(kept[key].parent, []).append(key)
    return keys


def _ordered(ours: Sequence[_Key], theirs: Sequence[_Key]) -> list[_Key]:
    """Return the keys of both in our order. A key of *theirs* alone goes before its successor there, or last."""
    known = set(ours)
    before: dict[_Key | None, list[_Key]] = {}
    successor: _Key | None = None
    for key in reversed(theirs):
        if key in known:
            successor = key
        else:
            before.setdefault(successor, []).append(key)
    order: list[_Key] = []
    for place in (*ours, None):
        order += reversed(before.get(place, []))
        order += [place] if place is not None else []
    return order


def _render(chunks: Sequence[_MergeChunk], versions: Sequence[_Version], path: str) -> str:
    selected = Counter(chunk.raw.strip() for chunk in chunks if chunk.entry)
    for min_gap in ("", "\n"):
        text = "".join(_with_gaps(chunks, versions, min_gap))
        if not selected - Counter(block.raw.strip() for block in parse(text).blocks):
            return text
    problem = "cannot be merged: text between two entries joins them. Put blank lines around that text and merge again"
    raise DocumentInvalid(path, 0, "malformed-entry", problem)


def _with_gaps(chunks: Sequence[_MergeChunk], versions: Sequence[_Version], min_gap: str) -> Iterator[str]:
    before: _MergeChunk | None = None
    for chunk in chunks:
        yield _gap(before, chunk, versions, min_gap)
        yield chunk.raw
        before = chunk
    last = before.key if before else None
    yield next((version.gaps[last, None] for version in versions if (last, None) in version.gaps), "")


def _gap(before: _MergeChunk | None, chunk: _MergeChunk, versions: Sequence[_Version], min_gap: str) -> str:
    pair = (before.key if before else None, chunk.key)
    for version in versions:
        if pair in version.gaps:
            return version.gaps[pair] or min_gap
    if before is None:
        return ""
    return min_gap if before.is_list_item and chunk.is_list_item else "\n"


def _is_conflicting_section(title: str) -> bool:
    return _ANCHOR.sub("", title).rstrip().endswith(_CONFLICT_TITLE)


def _display_name(chunk: _MergeChunk) -> str:
    """Return the id, anchor or title by which a person finds the chunk."""
    return chunk.entry.id if chunk.entry else _anchor_or_title(chunk.raw.split("\n", 1)[0])


def _anchor_or_title(title: str) -> str:
    anchor = _ANCHOR.search(title)
    return anchor["anchor"] if anchor else title.lstrip("# ").casefold()


def _with_line_end(raw: str) -> str:
    return raw if raw.endswith(("\n", "\r")) else f"{raw}\n"
