"""Outputs of Python's unittest, plain and verbose."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import FailureCollection, FailureRecord, LineInterest, ShapeFindings, counted, listed, tally
from .places import is_foreign

__all__ = ["UnittestRuns"]

_HEADER = lazy_regex(r"(FAIL|ERROR): (\S+)(?: \(([\w.<>]+)\))?(.*)")
_RAN = lazy_regex(r"Ran (\d{1,9}) tests? in \d[\d.]*s")
_COUNTS = lazy_regex(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d{1,9})")
_FRAME = lazy_regex(r'  File "([^"]{1,500})", line (\d{1,9})')
_NO_TESTS = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")
_ORDER = ("passed", "failed", "errors", "skipped", "expected failures", "unexpected successes")


class UnittestRuns:
    """The shape of unittest."""

    interest: ClassVar = LineInterest(starts="=RO", alarms=True)

    def __init__(self) -> None:
        """Start before any run."""
        self._failures = FailureCollection()
        self._counts = Counter[str]()
        self._tests = self._runs = 0
        self._header_next = self._in_failure = self._ran = False
        self._record: FailureRecord | None = None

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on from a rule of ``=`` to the end of its failure."""
        first = line[:1]
        if first == "=":
            self._header_next = line == "=" * 70
            self._record = None if self._header_next else self._record
        elif self._header_next:
            self._header_next = False
            match = _HEADER.match(line)
            if match:
                how, test, owner, rest = match.groups()
                name = f"{_owner(owner, test)}{test}{rest.rstrip()}"
                self._record = self._failures.mention(f"{how} {name}", name=name, line=number)
        elif first == "R" and (match := _RAN.match(line)):
            self._tests += int(match[1])
            self._runs += 1
            self._ran, self._record = True, None
            self._failures.close()
        elif self._ran and first in {"O", "F"} and line.startswith(("OK", "FAILED (")):
            self._ran = False
            for name, count in _COUNTS.findall(line):
                self._counts["failed" if name == "failures" else name] += int(count)
        elif self._record is not None:
            self._detail(self._record, line)
        return self._header_next or self._ran or self._record is not None

    def findings(self) -> list[ShapeFindings]:
        """Return the runs, summed."""
        kept = self._failures.frozen()
        if not self._runs and not kept:
            return []
        failed = max(len(self._failures), self._counts["failed"] + self._counts["errors"])
        counts = Counter(self._counts)
        # A test with several failing parts is one test, and the set-up of a class is none.
        owners = {one.name.partition(" ")[0] for one in kept if not one.name.endswith(_NO_TESTS)}
        others = sum(count for name, count in counts.items() if name not in {"failed", "errors"})
        counts["passed"] = max(0, self._tests - max(len(owners), failed if failed > len(kept) else 0) - others)
        names = listed([_short(one.name) for one in kept], failed)
        headline = f"{counted(self._tests, 'test')}: {tally(counts, _ORDER) or 'none ran'}{names}"
        if not self._runs:
            headline = f"unittest did not end: {counted(failed, 'failure')}{names}"
        if self._runs > 1:
            headline = f"{self._runs} runs, summed: {headline}"
        weight = (85 if self._runs else 55) + 20 * bool(failed)
        return [ShapeFindings(kind="unittest", headline=headline, weight=weight, failures=kept, failed=failed)]

    def _detail(self, record: FailureRecord, line: str) -> None:
        if match := _FRAME.match(line):
            if not is_foreign(match[1]) or not record.place:
                record.place = f"{match[1]}:{match[2]}"
            record.message = ""
        elif line and not line[0].isspace() and not record.message and not line.startswith(("-", "Traceback")):
            record.message = line


def _short(name: str) -> str:
    test, space, subtest = name.partition(" ")
    return test.rpartition(".")[2] + space + subtest


def _owner(owner: str | None, test: str) -> str:
    """Return the class of a test with a dot. Newer versions write the test's own name behind it."""
    if not owner:
        return ""
    return f"{owner.removesuffix(f'.{test}')}."
