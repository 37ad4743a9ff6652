"""Unified diffs, commits with their diffs, and git's own summary of changed files."""

from __future__ import annotations

from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import LineInterest, ShapeFindings, counted

__all__ = ["UnifiedDiffs"]

_HUNK = lazy_regex(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_GIT = lazy_regex(r"diff --(?:git|cc|combined) (?:\"?a/(.{1,500}?)\"? \"?b/.{1,500}|(\S.{0,500}))$")
_COMMIT = lazy_regex(r"commit [0-9a-f]{7,64}\b")
_STAT = lazy_regex(r" (\d{1,9}) files? changed(?:, (\d{1,9}) insertions?\(\+\))?(?:, (\d{1,9}) deletions?\(-\))?")
_FILES_SHOWN = 20


class UnifiedDiffs:
    """The shape of a diff. The counts in the head of a hunk say which lines are in it."""

    interest: ClassVar = LineInterest(starts="d-@c+0123456789BrnR", claims=True)

    def __init__(self) -> None:
        """Start before any file."""
        self._files = self._added = self._removed = self._hunks = self._commits = self._binary = 0
        self._shown: list[str] = []
        self._file_added = self._file_removed = 0
        self._file = ""
        self._old = self._new = 0
        self._stat = ""
        self._git = False

    def feed(self, line: str, number: int) -> bool:  # noqa: ARG002 (its interface)
        """Read a line. Hold on inside a hunk."""
        if self._old > 0 or self._new > 0:
            self._content(line)
        elif line[:3] == "@@ " and (match := _HUNK.match(line)):
            self._hunks += 1
            self._old, self._new = int(match[1] or 1), int(match[2] or 1)
        elif line[:7] == "diff --" and (match := _GIT.match(line)):
            self._next_file(match[1] or match[2])
            self._git = True
        elif line[:4] == "--- " and not self._git:
            self._next_file(line[4:].partition("\t")[0])
        elif line[:4] == "+++ " and line[4:13] != "/dev/null":
            self._file = line[4:].partition("\t")[0].removeprefix("b/")
        elif line[:7] == "commit " and _COMMIT.match(line):
            self._commits += 1
        elif line[:13] == "Binary files ":
            self._binary += 1
        elif "changed" in line[:40] and (match := _STAT.match(line)):
            self._stat = line.strip()
        return self._old > 0 or self._new > 0

    def findings(self) -> list[ShapeFindings]:
        """Return the changed files with the lines added and removed."""
        if not self._hunks and not (self._git and self._files):
            if self._stat:
                return [ShapeFindings(kind="diff", headline=self._stat, weight=50)]
            return []
        files = max(self._files, 1)
        headline = f"{counted(files, 'file')} changed, +{self._added} -{self._removed} lines"
        if self._commits > 1:
            headline = f"{counted(self._commits, 'commit')}: {headline}"
        if self._binary:
            headline += f", {self._binary} binary"
        shown = (*self._shown, *self._told())
        return [ShapeFindings(kind="diff", headline=headline, weight=72, notes=shown)]

    def _content(self, line: str) -> None:
        sign = line[:1]
        if sign == "+":
            self._new -= 1
            self._added += 1
            self._file_added += 1
        elif sign == "-":
            self._old -= 1
            self._removed += 1
            self._file_removed += 1
        elif sign in {" ", ""}:
            self._old -= 1
            self._new -= 1
        elif sign != "\\":  # "No newline at end of file"
            self._old = self._new = 0

    def _told(self) -> tuple[str, ...]:
        if not self._file:
            return ()
        return (f"{self._file[:200]} +{self._file_added} -{self._file_removed}",)

    def _next_file(self, name: str) -> None:
        if len(self._shown) < _FILES_SHOWN:
            self._shown.extend(self._told())
        self._files += 1
        self._file, self._file_added, self._file_removed = name, 0, 0
