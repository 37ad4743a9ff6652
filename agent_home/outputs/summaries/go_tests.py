"""Outputs of go test, as text and as JSON events."""

from __future__ import annotations

import json
from collections import Counter
from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import FailureCollection, FailureRecord, LineInterest, ShapeFindings, counted, listed, short, tally

__all__ = ["GoTests"]

_RESULT = lazy_regex(r"--- (PASS|FAIL|SKIP): (\S+) \(\d")
_PACKAGE = lazy_regex(r"(?:(ok|FAIL|\?) {0,3}\t|(---) FAIL )(\S+)(?:\s+(.*))?$")
_SAID = lazy_regex(r"\s+([\w./-]{1,300}\.go:\d{1,7}): ?(.*)")
_BUILD = lazy_regex(r"([^\s:]{1,300}\.go:\d{1,7}(?::\d{1,7})?): (.+)")
_FRAME = lazy_regex(r"\s+(\S{1,500}\.go):(\d{1,7})(?: \+0x[0-9a-f]+)?$")
_RUN = lazy_regex(r"=== (?:RUN|CONT|NAME) +(\S+)")
_WORDS = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_ORDER = ("passed", "failed", "skipped")
_PACKAGE_ORDER = ("ok", "failed", "failed to build", "without tests")
_RUNNING = lazy_regex(r"\s+((?:Test|Fuzz|Example|Benchmark)\S{0,300}) \(\d[\d.hms]*\)$")
#: Files of the language itself: the first folder has no dot, as the domain of a module has.
_MACHINERY = lazy_regex(
    r"/go/src/[a-z0-9]+/|/(?:testing|panic|signal_unix)\.go$|^_testmain\.go$|/src/(?:runtime|testing)/"
)
#: Names of tests whose parents or messages are kept at once, and the characters of each.
_KEPT_NAMES, _LONGEST_NAME = 2_000, 200


class GoTests:
    """The shape of go test."""

    interest: ClassVar = LineInterest(starts="-FPo?=p#{g", ends=")")

    def __init__(self) -> None:
        """Start before any run."""
        self._failures = FailureCollection()
        self._counts = Counter[str]()
        self._packages = Counter[str]()
        self._open: dict[str, str] = {}
        self._parents: set[str] = set()
        self._said: dict[str, tuple[str, str]] = {}
        self._current = self._building = ""
        self._record: FailureRecord | None = None
        self._panicking = False
        self._partial = ""

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on behind a failure and in a package that does not build."""
        if line[:1] == "{":
            self._event(line, number)
            return False
        self._line(line, number)
        return bool(self._record or self._current or self._building)

    def findings(self) -> list[ShapeFindings]:
        """Return the packages and tests of all runs, summed."""
        kept = self._failures.frozen()
        if not self._packages and not (self._counts or kept):
            return []
        if not self._packages and not self._counts["failed"] + self._counts["passed"]:
            return []
        failed = len(self._failures)
        packages = sum(self._packages.values())
        parts = []
        if packages:
            parts.append(f"{counted(packages, 'package')}: {tally(self._packages, _PACKAGE_ORDER)}")
        total = sum(self._counts.values())
        if total:
            parts.append(f"{counted(total, 'test')} told: {tally(self._counts, _ORDER)}")
        headline = "; ".join(parts) + listed(short(kept, ()), failed)
        if not packages:
            headline = f"go test did not end: {headline}"
        weight = (88 if packages else 58) + 20 * bool(failed or self._packages["failed"])
        return [ShapeFindings(kind="go test", headline=headline, weight=weight, failures=kept, failed=failed)]

    def _line(self, line: str, number: int) -> None:
        text = line.lstrip()
        if "--- " in line and (match := _RESULT.search(line)):
            self._result(match[2][:_LONGEST_NAME], match[1], number)
        elif text[:4] == "=== " and (match := _RUN.match(text)):
            self._current, self._record, self._building = match[1][:_LONGEST_NAME], None, ""
        elif line[:2] in {"ok", "FA", "? ", "?\t"} and (match := _PACKAGE.match(line)):
            self._package(match[1], match[3], match[4] or "", number)
        elif line[:2] == "# ":
            self._building, self._record, self._current = line[2:].partition(" ")[0].strip("[]"), None, ""
        elif self._building:
            self._build_error(line, number)
        elif line.startswith("panic: "):
            self._panic(line, number)
        elif line in {"FAIL", "PASS"}:
            self._current, self._record = "", None
        else:
            self._detail(line)

    def _event(self, line: str, number: int) -> None:
        """Read an event of ``-json``: the text in it is read as lines."""
        if '"Action":"' not in line[:400] or not ('"Package":' in line or '"ImportPath":' in line):
            return
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        action, test = event.get("Action"), event.get("Test")
        if action in {"output", "build-output"} and isinstance(output := event.get("Output"), str):
            if isinstance(test, str):
                self._current = test[:_LONGEST_NAME]
            self._partial = (self._partial + output)[-4_000:]
            *lines, self._partial = self._partial.split("\n")
            for told in lines:
                self._line(told, number)

    def _result(self, name: str, word: str, number: int) -> None:
        """Count a test. A test with subtests is told by them."""
        self._current = ""
        self._building = ""
        self._panicking = False
        parent = name.rpartition("/")[0]
        while parent:
            status = self._open.pop(parent, None)
            if status:
                self._counts[status] -= 1
                if status == "failed":
                    self._failures.remove(parent)
            elif len(self._parents) < _KEPT_NAMES:
                self._parents.add(parent)
            parent = parent.rpartition("/")[0]
        self._record = None
        place, message = self._said.pop(name, ("", ""))
        if name in self._parents:
            return
        if len(self._open) >= _KEPT_NAMES:
            self._open.clear()
        self._open[name] = _WORDS[word]
        self._counts[_WORDS[word]] += 1
        if word == "FAIL":
            self._record = self._failures.mention(name, name=name, line=number)
            self._record.place, self._record.message = place, message

    def _package(self, word: str, name: str, rest: str, number: int) -> None:
        if word == "ok":
            status = "ok"
        elif word == "?":
            status = "without tests"
        elif rest.startswith(("[build failed]", "[setup failed]")):
            status = "failed to build"
            if not len(self._failures):
                self._failures.add(name, "", rest, number)
        else:
            status = "failed"
        self._packages[status] += 1
        self._open.clear()
        self._parents.clear()
        self._said.clear()
        self._failures.close()
        self._current = self._building = ""
        self._record, self._panicking = None, False

    def _build_error(self, line: str, number: int) -> None:
        match = _BUILD.match(line.removeprefix("vet: "))
        if match:
            record = self._failures.mention(f"# {self._building}", stage=1, name=self._building, line=number)
            record.place, record.message = match[1], match[2]
        elif line[:1] not in {"\t", " ", "#"}:
            self._building = ""
            self._line(line, number)

    def _panic(self, line: str, number: int) -> None:
        if self._record is None:
            self._record = self._failures.mention("panic", name=self._current or "panic", line=number)
        self._record.message = line.removesuffix(" [recovered, repanicked]").removesuffix(" [recovered]")
        self._record.place, self._panicking = "", True

    def _detail(self, line: str) -> None:
        record = self._record
        if self._panicking and record is not None:
            match = _FRAME.match(line)
            if match and not record.place and not _MACHINERY.search(match[1]):
                record.place = f"{match[1]}:{match[2]}"
            elif record.name == "panic" and (match := _RUNNING.match(line)):
                record.name = match[1]
        elif match := _SAID.match(line):
            if self._current and len(self._said) < _KEPT_NAMES:
                self._said.setdefault(self._current, (match[1], match[2][:300]))
            elif record is not None and not record.place:
                record.place, record.message = match[1], match[2]
        elif (text := line.strip()).startswith("Error:"):
            self._assertion(text.removeprefix("Error:").strip())

    def _assertion(self, text: str) -> None:
        """Take the message that a library for assertions writes below an empty one."""
        place, message = self._said.get(self._current, ("", "-"))
        if not message:
            self._said[self._current] = (place, text[:300])
        elif self._record is not None and not self._record.message:
            self._record.message = text
