"""Outputs of jest and vitest."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import FailureCollection, FailureRecord, LineInterest, ShapeFindings, counted, listed, tally
from .places import is_foreign

__all__ = ["JestRuns", "VitestRuns"]

_COUNT = lazy_regex(r"(\d{1,9}) (failed|passed|skipped|todo|total|expected fail)")
_FILE = lazy_regex(r" ?(FAIL|PASS) +(\S.*?)(?: \([\d.]+ m?s\))?$")
_JEST_PLACE = lazy_regex(r"\s+at (?:.{0,300}\()?([^\s()]{1,500}?):(\d{1,7}):(\d{1,7})\)?$")
_VITEST_FAIL = lazy_regex(r"\s{0,4}FAIL +(?:\|[^|]{1,60}\| +)?(\S.*)")
_VITEST_PLACE = lazy_regex(r"\s{0,4}❯ (?:.{0,300} )?([^\s:]{1,500}):(\d{1,7}):(\d{1,7})$")
_VITEST_TESTS = lazy_regex(r"\s{2,12}(Tests|Test Files)  (.*\(\d{1,9}\))$")
_RESULT = lazy_regex(r"\s+([✓✕×○✎↓]) ")
_SIGNS = {"✓": "passed", "✕": "failed", "×": "failed", "○": "skipped", "↓": "skipped", "✎": "todo"}
#: Titles of failures that are known, so that one told again is not counted again.
_KEPT_TITLES = 2_000
_ORDER = ("passed", "failed", "skipped", "todo", "expected fail")


class _SuiteCounts:
    """Counts of the final lines, summed over the runs, and of the results of a run that has not ended."""

    def __init__(self) -> None:
        self.tests = Counter[str]()
        self.files = Counter[str]()
        self.running = Counter[str]()
        self.runs = 0

    def ended(self, text: str, *, files: bool) -> None:
        found = {name: int(count) for count, name in _COUNT.findall(text)}
        (self.files if files else self.tests).update(found)
        if not files:
            self.runs += 1
            self.running.clear()

    def headline(self, tool: str, names: str, suites: int) -> str:
        counts = self.tests if self.runs else self.running
        total = sum(counts[name] for name in _ORDER)
        text = f"{counted(total, 'test')}: {tally(counts, _ORDER) or 'none ran'}"
        if suites:
            text += f", {counted(suites, 'file')} failed to run"
        text += names
        if not self.runs:
            return f"{tool} did not end: {text}"
        return text if self.runs == 1 else f"{self.runs} runs, summed: {text}"


class JestRuns:
    """The shape of jest."""

    interest: ClassVar = LineInterest(starts="FP●TS✓✕○✎")

    def __init__(self) -> None:
        """Start before any run."""
        self._failures = FailureCollection()
        self._counts = _SuiteCounts()
        self._seen: set[str] = set()
        self._file = ""
        self._record: FailureRecord | None = None
        self._suites = 0

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on inside the details of a failure."""
        first = line.lstrip()[:1]
        if first in {"F", "P"} and (match := _FILE.match(line)):
            self._file, self._record = match[2] if match[1] == "FAIL" else "", None
        elif first == "●":
            self._heading(line.strip()[1:].strip(), number)
        elif line.startswith("Tests: "):
            self._counts.ended(line, files=False)
            self._failures.close()
            self._seen.clear()
            self._file, self._record = "", None
        elif line.startswith("Test Suites: "):
            self._counts.ended(line, files=True)
        elif self._record is not None and line.strip():
            self._detail(self._record, line)
        elif first in _SIGNS and (match := _RESULT.match(line)):
            self._counts.running[_SIGNS[match[1]]] += 1
        return self._record is not None

    def findings(self) -> list[ShapeFindings]:
        """Return the runs, summed."""
        kept = self._failures.frozen()
        if not self._counts.runs and not kept:
            return []
        names = listed([one.name.rpartition(" › ")[2] for one in kept], len(self._failures))
        failed = max(len(self._failures), self._counts.tests["failed"])
        weight = (90 if self._counts.runs else 60) + 20 * bool(failed)
        headline = self._counts.headline("jest", names, self._suites)
        return [ShapeFindings(kind="jest", headline=headline, weight=weight, failures=kept, failed=failed)]

    def _heading(self, title: str, number: int) -> None:
        self._record = None
        if not self._file or title == "Console" or not title:
            return
        broken = title == "Test suite failed to run"
        name = self._file if broken else title
        key = f"{self._file} {title}"[:300]
        if key in self._seen:  # told again at the end of a long run
            return
        if len(self._seen) < _KEPT_TITLES:
            self._seen.add(key)
        self._suites += broken
        self._record = self._failures.mention(key, name=name, line=number)
        self._record.place = self._file

    def _detail(self, record: FailureRecord, line: str) -> None:
        text = line.strip()
        if match := _JEST_PLACE.match(line):
            if record.place == self._file and not is_foreign(match[1]):
                record.place = f"{match[1]}:{match[2]}:{match[3]}"
        elif not record.message:
            record.message = text
        elif text.startswith(("Expected", "Received")) and len(record.message) < 250:
            record.message += f", {text}"


class VitestRuns:
    """The shape of vitest."""

    interest: ClassVar = LineInterest(starts="FT❯⎯✓×↓R")
    _QUIET: ClassVar[tuple[str, ...]] = ("⎯", "❯", "Expected", "Received")

    def __init__(self) -> None:
        """Start before any run."""
        self._failures = FailureCollection()
        self._counts = _SuiteCounts()
        self._record: FailureRecord | None = None
        #: Failures above this one with the same details.
        self._twins: list[FailureRecord] = []
        self._suites = 0
        self._began = False

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on inside the details of a failure."""
        text = line.lstrip()
        first = text[:1]
        if first == "F" and line[:1] == " " and (match := _VITEST_FAIL.match(line)):
            self._heading(match[1].rstrip(), number)
        elif first == "T" and (match := _VITEST_TESTS.match(line)):
            self._counts.ended(match[2], files=match[1] == "Test Files")
            self._failures.close()
            self._record = None
        elif first == "⎯":
            self._began, self._record = True, None
        elif first == "R" and line.startswith(" RUN  v"):
            self._began = True
        elif self._record is not None and text:
            self._detail(self._record, line, text)
        elif first in _SIGNS and (match := _RESULT.match(line)):
            self._counts.running[_SIGNS[match[1]]] += 1
        return self._record is not None

    def findings(self) -> list[ShapeFindings]:
        """Return the runs, summed."""
        kept = self._failures.frozen()
        if not self._counts.runs and not (self._began and kept):
            return []
        names = listed([one.name.rpartition(" > ")[2] for one in kept], len(self._failures))
        failed = max(len(self._failures), self._counts.tests["failed"])
        weight = (91 if self._counts.runs else 61) + 20 * bool(failed)
        headline = self._counts.headline("vitest", names, self._suites)
        return [ShapeFindings(kind="vitest", headline=headline, weight=weight, failures=kept, failed=failed)]

    def _heading(self, title: str, number: int) -> None:
        file, _, bracket = title.partition(" [ ")
        if bracket:
            self._suites += 1
            title = file
        same = self._record is not None and not self._record.message
        self._twins = [*self._twins, self._record][-50:] if same and self._record else []
        self._record = self._failures.mention(title, stage=1, name=title, line=number)
        self._record.place = title.partition(" > ")[0]

    def _detail(self, record: FailureRecord, line: str, text: str) -> None:
        if text[0] == "❯":
            match = _VITEST_PLACE.match(line)
            if match and not is_foreign(match[1]) and record.place.count(":") < 2:
                for one in (record, *self._twins):
                    one.place = f"{match[1]}:{match[2]}:{match[3]}"
        elif not record.message and not text.startswith(self._QUIET):
            for one in (record, *self._twins):
                one.message = text
