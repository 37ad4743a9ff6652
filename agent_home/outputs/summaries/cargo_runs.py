"""Outputs of cargo: tests, and the errors of rustc and clippy."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import FailureCollection, FailureRecord, LineInterest, ShapeFindings, counted, listed, short, tally
from .places import is_foreign

__all__ = ["CargoBuilds", "CargoTests"]

_TEST = lazy_regex(r"test (\S.{0,300}?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
_RESULT = lazy_regex(r"test result: \S+ (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored")
_OUTPUT = lazy_regex(r"---- (\S.{0,300}?) (?:stdout|stderr) ----$")
_PANIC = lazy_regex(r"thread '[^']{0,300}' (?:\(\d+\) )?panicked at (?:'(.*)', )?([^\s']{1,500}:\d{1,9}:\d{1,9}):?$")
_SIDE = lazy_regex(r" {1,3}(left|right): (.+)")
_SHORT_ERROR = lazy_regex(r"(error|warning)(?:\[([\w:]{1,60})\])?: (.+)")
_ARROW = lazy_regex(r"\s{0,12}--> (\S.{0,500}:\d{1,9}:\d{1,9})$")
_DOC_TEST = lazy_regex(r"(\S+\.(?:rs|md)) - .*\(line (\d{1,9})\)")
#: Lines that sum up and tell no error of their own.
_SUMS = (
    "error: could not compile", "error: aborting due to", "error: test failed", "error: doctest failed",
    "error: build failed",
)  # fmt: skip
_ORDER = ("passed", "failed", "ignored")
_RESULT_STAGE, _DETAIL_STAGE = 1, 2
#: Lines behind an error in which its place is told.
_PLACE_WITHIN = 8


class CargoTests:
    """The shape of cargo test."""

    interest: ClassVar = LineInterest(starts="t-r")

    def __init__(self) -> None:
        """Start before any run."""
        self._failures = FailureCollection()
        self._counts = Counter[str]()
        self._running = Counter[str]()
        self._results = 0
        self._record: FailureRecord | None = None
        self._panicked = False

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on inside the output of a failed test."""
        start = line[:5]
        if start == "test ":
            self._test(line, number)
        elif start == "---- " and (match := _OUTPUT.match(line)):
            name = match[1]
            self._record = self._failures.mention(name, stage=_DETAIL_STAGE, name=name, line=number, relocate=True)
            document = _DOC_TEST.match(name)
            self._record.place = f"{document[1]}:{document[2]}" if document else ""
            self._panicked = False
        elif line == "failures:":
            self._record = None
        elif self._record is not None:
            self._detail(self._record, line)
        return self._record is not None

    def findings(self) -> list[ShapeFindings]:
        """Return all test programs, summed."""
        counts = self._counts + self._running
        kept = self._failures.frozen()
        if not self._results and sum(self._running.values()) < 1:
            return []
        failed = max(len(self._failures), counts["failed"])
        names = listed(short(kept, ("::",)), failed)
        headline = f"{counted(sum(counts.values()), 'test')}: {tally(counts, _ORDER) or 'none ran'}{names}"
        if not self._results:
            headline = f"cargo test did not end: {headline}"
        elif self._results > 1:
            headline += f", summed over {self._results} test programs"
        weight = (89 if self._results else 59) + 20 * bool(failed)
        return [ShapeFindings(kind="cargo test", headline=headline, weight=weight, failures=kept, failed=failed)]

    def _test(self, line: str, number: int) -> None:
        if match := _TEST.match(line):
            name, word = match.groups()
            self._running["passed" if word == "ok" else word.lower()] += 1
            if word == "FAILED":
                self._failures.mention(name, stage=_RESULT_STAGE, name=name, line=number)
        elif match := _RESULT.match(line):
            for name, count in zip(_ORDER, match.groups(), strict=True):
                self._counts[name] += int(count)
            self._running.clear()
            self._results += 1
            self._failures.close()
            self._record = None

    def _detail(self, record: FailureRecord, line: str) -> None:
        if line.startswith("thread '") and (match := _PANIC.match(line)):
            # The place in a test of documentation is one of a generated file.
            record.place, self._panicked = record.place or match[2], True
            record.message = match[1] or ""
        elif (
            not record.message and line.strip() and not line.startswith(("note: run", "note: Some", "stack backtrace"))
        ):
            record.message = line.removeprefix("Error: ")
        elif self._panicked and len(record.message) < 250 and (match := _SIDE.match(line)):
            record.message += f", {match[1]} {match[2]}"


class CargoBuilds:
    """The shape of cargo build, cargo check, clippy and rustc."""

    interest: ClassVar = LineInterest(starts="ew")

    def __init__(self) -> None:
        """Start before any error."""
        self._failures = FailureCollection()
        self._warnings = 0
        self._notes: list[str] = []
        self._pending: tuple[str, str, str, int] | None = None
        self._crates: list[str] = []
        self._placed = 0

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on until an error's place."""
        if line[:5] in {"error", "warni"}:
            self._header(line, number)
        elif self._pending is not None:
            match = _ARROW.match(line)
            if match:
                self._place(match[1])
            elif number > self._pending[3] + _PLACE_WITHIN:
                self._pending = None
        return self._pending is not None

    def findings(self) -> list[ShapeFindings]:
        """Return the errors of all crates."""
        kept = self._failures.frozen()
        if not self._placed and not self._crates:
            return []
        failed = len(self._failures)
        parts = [counted(failed, "error")] if failed or self._crates else []
        if self._warnings:
            parts.append(counted(self._warnings, "warning"))
        headline = ", ".join(parts) + listed([f"{one.name} {one.place}" for one in kept], failed)
        if self._crates:
            headline += f"; could not compile {', '.join(self._crates[:3])}"
        weight = 70 + 30 * bool(failed)
        return [
            ShapeFindings(
                kind="cargo build",
                headline=headline,
                weight=weight,
                failures=kept,
                failed=failed,
                notes=tuple(self._notes),
            )
        ]

    def _header(self, line: str, number: int) -> None:
        match = _SHORT_ERROR.match(line)
        if not match:
            return
        if line.startswith(_SUMS):
            if line.startswith(_SUMS[0]) and len(self._crates) < 20:
                crate = line.partition("`")[2].partition("`")[0]
                if crate and crate not in self._crates:
                    self._crates.append(crate[:60])
            return
        self._pending = (match[1], match[2] or match[1], match[3], number)

    def _place(self, place: str) -> None:
        if self._pending is None:
            return
        severity, name, message, number = self._pending
        self._pending = None
        self._placed += 1
        if severity == "error":
            self._failures.add(name, place, message, number)
            return
        self._warnings += 1
        if len(self._notes) < 10 and not is_foreign(place):
            self._notes.append(f"warning {place}: {message}"[:300])
