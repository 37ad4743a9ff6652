"""Access logs of web servers in the common and the combined format."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import LineInterest, OutputFailure, ShapeFindings, counted

__all__ = ["AccessLogs"]

_REQUEST = lazy_regex(
    r'\S{1,200} \S{1,100} .{0,100}?\[[^\]]{10,40}\] "(?:([A-Z]{3,10}) (\S{1,1500})[^"]*|[^"]*)" (\d{3}) (?:\d+|-)'
)
_KEPT_PATHS, _LISTED_PATHS, _LONGEST_PATH = 500, 50, 100


class AccessLogs:
    """The shape of an access log."""

    interest: ClassVar = LineInterest(starts="0123456789:-fl")

    def __init__(self) -> None:
        """Start before any request."""
        self._classes = Counter[str]()
        self._errors = Counter[tuple[str, str]]()
        self._first_lines: dict[tuple[str, str], int] = {}
        self._requests = self._others = 0

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on after the first request, to count the lines that are none."""
        match = _REQUEST.match(line) if '] "' in line else None
        if match is None:
            self._others += bool(line) and self._requests > 0
            return self._requests > 0
        self._requests += 1
        status = match[3]
        self._classes[status[0]] += 1
        if status[0] == "5":
            self._server_error(match[2] or "?", status, number)
        return True

    def findings(self) -> list[ShapeFindings]:
        """Return requests by class of their status, and the paths that failed most."""
        if not self._requests or self._others > self._requests // 5:
            return []
        classes = ", ".join(f"{count} {digit}xx" for digit, count in sorted(self._classes.items()))
        headline = f"{counted(self._requests, 'request')}: {classes}"
        top = self._errors.most_common(_LISTED_PATHS)
        if top:
            headline += f"; most 5xx: {', '.join(f'{path} {status} x{count}' for (path, status), count in top[:3])}"
        kept = tuple(
            OutputFailure(f"{status} {path}", path, counted(count, "time"), self._first_lines[path, status])
            for (path, status), count in top
        )
        failed = len(self._errors)
        return [ShapeFindings(kind="access log", headline=headline, weight=74, failures=kept, failed=failed)]

    def _server_error(self, path: str, status: str, number: int) -> None:
        path = path.partition("?")[0][:_LONGEST_PATH]
        if (path, status) in self._errors or len(self._errors) < _KEPT_PATHS:
            self._errors[path, status] += 1
            self._first_lines.setdefault((path, status), number)
