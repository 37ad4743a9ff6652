"""Data as output: JSON documents, lines of JSON, tables with separators. Nothing is parsed beyond single lines."""

from __future__ import annotations

import csv
import json
from collections import Counter
from typing import ClassVar

from .findings import FailureCollection, LineInterest, ShapeFindings, counted, listed
from .lines import LOOKED_AT, unprefixed

__all__ = ["JsonDocuments", "JsonLines", "SeparatedTables"]

_KEYS_SHOWN = 12
_LONGEST_KEY = 60
_DELIMITERS = (",", "\t", ";", "|")
#: Lines of JSON whose keys are read.
_SAMPLED = 50
#: Rows after which a table is given up when one in ten does not fit.
_TRIAL = 20


class JsonDocuments:
    """The shape of one JSON document, on one line or indented."""

    interest: ClassVar = LineInterest(holds=True)

    def __init__(self) -> None:
        """Start before the first line."""
        self._kind = ""
        self._keys: list[str] = []
        self._items = 0
        self._indent = ""
        self._lines = 0
        self._complete = self._broken = self._cut = False
        self._value: object = None

    def feed(self, line: str, number: int) -> bool:  # noqa: ARG002 (its interface)
        """Read a line. Let go when the text is no JSON document."""
        if not line or self._broken:
            return not self._broken
        if self._complete:
            self._broken = not line.isspace()
        elif not self._lines:
            self._first(line)
        else:
            self._indented(line)
        self._lines += 1
        return not self._broken

    def findings(self) -> list[ShapeFindings]:
        """Return the kind of the document, its keys or the number of its items."""
        if self._broken or not self._kind or (self._lines == 1 and not (self._complete or self._cut)):
            return []
        if self._kind == "array":
            headline = f"JSON array of {'at least ' if self._cut else ''}{counted(self._items, 'item')}"
        else:
            shown = ", ".join(self._keys[:_KEYS_SHOWN])
            number = "at least " * self._cut + counted(self._items, "key")
            headline = f"JSON object with {number}: {shown}" if shown else "JSON object without keys"
            if self._items > _KEYS_SHOWN:
                headline += ", ..."
        if not (self._complete or self._cut):
            headline += ", not complete"
        return [ShapeFindings(kind="json", headline=headline, weight=75)]

    def _first(self, line: str) -> None:
        text = line.strip()
        self._kind = {"{": "object", "[": "array"}.get(text[:1], "")
        self._broken = not self._kind
        if len(text) == 1 or self._broken:
            return
        if len(line) >= LOOKED_AT:
            self._cut = self._complete = True
            self._partial(text)
            return
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            self._broken = True
            return
        self._complete = True
        self._items = len(value)
        if isinstance(value, dict):
            self._keys = [key[:_LONGEST_KEY] for key in list(value)[: _KEYS_SHOWN + 1]]

    def _indented(self, line: str) -> None:
        first = line[0]
        if not first.isspace():
            self._complete = line.rstrip() == ("}" if self._kind == "object" else "]")
            self._broken = not self._complete
            return
        if not self._indent:
            self._indent = line[: len(line) - len(line.lstrip())]
        size = len(self._indent)
        head = line[size : size + 1]
        if head and head not in " \t}]" and line.startswith(self._indent):
            self._items += 1
            if self._kind == "object":
                if head != '"':
                    self._broken = True
                elif len(self._keys) <= _KEYS_SHOWN:
                    self._keys.append(line[size + 1 :].partition('":')[0][:_LONGEST_KEY])

    def _partial(self, text: str) -> None:
        """Count keys or items at the top of a document of which the beginning is known."""
        depth = 0
        quoted = escaped = False
        start = 0
        for position, sign in enumerate(text):
            if quoted:
                if escaped:
                    escaped = False
                elif sign == "\\":
                    escaped = True
                elif sign == '"':
                    quoted = False
                    if depth == 1 and self._kind == "object" and text[position + 1 : position + 3].lstrip()[:1] == ":":
                        self._items += 1
                        self._keys.append(text[start:position][:_LONGEST_KEY])
            elif sign == '"':
                quoted, start = True, position + 1
            elif sign in "{[":
                depth += 1
            elif sign in "}]":
                depth -= 1
            elif sign == "," and depth == 1 and self._kind == "array":
                self._items += 1


class JsonLines:
    """The shape of one JSON value a line, as logs and exports have it."""

    interest: ClassVar = LineInterest(holds=True)

    def __init__(self) -> None:
        """Start before the first line."""
        self._lines = 0
        self._keys = Counter[str]()
        self._levels = Counter[str]()
        self._failures = FailureCollection()
        self._broken = False

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Let go at the first line that is no object."""
        if not line or line.isspace():
            return True
        if line[0] != "{" or (line[-1] != "}" and len(line) < LOOKED_AT):
            self._broken = True
            return False
        self._lines += 1
        if self._lines <= _SAMPLED:
            self._sample(line)
        if '"level"' in line or '"severity"' in line:
            self._level(line, number)
        return not self._broken

    def findings(self) -> list[ShapeFindings]:
        """Return the number of objects, the keys of the first ones, and the errors of a log."""
        if self._broken or self._lines < 2:
            return []
        keys = [key for key, _ in self._keys.most_common(_KEYS_SHOWN)]
        failed = len(self._failures)
        headline = f"{counted(self._lines, 'JSON object')}, one a line{listed(keys, len(self._keys))}"
        if self._levels:
            headline += f": {', '.join(f'{count} {level}' for level, count in self._levels.most_common(6))}"
        kept = self._failures.frozen()
        return [ShapeFindings(kind="json", headline=headline, weight=76, failures=kept, failed=failed)]

    def _sample(self, line: str) -> None:
        if len(line) >= LOOKED_AT:
            return
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            self._broken = True
            return
        for key in list(value)[:50]:
            if len(self._keys) < 200:
                self._keys[key[:_LONGEST_KEY]] += 1

    def _level(self, line: str, number: int) -> None:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return
        level = value.get("level", value.get("severity"))
        if not isinstance(level, str):
            return
        level = level[:20].lower()
        if level in self._levels or len(self._levels) < 20:
            self._levels[level] += 1
        if level in {"error", "fatal", "critical", "panic"}:
            message = next((value[key] for key in ("msg", "message", "error", "event") if key in value), "")
            self._failures.add(level, "", str(message)[:300], number)


class SeparatedTables:
    """The shape of CSV and of other tables with one separator."""

    interest: ClassVar = LineInterest(raw=True, holds=True)

    def __init__(self) -> None:
        """Start before the header."""
        self._delimiter = ""
        self._header: list[str] = []
        self._separators = 0
        self._rows = self._odd = 0
        self._open = self._broken = self._headless = False

    def feed(self, line: str, number: int) -> bool:  # noqa: ARG002 (its interface)
        """Read a row. Let go when the lines do not have the header's number of columns."""
        if not self._delimiter:
            return self._read_header(line)
        if not line:
            return True
        if '"' in line or self._open:
            return self._quoted(line)
        self._rows += 1
        if line.count(self._delimiter) != self._separators and len(line) < LOOKED_AT:
            return self._unfit()
        return True

    def findings(self) -> list[ShapeFindings]:
        """Return rows and columns."""
        if self._broken or not self._delimiter or self._rows < (2 if len(self._header) > 2 else 4):
            return []
        if self._odd * 10 > self._rows:
            return []
        names = ", ".join(name[:40] for name in self._header[:_KEYS_SHOWN])
        more = ", ..." if len(self._header) > _KEYS_SHOWN else ""
        odd = f"; {counted(self._odd, 'row')} with other columns" if self._odd else ""
        size = f"{counted(self._rows + self._headless, 'row')}, {counted(len(self._header), 'column')}"
        headline = f"{size}; first row: {names}{more}{odd}" if self._headless else f"{size}: {names}{more}{odd}"
        return [ShapeFindings(kind="csv", headline=headline, weight=65)]

    def _unfit(self) -> bool:
        self._odd += 1
        self._broken = self._odd * 10 > max(self._rows, _TRIAL)
        return not self._broken

    def _read_header(self, line: str) -> bool:
        counts = {delimiter: line.count(delimiter) for delimiter in _DELIMITERS}
        best = max(_DELIMITERS, key=lambda delimiter: counts[delimiter])
        self._broken = not counts[best]
        if self._broken:
            return False
        self._delimiter = best
        cells = _cells(line, best) or []
        self._header = [cell.strip() for cell in cells]
        self._separators = len(cells) - 1
        names = all(self._header) and len(set(self._header)) == len(self._header)
        self._headless = any(cell.isdecimal() for cell in self._header)
        fits = names and len(cells) > 1 + self._headless and all(len(cell) <= 60 for cell in cells)
        prose = len(cells) <= 3 and any(cell[:1] == " " for cell in cells)
        self._broken = not fits or prose or line[:1] in "{[<" or unprefixed(line) != line
        return not self._broken

    def _quoted(self, line: str) -> bool:
        """Read a row with quotation marks, which may go on in the next line."""
        if line.count('"') % 2:
            self._open = not self._open
            self._rows += self._open
            return True
        if self._open:
            return True
        self._rows += 1
        cells = _cells(line, self._delimiter)
        if (cells is None or len(cells) != len(self._header)) and len(line) < LOOKED_AT:
            return self._unfit()
        return True


def _cells(line: str, delimiter: str) -> list[str] | None:
    try:
        return next(csv.reader([line], delimiter=delimiter), None)
    except csv.Error:
        return None
