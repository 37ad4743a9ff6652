"""What is to be forgotten, and any file's text without it.

One rule for each kind of file, the same for a file of today and for its versions in git. A passage gives way to a mark;
the entry that is meant goes whole, and so does one of which only marks are left. A line of JSON stays one, and a line
of a transcript keeps its length in bytes: closings say to the byte how far they reach.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Any

from ..documents.entry import Entry, parse_entry
from .text_matcher import Phrase

__all__ = ["Wanted", "entries_in", "is_transcript", "lines_with", "without"]

#: What a transcript's row says in words; the other keys are this program's.
_SAID = ("session", "id", "name", "content", "cwd")
#: Where one passage of Markdown ends and the next begins, near enough: a list item, a heading, a blank line.
_PIECE = re.compile(r"(?m)^(?=[-*+][ \t]|\#|[ \t]*\n)")
_ENTRY_HEAD = re.compile(r"[-*+][ \t]+\*\*\[(?P<id>[A-Z]{2}-[0-9A-Z]{4})\]")
_MARK = re.compile(r"\[(?:forgotten |removed )?(?:f-[0-9a-f]{8}|…)\]")
_INDENTED = re.compile(r"[ \t]+\S")


@dataclass(frozen=True)
class Wanted:
    """What to forget: every one of *phrases*, and the entry *entry_id* where it is not empty.

    *name* is what the forgetting itself is called, ``f-`` and eight hexadecimal digits.
    """

    phrases: tuple[Phrase, ...]
    entry_id: str = ""
    name: str = "f-00000000"

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """What may stand in a passage's place, longest first, as far as it does not say what is to be forgotten."""
        forms = (f"[forgotten {self.name}]", f"[removed {self.name}]", f"[{self.name}]", "[…]", "")
        return tuple(form for form in forms if not any(phrase.stands_in(form) for phrase in self.phrases))

    @property
    def mark(self) -> str:
        return self.marks[0]

    def stands_in(self, text: str) -> bool:
        """Whether any of the phrases stands in *text*, in any reading."""
        return any(phrase.stands_in(text) for phrase in self.phrases)

    def may_stand_in(self, data: bytes) -> bool:
        """False only when neither a phrase nor the entry can stand in these bytes."""
        if self.entry_id and f"[{self.entry_id}]".encode() in data:
            return True
        return any(phrase.may_stand_in(data) for phrase in self.phrases)

    def replaced(self, text: str, mark: str | None = None) -> str:
        """*text* with a mark for each passage; also for one that is only made by leaving another out."""
        mark = self.mark if mark is None else mark
        for phrase in self.phrases:
            text = phrase.replaced(text, mark)
        return text if mark or not self.stands_in(text) else self.replaced(text, mark)


def without(path: str, text: str, wanted: Wanted) -> str:
    """The text of the file *path* without what is to be forgotten; *text* itself where it is not there."""
    names_entry = bool(wanted.entry_id) and f"[{wanted.entry_id}]" in text
    if not names_entry and not wanted.stands_in(text):
        return text
    kind = PurePosixPath(path).suffix
    if kind == ".jsonl":
        return "".join(_line_without(line, wanted, same_length=is_transcript(path)) for line in _lines(text))
    if kind == ".json":
        return _json_without(text, wanted)
    return _markdown_without(text, wanted) if kind == ".md" else wanted.replaced(text)


def lines_with(path: str, text: str, wanted: Wanted) -> list[int]:
    """The numbers, from 1, of the lines of *text* that :func:`without` would change, in order."""
    if without(path, text, wanted) == text:
        return []
    if PurePosixPath(path).suffix == ".jsonl":
        rows = enumerate(_lines(text), 1)
        return [number for number, line in rows if _line_without(line, wanted, same_length=False) != line]
    starts = {start for phrase in wanted.phrases for start, _ in phrase.spans(text)}
    if wanted.entry_id:
        starts |= {match.start() for match in _ENTRY_HEAD.finditer(text) if match["id"] == wanted.entry_id}
    return sorted({text.count("\n", 0, start) + 1 for start in starts}) or [1]


def entries_in(text: str, entry_id: str) -> Iterator[Entry]:
    """What the entry *entry_id* says in a Markdown text, each time that it stands there."""
    for piece in _PIECE.split(text):
        head = _ENTRY_HEAD.match(piece)
        entry = parse_entry(piece) if head is not None and head["id"] == entry_id else None
        if entry is not None:
            yield entry


def is_transcript(path: str) -> bool:
    """Whether *path*, relative to the home, is a conversation, whose offsets others know."""
    return path.startswith("sessions/") and path.endswith(".jsonl")


def _lines(text: str) -> list[str]:
    """Lines as JSON lines have them: only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _markdown_without(text: str, wanted: Wanted) -> str:
    pieces = list(_pieces_without(_PIECE.split(text), wanted))
    done = "".join(pieces)
    return wanted.replaced(done) if wanted.stands_in(done) else done


def _pieces_without(pieces: Sequence[str], wanted: Wanted) -> Iterator[str]:
    inside = False  # of the entry that goes
    for piece in pieces:
        head = _ENTRY_HEAD.match(piece)
        if head is not None and head["id"] == wanted.entry_id:
            inside = True
            continue
        if inside and _INDENTED.match(piece.lstrip("\n")):
            continue  # a further paragraph of the entry
        inside = False
        yield _piece_without(piece, wanted)


@lru_cache(maxsize=50_000)  # versions of a file share nearly all of their passages
def _piece_without(piece: str, wanted: Wanted) -> str:
    if not wanted.stands_in(piece):
        return piece
    done = wanted.replaced(piece)
    entry = parse_entry(done)
    return "" if entry is not None and not re.search(r"\w", _MARK.sub("", entry.text)) else done


def _json_without(text: str, wanted: Wanted) -> str:
    """A JSON document with its strings changed; laid out as it was, as near as that can be told."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return wanted.replaced(text)
    changed = _value_without(value, wanted, wanted.mark)
    if changed == value:
        return text
    indent = re.search(r"\n( +)\S", text)
    return json.dumps(changed, ensure_ascii=text.isascii(), indent=len(indent[1]) if indent else None)


def _line_without(line: str, wanted: Wanted, *, same_length: bool) -> str:
    """A JSON line with its strings changed. *same_length*: in as many bytes, with blanks at the end if need be."""
    if not wanted.stands_in(line):
        return line
    row = _row(line)
    size = len(line.encode("utf-8", "surrogatepass"))
    for mark in wanted.marks:
        for separators in ((", ", ": "), (",", ":")):
            done = _rendered(row, line, wanted, mark, separators)
            if done == line:
                return line
            length = len(done.encode("utf-8", "surrogatepass"))
            if not same_length:
                return done
            if length <= size:
                body, end = done.removesuffix("\n"), "\n" if line.endswith("\n") else ""
                return f"{body}{' ' * (size - length)}{end}"
    return " " * (size - 1) + line[-1:]  # written in a way that cannot be kept: a blank line is no message


def _rendered(row: Mapping[str, Any] | None, line: str, wanted: Wanted, mark: str, separators: tuple[str, str]) -> str:
    if row is None:
        return wanted.replaced(line, mark)
    said = {*_SAID} if row.keys() >= {"session", "id", "content"} else row.keys()
    changed = {key: _value_without(value, wanted, mark) if key in said else value for key, value in row.items()}
    if changed == row:
        return line
    text = json.dumps(changed, ensure_ascii=False, separators=separators)
    return text.encode("utf-8", "backslashreplace").decode() + ("\n" if line.endswith("\n") else "")


def _row(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _value_without(value: Any, wanted: Wanted, mark: str) -> Any:
    if isinstance(value, str):
        return wanted.replaced(value, mark)
    if isinstance(value, list):
        return [_value_without(item, wanted, mark) for item in value]
    if isinstance(value, dict):
        return {key: _value_without(item, wanted, mark) for key, item in value.items()}
    return value
