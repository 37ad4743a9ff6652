"""Find the values of a JSON text by their places, so that a change keeps every other byte as its author wrote it.

The text must be valid JSON. :mod:`interfaces.hosts.install` checks that first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

__all__ = [
    "JsonInsertion",
    "JsonPart",
    "JsonStyle",
    "cut",
    "insert",
    "insertion",
    "parts",
    "spans_without",
    "start_of_value",
]

_SPACE = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_DECODER = json.JSONDecoder()
_BYTE_ORDER_MARK = "\ufeff"

Span = tuple[int, int]


class JsonPart(NamedTuple):
    """A member of an object or an element of an array. *start* is its first character, *at* that of its value."""

    key: str
    start: int
    at: int
    end: int
    value: Any


class JsonInsertion(NamedTuple):
    """A text to put in front of the character *at*."""

    at: int
    text: str


class JsonStyle(NamedTuple):
    """The indent of a file, and the end of its lines."""

    indent: str
    newline: str

    @classmethod
    def of(cls, text: str) -> JsonStyle:
        """Return the style of *text*, two spaces where it has none."""
        found = _INDENT.search(text)
        return cls(indent=found[1] if found else "  ", newline="\r\n" if "\r\n" in text else "\n")

    def render(self, value: object, depth: int) -> str:
        """Return *value* as JSON whose lines but the first stand *depth* levels deep."""
        text = json.dumps(value, indent=self.indent, ensure_ascii=False)
        return text.replace("\n", self.newline + self.indent * depth)


def start_of_value(text: str) -> int:
    """Return the place of the first character of the value, behind a byte order mark and spaces."""
    return _behind_space(text, len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0)


def parts(text: str, at: int) -> list[JsonPart]:
    """Return the members or elements of the object or array that begins at *at*, in order."""
    has_keys = text[at] == "{"
    found = []
    at = _behind_space(text, at + 1)
    while text[at] not in "}]":
        start, key = at, ""
        if has_keys:
            key, at = _DECODER.raw_decode(text, at)
            at = _behind_space(text, _behind_space(text, at) + 1)  # the colon
        value, end = _DECODER.raw_decode(text, at)
        found.append(JsonPart(key, start, at, end, value))
        at = _behind_space(text, end)
        if text[at] == ",":
            at = _behind_space(text, at + 1)
    return found


def insertion(text: str, at: int, rendered: Sequence[str], style: JsonStyle, depth: int) -> JsonInsertion:
    """Return what adds *rendered* to the end of the object or array at *at*, whose parts stand *depth* levels deep."""
    line = style.newline + style.indent * depth
    joined = f",{line}".join(rendered)
    known = parts(text, at)
    if known:
        return JsonInsertion(known[-1].end, f",{line}{joined}")
    return JsonInsertion(at + 1, f"{line}{joined}{style.newline}{style.indent * (depth - 1)}")


def insert(text: str, insertions: Iterable[JsonInsertion]) -> tuple[str, list[Span]]:
    """Return *text* with *insertions*, and the spans of the result that :func:`cut` takes out again."""
    pieces: list[str] = []
    spans: list[Span] = []
    behind = length = 0
    for item in sorted(insertions):
        pieces += [text[behind : item.at], item.text]
        length += item.at - behind
        spans.append((length, length + len(item.text)))
        length, behind = length + len(item.text), item.at
    return "".join([*pieces, text[behind:]]), spans


def cut(text: str, spans: Iterable[Sequence[int]]) -> str:
    """Return *text* without *spans*, which do not overlap."""
    pieces, behind = [], 0
    for start, end in sorted((start, end) for start, end in spans):
        pieces.append(text[behind:start])
        behind = end
    return "".join([*pieces, text[behind:]])


def spans_without(text: str, at: int, gone: Collection[int]) -> list[Span]:
    """Return the spans that hold the parts with the numbers *gone* of the object or array at *at*, and their commas."""
    known = parts(text, at)
    kept = [number for number in range(len(known)) if number not in gone]
    if not kept:
        return [(at + 1, _behind_space(text, known[-1].end))]
    return [
        (known[number - 1].end, known[number].end)
        if number > kept[0]
        else (known[number].start, known[number + 1].start)
        for number in sorted(gone)
    ]


def _behind_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
