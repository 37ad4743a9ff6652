"""One pass over an output: each line goes to the shapes that may want it, and the best evidence is the summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from .cargo_runs import CargoBuilds, CargoTests
from .data_files import JsonDocuments, JsonLines, SeparatedTables
from .diagnostics import Diagnostics
from .diffs import UnifiedDiffs
from .findings import OutputFailure, OutputShape, ShapeFindings
from .go_tests import GoTests
from .javascript_tests import JestRuns, VitestRuns
from .lines import one_line, plain, unprefixed
from .linters import BlockLinters
from .plain_text import PlainText, alarming
from .pytest_runs import PytestRuns
from .rendering import render
from .tracebacks import Tracebacks
from .unittest_runs import UnittestRuns
from .web_logs import AccessLogs

__all__ = ["OutputSummariser", "OutputSummary"]

#: Findings at least this heavy are named beside the heaviest ones.
_ALSO_FROM = 60
#: Characters of a headline.
_LONGEST_HEADLINE = 400
#: Combinations of shapes for which the list of their methods is kept.
_KEPT_COMBINATIONS = 4_096

#: The bit of a shape, its method, and its attributes *raw* and *claims*.
_Reader = tuple[int, Callable[[str, int], bool], bool, bool]


@dataclass(frozen=True, slots=True)
class OutputSummary:
    """Summary of an output.

    Attributes:
        kind: "pytest", "unittest", "jest", "vitest", "go test", "cargo test", "cargo build", "compiler", "linter",
            "traceback", "json", "csv", "diff", "access log" or "text".
        headline: one line.
        failures: the first failures, at most 200.
        lines: the number of lines.
        text: the summary within the budget: headline, failures, first and last lines. Every line has a line end.
    """

    kind: str
    headline: str
    failures: tuple[OutputFailure, ...]
    lines: int
    text: str


class OutputSummariser:
    """Read an output line by line in bounded memory, and sum it up at any time.

    >>> summariser = OutputSummariser()
    >>> for line in ["FAILED test_cart.py::test_total - assert 3 == 4", "1 failed, 7 passed in 0.12s"]:
    ...     summariser.add(line)
    >>> summariser.result().headline
    '8 tests: 7 passed, 1 failed (test_total)'
    """

    def __init__(self, *, max_tokens: int = 200) -> None:
        """Start before the first line. *max_tokens* is the budget of ``OutputSummary.text``."""
        self._max_tokens = max_tokens
        self._lines = 0
        self._text = PlainText()
        self._in_head = True
        self._shapes = _shapes()
        self._first = _masks(self._shapes, lambda shape: shape.interest.starts)
        self._last = _masks(self._shapes, lambda shape: shape.interest.ends)
        self._alarmed = sum(1 << at for at, shape in enumerate(self._shapes) if shape.interest.alarms)
        self._held = sum(1 << at for at, shape in enumerate(self._shapes) if shape.interest.holds)
        self._readers: dict[int, tuple[_Reader, ...]] = {}

    def add(self, line: str) -> None:
        """Read the next line, without its line end. Only its first 2 000 characters are looked at."""
        self._lines = number = self._lines + 1
        raw = plain(line)
        told = unprefixed(raw).rstrip()
        if self._in_head:
            self._in_head = self._text.begin(raw)
        elif raw:
            self._text.tail.append(raw)
        mask = self._held | self._first.get(told.lstrip()[:1], 0) | self._last.get(told[-1:], 0)
        if alarming(told):
            mask |= self._alarmed
            self._text.alarm(told, number)
        if mask:
            for bit, feed, wants_raw, claims in self._readers.get(mask) or self._combine(mask):
                if feed(raw if wants_raw else told, number):
                    self._held |= bit
                    if claims:
                        break
                elif self._held & bit:
                    self._held ^= bit

    def result(self) -> OutputSummary:
        """Return the summary of the lines until now."""
        found = [
            replace(one, headline=one_line(one.headline, _LONGEST_HEADLINE))
            for shape in self._shapes
            for one in shape.findings()
        ]
        found.sort(key=lambda one: -one.weight)
        best = found[0] if found else self._text.findings(self._lines)
        others = [
            f"{one.kind}: {one.headline}"
            for one in found[1:]
            if one.weight >= _ALSO_FROM and not one.inner and one.kind != best.kind
        ]
        return OutputSummary(
            kind=best.kind,
            headline=best.headline,
            failures=best.failures,
            lines=self._lines,
            text=render(best, others, *self._shown(best), max_tokens=self._max_tokens),
        )

    def _shown(self, best: ShapeFindings) -> tuple[Sequence[str], Sequence[str]]:
        """Return the first and last lines. The files of a diff say more than its last lines."""
        tail = list(self._text.tail)
        return self._text.head, tail if best.kind != "diff" else []

    def _combine(self, mask: int) -> Iterable[_Reader]:
        readers = tuple(
            (1 << at, shape.feed, shape.interest.raw, shape.interest.claims)
            for at, shape in enumerate(self._shapes)
            if mask & 1 << at
        )
        if len(self._readers) < _KEPT_COMBINATIONS:
            self._readers[mask] = readers
        return readers


def _shapes() -> list[OutputShape]:
    return [
        UnifiedDiffs(), PytestRuns(), UnittestRuns(), JestRuns(), VitestRuns(), GoTests(), CargoTests(), CargoBuilds(),
        Diagnostics(), BlockLinters(), Tracebacks(), JsonDocuments(), JsonLines(), SeparatedTables(), AccessLogs(),
    ]  # fmt: skip


def _masks(shapes: Sequence[OutputShape], characters: Callable[[OutputShape], str]) -> dict[str, int]:
    masks: dict[str, int] = {}
    for at, shape in enumerate(shapes):
        for character in characters(shape):
            masks[character] = masks.get(character, 0) | 1 << at
    return masks
