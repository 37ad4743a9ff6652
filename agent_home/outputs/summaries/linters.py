"""Outputs of linters that tell a problem in several lines: eslint, ruff in full, ruff format."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import FailureCollection, LineInterest, ShapeFindings, counted, listed

__all__ = ["BlockLinters"]

_ESLINT = lazy_regex(r"\s{1,8}(\d{1,9}):(\d{1,9})\s+(error|warning)\s+(\S.{0,1500}?)(?:\s{2,}(\S{1,100}))?$")
_RUFF = lazy_regex(r"([A-Z]{1,6}\d{1,5}|invalid-syntax|[a-z][a-z-]{2,60})(?:: | )(?:\[\*\] )?(\S.{0,1500})$")
_GROUPED = lazy_regex(r"\s{1,8}(\d{1,9}):(\d{1,9})\s+([A-Z]{1,10}\d{1,5}) (?:\[\*\] )?(.+)")
_POSITION = lazy_regex(r"(?::\d{1,9}){1,2}$")
_ARROW = lazy_regex(r"\s{0,8}--> (\S.{0,500})$")
_FORMAT = lazy_regex(r"(?:would reformat |Would reformat: )(\S.{0,500})$")
_CLEAN = ("All checks passed!", "Success: no issues found", "0 errors, 0 warnings", "no issues found")


class BlockLinters:
    """The shapes of eslint and of ruff."""

    interest: ClassVar = LineInterest(starts="0123456789/.ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz✖-")

    def __init__(self) -> None:
        """Start before any problem."""
        self._failures = FailureCollection()
        self._codes = Counter[str]()
        self._files: set[str] = set()
        self._warnings = 0
        self._notes: list[str] = []
        self._previous = ("", 0)
        self._clean = ""

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Never hold on."""
        first = line[:1]
        if first == " " or line[:3] == "-->":
            if "-->" in line[:12]:
                self._arrow(line)
            elif ("error" in line or "warning" in line) and (match := _ESLINT.match(line)):
                self._eslint(match.groups(), number)
            elif self._previous[0][-1:] == ":" and (match := _GROUPED.match(line)):
                row, column, code, message = match.groups()
                self._problem("error", code, f"{self._previous[0][:-1]}:{row}:{column}", (message, number))
        elif first not in "0123456789-✖":
            # The first line of a problem and the name of a file tell nothing before the next line does.
            self._previous = (line, number)
            if first in "ASW0nw" and len(self._clean) == 0:
                self._other(line, number)
        return False

    def findings(self) -> list[ShapeFindings]:
        """Return the problems of all files."""
        kept, failed = self._failures.frozen(), len(self._failures)
        if not failed and not self._warnings:
            return [ShapeFindings(kind="linter", headline=self._clean, weight=40)] if self._clean else []
        parts = [counted(failed, "problem")] if failed else []
        if self._warnings:
            parts.append(counted(self._warnings, "warning"))
        files = sorted(self._files)
        where = f" in {files[0]}" if len(files) == 1 else f" in {counted(len(files), 'file')}"
        codes = [f"{code} x{count}" if count > 1 else code for code, count in self._codes.most_common(5)]
        headline = ", ".join(parts) + where + listed(codes, len(self._codes))
        weight = 66 + 20 * bool(failed)
        notes = tuple(self._notes)
        return [
            ShapeFindings(kind="linter", headline=headline, weight=weight, failures=kept, failed=failed, notes=notes)
        ]

    def _eslint(self, groups: tuple[str, ...], number: int) -> None:
        row, column, severity, message, rule = groups
        file = self._previous[0]
        self._problem(severity, rule or "", f"{file}:{row}:{column}", (message, number))

    def _arrow(self, line: str) -> None:
        match, header = _ARROW.match(line), _RUFF.match(self._previous[0])
        if match and header and header[1] not in {"error", "warning", "note", "help"}:
            self._problem("error", header[1], match[1], (header[2], self._previous[1]))
            self._previous = ("", 0)

    def _problem(self, severity: str, code: str, place: str, told: tuple[str, int]) -> None:
        message, number = told
        if len(self._files) < 1_000:
            self._files.add(_POSITION.sub("", place)[:200])
        if code and (code in self._codes or len(self._codes) < 500):
            self._codes[code] += 1
        if severity == "error":
            self._failures.add(code or "error", place, message, number)
            return
        self._warnings += 1
        if len(self._notes) < 10:
            self._notes.append(f"{severity} {place}: {message}{f' [{code}]' if code else ''}"[:300])

    def _other(self, line: str, number: int) -> None:
        if line.startswith(_CLEAN):
            self._clean = line[:200]
        elif line[:1] in "wW" and (match := _FORMAT.match(line)):
            self._problem("error", "format", match[1], ("would be reformatted", number))
