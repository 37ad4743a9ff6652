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

__all__ = ["RedactionTarget", "find_entries", "is_transcript", "matching_lines", "redacted"]

#: What a transcript's row says in words; the other keys are this program's.
_SAID = ("session", "id", "name", "content", "cwd")
#: Where one passage of Markdown ends and the next begins, near enough: a list item, a heading, a blank line.
_PIECE = re.compile(r"(?m)^(?=[-*+][ \t]|\#|[ \t]*\n)")
_ENTRY_HEAD = re.compile(r"[-*+][ \t]+\*\*\[(?P<id>[A-Z]{2}-[0-9A-Z]{4})\]")
_MARK = re.compile(r"\[(?:forgotten |removed )?(?:f-[0-9a-f]{8}|…)\]")
_INDENTED = re.compile(r"[ \t]+\S")


@dataclass(frozen=True)
class RedactionTarget:
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
        return tuple(form for form in forms if not any(phrase.occurs_in(form) for phrase in self.phrases))

    @property
    def mark(self) -> str:
        return self.marks[0]

    def occurs_in(self, text: str) -> bool:
        """Whether any of the phrases stands in *text*, in any reading."""
        return any(phrase.occurs_in(text) for phrase in self.phrases)

    def may_occur_in(self, data: bytes) -> bool:
        """False only when neither a phrase nor the entry can stand in these bytes."""
        if self.entry_id and f"[{self.entry_id}]".encode() in data:
            return True
        return any(phrase.may_occur_in(data) for phrase in self.phrases)

    def redact(self, text: str, mark: str | None = None) -> str:
        """*text* with a mark for each passage; also for one that is only made by leaving another out."""
        mark = self.mark if mark is None else mark
        for phrase in self.phrases:
            text = phrase.redact(text, mark)
        return text if mark or not self.occurs_in(text) else self.redact(text, mark)


def redacted(path: str, text: str, target: RedactionTarget) -> str:
    """The text of the file *path* without what is to be forgotten; *text* itself where it is not there."""
    names_entry = bool(target.entry_id) and f"[{target.entry_id}]" in text
    if not names_entry and not target.occurs_in(text):
        return text
    kind = PurePosixPath(path).suffix
    if kind == ".jsonl":
        return "".join(_line_without(line, target, same_length=is_transcript(path)) for line in _lines(text))
    if kind == ".json":
        return _json_without(text, target)
    return _markdown_without(text, target) if kind == ".md" else target.redact(text)


def matching_lines(path: str, text: str, target: RedactionTarget) -> list[int]:
    """The numbers, from 1, of the lines of *text* that :func:`redacted` would change, in order."""
    if redacted(path, text, target) == text:
        return []
    if PurePosixPath(path).suffix == ".jsonl":
        rows = enumerate(_lines(text), 1)
        return [number for number, line in rows if _line_without(line, target, same_length=False) != line]
    starts = {start for phrase in target.phrases for start, _ in phrase.spans(text)}
    if target.entry_id:
        starts |= {match.start() for match in _ENTRY_HEAD.finditer(text) if match["id"] == target.entry_id}
    return sorted({text.count("\n", 0, start) + 1 for start in starts}) or [1]


def find_entries(text: str, entry_id: str) -> Iterator[Entry]:
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


def _markdown_without(text: str, target: RedactionTarget) -> str:
    pieces = list(_pieces_without(_PIECE.split(text), target))
    done = "".join(pieces)
    return target.redact(done) if target.occurs_in(done) else done


def _pieces_without(pieces: Sequence[str], target: RedactionTarget) -> Iterator[str]:
    inside = False  # of the entry that goes
    for piece in pieces:
        head = _ENTRY_HEAD.match(piece)
        if head is not None and head["id"] == target.entry_id:
            inside = True
            continue
        if inside and _INDENTED.match(piece.lstrip("\n")):
            continue  # a further paragraph of the entry
        inside = False
        yield _piece_without(piece, target)


@lru_cache(maxsize=50_000)  # versions of a file share nearly all of their passages
def _piece_without(piece: str, target: RedactionTarget) -> str:
    if not target.occurs_in(piece):
        return piece
    done = target.redact(piece)
    entry = parse_entry(done)
    return "" if entry is not None and not re.search(r"\w", _MARK.sub("", entry.text)) else done


def _json_without(text: str, target: RedactionTarget) -> str:
    """A JSON document with its strings changed; laid out as it was, as near as that can be told."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return target.redact(text)
    changed = _value_without(value, target, target.mark)
    if changed == value:
        return text
    indent = re.search(r"\n( +)\S", text)
    return json.dumps(changed, ensure_ascii=text.isascii(), indent=len(indent[1]) if indent else None)


def _line_without(line: str, target: RedactionTarget, *, same_length: bool) -> str:
    """A JSON line with its strings changed. *same_length*: in as many bytes, with blanks at the end if need be."""
    if not target.occurs_in(line):
        return line
    row = _row(line)
    size = len(line.encode("utf-8", "surrogatepass"))
    for mark in target.marks:
        for separators in ((", ", ": "), (",", ":")):
            done = _rendered(row, line, target, mark, separators)
            if done == line:
                return line
            length = len(done.encode("utf-8", "surrogatepass"))
            if not same_length:
                return done
            if length <= size:
                body, end = done.removesuffix("\n"), "\n" if line.endswith("\n") else ""
                return f"{body}{' ' * (size - length)}{end}"
    return " " * (size - 1) + line[-1:]  # written in a way that cannot be kept: a blank line is no message


def _rendered(
    row: Mapping[str, Any] | None, line: str, target: RedactionTarget, mark: str, separators: tuple[str, str]
) -> str:
    if row is None:
        return target.redact(line, mark)
    said = {*_SAID} if row.keys() >= {"session", "id", "content"} else row.keys()
    changed = {key: _value_without(value, target, mark) if key in said else value for key, value in row.items()}
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


def _value_without(value: Any, target: RedactionTarget, mark: str) -> Any:
    if isinstance(value, str):
        return target.redact(value, mark)
    if isinstance(value, list):
        return [_value_without(item, target, mark) for item in value]
    if isinstance(value, dict):
        return {key: _value_without(item, target, mark) for key, item in value.items()}
    return value
