"""Any other output: its first and last lines, and those that look like errors."""

from __future__ import annotations

from collections import deque

from guard.lazy_regex import lazy_regex

from .findings import OutputFailure, ShapeFindings, counted

__all__ = ["PlainText", "alarming"]

_LOOKS_LIKE_ERROR = lazy_regex(
    r"\b(?:[Ee]rrors?|ERRORS?|\w{0,60}(?:Error|Exception)|[Ff]atal|FATAL|[Ff]ail(?:ed|ure|ures|s)?|FAIL(?:ED|URE)?"
    r"|[Pp]anic(?:ked)?|PANIC|[Pp]ermission denied|[Cc]onnection refused|[Kk]illed|[Tt]imed out|[Nn]ot found"
    r"|No such file|[Uu]nable to|[Cc]annot)\b(?!=0)"
)
_NO_ERROR = lazy_regex(
    r"\b(?:no|No|0|without|zero) (?:\w{1,20} )?(?:errors?|failures?|failed)\b|\b(?:errors?|failed|failures)[:=] ?0\b"
)
_HEAD, _TAIL = 8, 12
_LONGEST = 300
#: Lines kept that look like errors: the first ones and the last ones.
_FIRST_ERRORS, _LAST_ERRORS = 20, 20


class PlainText:
    """The first and last lines of an output, and those that look like errors."""

    def __init__(self) -> None:
        """Start before the first line."""
        self.head: list[str] = []
        self.tail: deque[str] = deque(maxlen=_TAIL)
        self._first: list[tuple[int, str]] = []
        self._last: deque[tuple[int, str]] = deque(maxlen=_LAST_ERRORS)
        self._errors = 0

    def begin(self, line: str) -> bool:
        """Keep a line of the head and return whether there is room for another one."""
        if line and not line.isspace():
            self.head.append(line[:_LONGEST])
        return len(self.head) < _HEAD

    def alarm(self, line: str, number: int) -> None:
        """Keep a line that is `alarming` if it looks like an error."""
        if not _LOOKS_LIKE_ERROR.search(line) or _NO_ERROR.search(line):
            return
        self._errors += 1
        if len(self._first) < _FIRST_ERRORS:
            self._first.append((number, line[:_LONGEST]))
        else:
            self._last.append((number, line[:_LONGEST]))

    def findings(self, lines: int) -> ShapeFindings:
        """Return the number of lines, and those that look like errors as failures."""
        failures = tuple(
            OutputFailure(f"line {number}", "", line.strip(), number) for number, line in (*self._first, *self._last)
        )
        headline = counted(lines, "line")
        if self._errors:
            first = f"line {failures[0].line}: {failures[0].message[:100]}"
            if self._errors > 1:
                headline += f", {self._errors} look like errors (first: {first})"
            else:
                headline += f", 1 looks like an error ({first})"
        return ShapeFindings(kind="text", headline=headline, weight=0, failures=failures, failed=self._errors)


def alarming(line: str) -> bool:
    """Return whether a line holds a part of a word without which no line looks like an error.

    It is asked about every line. Written out, the tests take two thirds of the time of a loop.
    """
    return (
        "rror" in line
        or "ail" in line
        or "RROR" in line
        or "FAIL" in line
        or "xcept" in line
        or "anic" in line
        or "atal" in line
        or "FATAL" in line
        or "denied" in line
        or "efused" in line
        or "illed" in line
        or "imed out" in line
        or "ot found" in line
        or "o such file" in line
        or "nable to" in line
        or "annot " in line
    )
