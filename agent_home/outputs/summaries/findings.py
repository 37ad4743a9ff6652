"""Values that every shape of output reports, and the bounded collection of failures behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from .lines import one_line

__all__ = [
    "FailureCollection",
    "FailureRecord",
    "LineInterest",
    "OutputFailure",
    "OutputShape",
    "ShapeFindings",
    "counted",
    "listed",
    "short",
    "tally",
]

#: Failures kept of one shape. Further ones are counted.
_KEPT_FAILURES = 200
#: Characters kept of a name, of a place and of a message.
_LONGEST_NAME, _LONGEST_MESSAGE = 200, 300
#: Names in a headline, and the characters of each.
_NAMES_IN_HEADLINE, _LONGEST_SHORT_NAME = 4, 60
_SINGULAR = {"errors": "error", "unexpected successes": "unexpected success", "expected failures": "expected failure"}


@dataclass(frozen=True, slots=True)
class OutputFailure:
    """One failure: *line* is the line of the output, from 1, where it is told. *place* is where it happened."""

    name: str
    place: str
    message: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeFindings:
    """Findings of one shape.

    Attributes:
        kind: name of the shape.
        headline: one line.
        weight: how sure it is that the output has this shape. The heaviest findings are the summary.
        failures: the first ones.
        failed: how many failures there are. At least ``len(failures)``.
        notes: further lines worth reading, such as warnings.
        inner: the shape is usually found inside others, which then tell the same better.
    """

    kind: str
    headline: str
    weight: int
    failures: tuple[OutputFailure, ...] = ()
    failed: int = 0
    notes: tuple[str, ...] = ()
    inner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LineInterest:
    """Lines that a shape wants.

    Attributes:
        starts: lines whose first character is one of these. White space in front is skipped.
        ends: lines whose last character is one of these.
        alarms: lines that hold a part of a word such as "error".
        raw: give the line with the timestamp in front.
        holds: give every line from the first one on, until the shape lets go.
        claims: while the shape holds on, no later shape gets the line.
    """

    starts: str = ""
    ends: str = ""
    alarms: bool = False
    raw: bool = False
    holds: bool = False
    claims: bool = False


class OutputShape(Protocol):
    """A reader of one shape of output. It gets the lines of its interest, and all lines while it holds on."""

    interest: ClassVar[LineInterest]

    def feed(self, line: str, number: int) -> bool:
        """Read a line and return whether to hold on, so that the next line comes whatever it is."""

    def findings(self) -> list[ShapeFindings]:
        """Return what was found until now. Nothing changes by it."""


@dataclass(slots=True)
class FailureRecord:
    """A failure while its mentions are read."""

    name: str
    place: str
    message: str
    line: int
    stage: int


class FailureCollection:
    """Failures in the order of their first mention. Several mentions of one failure are merged.

    A tool tells a failure several times: as a result, with its details, in a list at the end. Each way of telling is a
    *stage*. A mention belongs to the first record of the same key that has not reached its stage.
    """

    def __init__(self) -> None:
        self._records: list[FailureRecord] = []
        self._open: dict[str, list[FailureRecord]] = {}
        self._more = 0

    def __len__(self) -> int:
        return len(self._records) + self._more

    def mention(
        self, key: str, *, stage: int = 0, name: str = "", line: int = 0, relocate: bool = False
    ) -> FailureRecord:
        """Return the record of a failure, which is a new one when none of this key waits for *stage*.

        Args:
            key: what all mentions of the failure have in common.
            stage: the way of telling.
            name: replaces the name that is known.
            line: the line of the output, kept from the first mention.
            relocate: keep the line of this mention.
        """
        key = key[:_LONGEST_MESSAGE]
        record = next((one for one in self._open.get(key, ()) if one.stage < stage), None)
        if record is None:
            record = FailureRecord(_cut(name or key, _LONGEST_NAME), "", "", line, stage)
            if len(self._records) < _KEPT_FAILURES:
                self._records.append(record)
                self._open.setdefault(key, []).append(record)
            else:
                self._more += 1
        record.stage = stage
        if name:
            record.name = _cut(name, _LONGEST_NAME)
        if relocate:
            record.line = line
        return record

    def waits(self, key: str, stage: int) -> bool:
        """Return whether a record of this key has not reached *stage*."""
        return any(one.stage < stage for one in self._open.get(key[:_LONGEST_MESSAGE], ()))

    def add(self, name: str, place: str, message: str, line: int) -> FailureRecord:
        """Add a failure that is told once, and return its record."""
        record = self.mention(name, name=name, line=line)
        record.place, record.message = _cut(place, _LONGEST_NAME), _cut(message, _LONGEST_MESSAGE)
        return record

    def remove(self, key: str) -> None:
        """Remove the last failure of this key, which turned out to be told by others."""
        records = self._open.get(key[:_LONGEST_MESSAGE])
        if records:
            record = records.pop()
            if self._records[-1] is record:
                self._records.pop()
            else:
                self._records = [one for one in self._records if one is not record]
        elif self._more:
            self._more -= 1

    def close(self) -> None:
        """End a run: further mentions are failures of the next run."""
        self._open.clear()

    def frozen(self) -> tuple[OutputFailure, ...]:
        """Return the failures that were kept."""
        return tuple(
            OutputFailure(
                one_line(one.name, _LONGEST_NAME),
                one_line(one.place, _LONGEST_NAME),
                one_line(one.message, _LONGEST_MESSAGE),
                one.line,
            )
            for one in self._records
        )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "test"), counted(3, "test")
    ('1 test', '3 tests')
    """
    return f"{number} {noun if number == 1 else noun + 's'}"


def listed(names: Iterable[str], total: int) -> str:
    """Return the first names in parentheses behind a space, and how many more there are. Empty without names.

    >>> listed(["test_auth", "test_db"], 7)
    ' (test_auth, test_db, 5 more)'
    """
    shown: list[str] = []
    covered = 0
    for name in names:
        cut = _cut(name, _LONGEST_SHORT_NAME)
        if cut not in shown and len(shown) == _NAMES_IN_HEADLINE:
            break
        covered += 1
        if name and cut not in shown:
            shown.append(cut)
    if not shown:
        return ""
    more = total - covered
    return f" ({', '.join([*shown, *([f'{more} more'] if more > 0 else [])])})"


def short(failures: Sequence[OutputFailure], separators: Sequence[str]) -> list[str]:
    """Return the last part of each failure's name, for a headline."""
    names = []
    for failure in failures[: 2 * _NAMES_IN_HEADLINE]:
        name = failure.name
        for separator in separators:
            head, _, parameters = name.partition("[")
            name = head.rpartition(separator)[2] + (f"[{parameters}" if parameters else "")
        names.append(name or failure.name)
    return names


def tally(counts: Mapping[str, int], order: Sequence[str]) -> str:
    """Return the counts that are not zero.

    >>> tally({"failed": 2, "passed": 40, "skipped": 0}, ["passed", "failed", "skipped"])
    '40 passed, 2 failed'
    """
    return ", ".join(
        f"{counts[name]} {_SINGULAR.get(name, name) if counts[name] == 1 else name}"
        for name in order
        if counts.get(name)
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
