"""Read and edit ``STATUS.md``, the state of work in a folder, which people edit by hand as well.

An edit changes the list items that it is about, and every other byte stays.

    # Status

    - Phase: Testing
    - State: in progress
    - Updated: 2026-11-28 10:00

    ## Tasks

    - [ ] Fixing test_auth

    ## Context References

    - Test Results: `mem-20260123-123456-abcd1234` (12000 tokens)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from guard.lazy_regex import lazy_regex

from .document import Document, item_paragraphs, parse

__all__ = ["STATUS_FILE", "ContextReference", "StatusFile", "StatusTask"]

STATUS_FILE = "STATUS.md"
_TITLE, _TASKS, _REFERENCES = "Status", "Tasks", "Context References"
Field = Literal["Phase", "State", "Updated"]
# Files come from anywhere, so no pattern may try a place twice: hence the possessive quantifiers.
_MARKERS = r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)++"
_MARKED = lazy_regex(_MARKERS)
_FIELD = lazy_regex(
    _MARKERS + r"(?:\*\*)?(?P<name>phase|state|updated)(?:\*\*)?[ \t]*+:(?:\*\*)?[ \t]*+", re.IGNORECASE
)
_TASK = lazy_regex(_MARKERS + r"\[(?P<mark>[ xX])\][ \t]++")
_REFERENCE = lazy_regex(r":\s*+`(?P<id>mem-[0-9a-zA-Z-]++)`(?:[ \t]*+\((?P<tokens>\d{1,12}) tokens\))?")
_FRONT = lazy_regex(
    r"---[ \t]*+(?:\r\n|\r|\n)(?P<rows>(?:(?!---[ \t]*+(?:[\r\n]|\Z))[^\r\n]*+(?:\r\n|\r|\n))*+)"
    r"---[ \t]*+(?:\r\n|\r|\n|\Z)"
)
_KEY = lazy_regex(r"(?:\A|[\r\n])[\w\"'][^\r\n:]*+:(?:[ \t\r\n]|\Z)")
_SECTION = lazy_regex(r"(?:\A|[\r\n])##[ \t]")
_LINE_END = lazy_regex(r"\r\n|\r|\n")
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusTask:
    """A task: its *text*, and whether it is *done*."""

    text: str
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReference:
    """A reference to an output: what it is called here, its id, and its tokens, 0 if the line does not say."""

    name: str
    output: str
    tokens: int = 0

    def render(self) -> str:
        """Return the list item of the file, without its marker."""
        size = f" ({self.tokens} tokens)" if self.tokens else ""
        return f"{self.name}: `{self.output}`{size}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatusItem:
    """An item of a list: *match* in the text of the file, and the offsets *start* and *end* of the value.

    *below* is the offset behind the block that has it.
    """

    match: re.Match[str]
    start: int
    end: int
    below: int
    text: str

    @property
    def value(self) -> str:
        return " ".join(self.text[self.start : self.end].split())

    @property
    def first_line(self) -> str:
        return " ".join(_LINE_END.split(self.text[self.start : self.end], maxsplit=1)[0].split())


@dataclass(frozen=True, slots=True)
class StatusFile:
    """The text of a status file. Every edit returns a new one."""

    text: str

    def field(self, name: Field) -> str:
        """Return the value of ``Phase``, ``State`` or ``Updated``, or an empty text."""
        return next((item.value for item in self._fields() if _is(item.match["name"], name)), "")

    @property
    def tasks(self) -> list[StatusTask]:
        """The tasks, in file order. A list may be numbered, and tasks may lie below others."""
        return [StatusTask(text=item.value, done=item.match["mark"] != " ") for item in self._items(_TASKS, _TASK)]

    @property
    def references(self) -> list[ContextReference]:
        """The references to outputs, in file order."""
        return [
            ContextReference(name=item.value, output=item.match["id"], tokens=int(item.match["tokens"] or 0))
            for item in self._references()
        ]

    def with_field(self, name: Field, value: str) -> StatusFile:
        """Return the file with another value of a field, which is added below the title if it is not there."""
        fields = list(self._fields())
        for item in fields:
            if _is(item.match["name"], name):
                space = "" if self.text[item.start - 1] in " \t" else " "
                return self._spliced(item.start, item.end, space + value)
        row = f"- {name}: {value}"
        if fields:
            return self._inserted(fields[-1].below, row)
        lead, document = _parsed(self.text)
        if not self.text[lead:].strip():
            return self._inserted(len(self.text), f"# {_TITLE}{self._end}{self._end}{row}", apart=True)
        at = lead
        for block in document.blocks:
            at += len(block.raw)
            if block.kind == "heading" and block.level == 1:
                return self._inserted(at, row, apart=True)
        return self._inserted(lead, row, apart=True)

    def with_task(self, text: str, *, done: bool = False) -> StatusFile:
        """Return the file with a task, which is marked as *done* or open if it stands there already."""
        mark = "x" if done else " "
        for item in self._items(_TASKS, _TASK):
            if _is(item.value, text) or _is(item.first_line, text):
                return self._spliced(*item.match.span("mark"), mark)
        return self._appended(_TASKS, f"- [{mark}] {text}")

    def with_reference(self, reference: ContextReference) -> StatusFile:
        """Return the file with a reference, in place of an earlier one to the same output."""
        for item in self._references():
            if item.match["id"] == reference.output:
                return self._spliced(item.start, item.match.end(), reference.render())
        return self._appended(_REFERENCES, f"- {reference.render()}")

    def _fields(self) -> Iterator[_StatusItem]:
        return self._items("", _FIELD, nested=False)

    def _references(self) -> Iterator[_StatusItem]:
        """Yield the references, whose values are their names."""
        for item in self._items(_REFERENCES, _MARKED):
            match = _REFERENCE.search(self.text, item.start, item.end)
            if match is not None:
                yield _StatusItem(match=match, start=item.start, end=match.start(), below=item.below, text=self.text)

    def _items(self, section: str, pattern: re.Pattern[str], *, nested: bool = True) -> Iterator[_StatusItem]:
        """Yield the items that begin as *pattern* says, without those below others unless *nested*.

        They stand in the level 2 section of that name, or with an empty name before the first one.
        """
        for depth, start, end, below in _paragraphs(self.text, section):
            match = pattern.match(self.text, start, end) if nested or not depth else None
            if match is not None:
                yield _StatusItem(match=match, start=match.end(), end=end, below=below, text=self.text)

    def _spliced(self, start: int, end: int, text: str) -> StatusFile:
        return StatusFile(self.text[:start] + text + self.text[end:])

    def _inserted(self, at: int, rows: str, *, apart: bool = False) -> StatusFile:
        """Return the file with *rows* as lines of their own at the offset *at*, with *apart* between blank lines."""
        before, after, end = self.text[:at], self.text[at:], self._end
        gap = end if before.strip(_MARK) and not before.endswith(("\n", "\r")) else ""
        if apart and before.strip(f"{_MARK} \t\r\n") and not _ends_blank(before + gap):
            gap += "\r" if (before + gap).endswith("\r") and end == "\n" else end  # LF would only complete the CR
        tail = "\n" if end == "\r" and after.startswith("\n") else end
        if apart and after.strip() and not after.lstrip(" \t").startswith(("\n", "\r")):
            tail += end
        return StatusFile(f"{before}{gap}{rows}{tail}{after}")

    def _appended(self, section: str, row: str) -> StatusFile:
        """Return the file with an item at the end of the list in *section*, which is made if it is not there."""
        (at, document), end = _parsed(self.text), self._end
        found = document.section(section)
        if found is None:
            title = "" if self.text[at:].strip() else f"# {_TITLE}{end}{end}"
            return self._inserted(len(self.text), f"{title}## {section}{end}{end}{row}", apart=True)
        blocks = document.blocks
        items = [place for place in range(found.start + 1, found.end) if blocks[place].kind in {"item", "entry"}]
        last = items[-1] if items else found.start
        return self._inserted(at + sum(len(block.raw) for block in blocks[: last + 1]), row, apart=not items)

    @property
    def _end(self) -> str:
        """The line end that the file uses."""
        match = _LINE_END.search(self.text)
        return match[0] if match else "\n"


@lru_cache(maxsize=4)
def _parsed(text: str) -> tuple[int, Document]:
    """Return how long the lead of *text* is, and the document behind it."""
    lead = _lead(text)
    return lead, parse(text[lead:])


@lru_cache(maxsize=12)
def _paragraphs(text: str, section: str) -> Sequence[tuple[int, int, int, int]]:
    """Return depth, start and end of each item's paragraph in a section of *text*, and the end of its block."""
    found: list[tuple[int, int, int, int]] = []
    at, document = _parsed(text)
    inside = section == ""
    for block in document.blocks:
        below = at + len(block.raw)
        if block.kind == "heading" and block.level <= 2:
            inside = _is(block.title, section) if block.level == 2 else section == ""
        elif inside and block.kind == "item":
            found += [(depth, at + start, at + end, below) for depth, start, end in item_paragraphs(block.raw)]
        at = below
    return found


def _lead(text: str) -> int:
    """Return the length of what no edit touches: a byte order mark, and front matter at the top.

    Front matter is what stands between two lines of three dashes, with a key. A section in it makes it text.
    """
    start = len(text) - len(text.removeprefix(_MARK))
    match = _FRONT.match(text, start)
    if match is not None and _KEY.search(match["rows"]) and not _SECTION.search(match["rows"]):
        return match.end()
    return start


def _ends_blank(text: str) -> bool:
    """Return whether the last line of *text*, which has a line end, is blank."""
    text = text[:-2] if text.endswith("\r\n") else text[:-1]
    return not text[max(text.rfind("\n"), text.rfind("\r")) + 1 :].strip()


def _is(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()
