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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from guard.lazy_regex import lazy_regex

from .document import Block, parse

__all__ = ["STATUS_FILE", "ContextReference", "StatusFile", "StatusTask"]

STATUS_FILE = "STATUS.md"
_TITLE, _TASKS, _REFERENCES = "Status", "Tasks", "Context References"
Field = Literal["Phase", "State", "Updated"]
_FIELD = lazy_regex(
    r"(?P<head>[-*+][ \t]+(?:\*\*)?(?P<name>phase|state|updated)(?:\*\*)?[ \t]*:(?:\*\*)?)[ \t]*(?P<value>[^\r\n]*)",
    re.IGNORECASE,
)
_TASK = lazy_regex(r"(?P<head>[-*+][ \t]+\[)(?P<mark>[ xX])\][ \t]+(?P<text>[^\r\n]*)")
_REFERENCE = lazy_regex(
    r"[-*+][ \t]+(?P<name>[^\r\n]*?)[ \t]*:[ \t]*`(?P<id>mem-[0-9a-zA-Z-]+)`(?:[ \t]*\((?P<tokens>\d{1,12}) tokens\))?"
)


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
        """Return the list item of the file."""
        size = f" ({self.tokens} tokens)" if self.tokens else ""
        return f"- {self.name}: `{self.output}`{size}"


@dataclass(frozen=True, slots=True)
class StatusFile:
    """The text of a status file. Every edit returns a new one."""

    text: str

    def field(self, name: Field) -> str:
        """Return the value of ``Phase``, ``State`` or ``Updated``, or an empty text."""
        return next((match["value"].strip() for _, match in self._fields() if _is(match["name"], name)), "")

    @property
    def tasks(self) -> list[StatusTask]:
        """The tasks, in file order."""
        return [
            StatusTask(text=match["text"].strip(), done=match["mark"] != " ") for _, match in self._items(_TASKS, _TASK)
        ]

    @property
    def references(self) -> list[ContextReference]:
        """The references to outputs, in file order."""
        return [
            ContextReference(name=match["name"], output=match["id"], tokens=int(match["tokens"] or 0))
            for _, match in self._items(_REFERENCES, _REFERENCE)
        ]

    def with_field(self, name: Field, value: str) -> StatusFile:
        """Return the file with another value of a field, which is added below the title if it is not there."""
        fields = list(self._fields())
        for at, match in fields:
            if _is(match["name"], name):
                return self._replaced(at, match, f"{match['head']} {value}")
        if fields:
            return self._inserted(fields[-1][0] + 1, f"- {name}: {value}")
        blocks = parse(self.text).blocks
        title = next((at for at, block in enumerate(blocks) if block.kind == "heading" and block.level == 1), None)
        if title is None and not self.text.strip():
            return StatusFile(f"# {_TITLE}\n\n- {name}: {value}\n")
        return self._inserted(0 if title is None else title + 1, f"- {name}: {value}", apart=True)

    def with_task(self, text: str, *, done: bool = False) -> StatusFile:
        """Return the file with a task, which is marked as *done* or open if it stands there already."""
        mark = "x" if done else " "
        for at, match in self._items(_TASKS, _TASK):
            if _is(match["text"], text):
                return self._replaced(at, match, f"{match['head']}{mark}] {match['text']}")
        return self._appended(_TASKS, f"- [{mark}] {text}")

    def with_reference(self, reference: ContextReference) -> StatusFile:
        """Return the file with a reference, in place of an earlier one to the same output."""
        for at, match in self._items(_REFERENCES, _REFERENCE):
            if match["id"] == reference.output:
                return self._replaced(at, match, reference.render())
        return self._appended(_REFERENCES, reference.render())

    def _fields(self) -> Iterator[tuple[int, re.Match[str]]]:
        return self._items("", _FIELD)

    def _items(self, section: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield the items that *pattern* matches, with their places among the blocks.

        They stand in the level 2 section of that name, or with an empty name before the first one.
        """
        inside = section == ""
        for at, block in enumerate(parse(self.text).blocks):
            if block.kind == "heading" and block.level <= 2:
                inside = _is(block.title, section) if block.level == 2 else section == ""
            elif inside and block.kind == "item" and (match := pattern.match(block.raw)):
                yield at, match

    def _replaced(self, at: int, match: re.Match[str], text: str) -> StatusFile:
        """Return the file with *text* in place of what *match* covers of a block."""
        blocks = [block.raw for block in parse(self.text).blocks]
        blocks[at] = text + blocks[at][match.end() :]
        return StatusFile("".join(blocks))

    def _inserted(self, at: int, item: str, *, apart: bool = False) -> StatusFile:
        """Return the file with an item before the block *at*, with *apart* between blank lines."""
        blocks, end = parse(self.text).blocks, self._end
        before, after = _joined(blocks[:at]), _joined(blocks[at:])
        before += end if before and not before.endswith(("\n", "\r")) else ""
        if apart:
            before += end if before.strip() else ""
            after = after.lstrip("\r\n")
            after = end + after if after else ""
        return StatusFile(f"{before}{item}{end}{after}")

    def _appended(self, section: str, item: str) -> StatusFile:
        """Return the file with an item at the end of the list in *section*, which is made if it is not there."""
        document, end = parse(self.text), self._end
        found = document.section(section)
        if found is None:
            text = self.text if self.text.strip() else f"# {_TITLE}{end}"
            text += "" if text.endswith(("\n", "\r")) else end
            return StatusFile(f"{text}{end}## {section}{end}{end}{item}{end}")
        inside = range(found.start + 1, found.end)
        items = [at for at in inside if document.blocks[at].kind == "item"]
        return self._inserted(items[-1] + 1, item) if items else self._inserted(found.start + 1, item, apart=True)

    @property
    def _end(self) -> str:
        """The line end that the file uses."""
        return "\r\n" if "\r\n" in self.text else "\n"


def _joined(blocks: tuple[Block, ...]) -> str:
    return "".join(block.raw for block in blocks)


def _is(one: str, other: str) -> bool:
    return one.strip().casefold() == other.strip().casefold()
