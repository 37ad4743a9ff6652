"""Outputs of pytest: verbose, quiet, parallel, ended or killed, one run or several."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import FailureCollection, FailureRecord, LineInterest, ShapeFindings, counted, listed, short, tally
from .places import is_foreign

__all__ = ["PytestRuns"]

_BANNER = lazy_regex(r"[=!]+ (.{1,1500}?) [=!]+$")
_COUNTS = lazy_regex(
    r"(\d{1,9}) (failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed)\b"
)
_QUIET_END = lazy_regex(r"(?:\d{1,9} [a-z ]{4,20}, ){0,9}(?:\d{1,9} [a-z ]{4,20}|no tests ran) in \d[\d.]*s\b")
_HEADER = lazy_regex(r"_+ (?! *_ )(\S.{0,1500}?) _+$")
_ERROR_HEADER = lazy_regex(r"ERROR (?:at (setup|teardown) of|collecting) (.+)")
_LISTED = lazy_regex(r"(FAILED|ERROR|SUBFAILED\S{0,200}|SUBFAIL) (?=\S*\.py|\S*::)(.+)$")
_RESULT = lazy_regex(r" (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b[^\[]{0,300}(?:\[ {0,3}\d{1,3}%\])?$")
_PARALLEL_RESULT = lazy_regex(r"\[gw\d+\] (?:\[ *\d+%\] )?(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S.*?) *$")
_DOTS = lazy_regex(r"(?:\S+ )?([.FEsxX]{1,500})\s*\[ *\d+%\]$")
_PLACE = lazy_regex(r"(\S[^:]{0,300}):(\d{1,7}): ?(?:in |\w+|$)")
_FRAME = lazy_regex(r'  File "([^"]{1,500})", line (\d{1,9})')
_ERROR = lazy_regex(r"[A-Za-z_][\w.]{0,200}(?:Error|Exception|Warning|Failed|Exit|Interrupt)(?:: .*)?$")
_COLLECTED = lazy_regex(r"(?:collecting \.\.\. )?collected (\d{1,9}) items?|\d{1,4} workers \[(\d{1,9}) items?\]")

_WORDS = {
    "PASSED": "passed",
    "FAILED": "failed",
    "ERROR": "errors",
    "SKIPPED": "skipped",
    "XFAIL": "xfailed",
    "XPASS": "xpassed",
}
_SIGNS = {".": "passed", "F": "failed", "E": "errors", "s": "skipped", "x": "xfailed", "X": "xpassed"}
#: Errors before any test is collected.
_EARLY = ("ImportError while loading conftest", "ERROR: file or directory", "ERROR: not found: ", "ERROR: usage:")
_ORDER = ("passed", "failed", "errors", "skipped", "xfailed", "xpassed")
_RESULT_STAGE, _DETAIL_STAGE, _LIST_STAGE = 1, 2, 3


class PytestRuns:
    """The shape of pytest."""

    interest: ClassVar = LineInterest(starts="=!_", ends="]Ds", alarms=True)

    def __init__(self) -> None:
        """Start before any run."""
        self._failures = FailureCollection()
        self._ended = Counter[str]()
        self._running = Counter[str]()
        self._last_end = Counter[str]()
        self._ends = self._collected = 0
        self._began = self._stopped = self._fresh = False
        self._section = ""
        self._detail: FailureRecord | None = None

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on inside the sections of a run."""
        first = line[:1]
        if first in {"=", "!"}:
            self._banner(line)
        elif self._section in {"failures", "errors"}:
            self._details(line, number)
        elif first == "c" or "workers [" in line[:20]:
            self._count_collected(line)
        elif line.startswith(_EARLY) and (self._began or first == "I"):
            self._begin()
            name = line.rpartition("/")[2].rstrip("'.") if first == "I" else line.partition(": ")[2]
            self._section = "errors" if first == "I" else self._section
            self._detail = self._failures.mention(line, name=name, line=number)
            self._detail.message = line
        elif not self._list(line, number):
            self._progress(line, number)
        return bool(self._section)

    def findings(self) -> list[ShapeFindings]:
        """Return the runs, summed."""
        unfinished = self._began and bool(self._running or self._collected)
        runs = self._ends + unfinished
        if not runs and not (self._began or len(self._failures)):
            return []
        counts = self._ended + self._running
        kept = self._failures.frozen()
        failed = max(len(self._failures), counts["failed"] + counts["errors"])
        total = sum(counts[name] for name in _ORDER)
        parts = tally(counts, _ORDER) or "no result"
        names = listed(short(kept, ("::", "/")), failed)
        if self._section == "list" and not self._ends:
            headline = f"pytest gave no counts: {counted(failed, 'failure')}{names}"
        elif unfinished or not self._ends:
            of = f" of {self._collected} collected" if self._collected else ""
            headline = f"pytest did not end: {counted(total, 'test')}{of}: {parts}{names}"
        else:
            headline = f"{counted(total, 'test')}: {parts}{names}" if total else "no tests ran"
            if self._stopped:
                headline += ", stopped early"
        if runs > 1:
            headline = f"{runs} runs, summed: {headline}"
        weight = (90 if self._ends else 60) + 20 * bool(failed)
        return [ShapeFindings(kind="pytest", headline=headline, weight=weight, failures=kept, failed=failed)]

    def _banner(self, line: str) -> None:
        match = _BANNER.match(line)
        if not match:
            return
        title = match[1]
        if line[0] == "!":
            self._stopped = self._stopped or (self._began and title.startswith(("Interrupted", "stopping", "Keyboard")))
        elif title == "test session starts":
            self._end_unfinished()
            self._begin()
            self._section = "start"
        elif title in {"FAILURES", "ERRORS"}:
            self._began, self._section, self._detail = True, title.lower(), None
        elif title == "short test summary info":
            self._began, self._section = True, "list"
        elif _QUIET_END.search(title):
            self._end(title)
        elif self._section not in {"", "start"}:
            self._section = "other"

    def _end_unfinished(self) -> None:
        if self._began:
            self._ended += self._running
            self._ends += bool(self._running)
            self._reset()
            self._failures.close()

    def _begin(self) -> None:
        """Note a sign of a run. The first one behind the end of a run begins the next run."""
        if not self._fresh:
            self._failures.close()
        self._began = self._fresh = True

    def _end(self, title: str) -> None:
        """Take the counts of a run. Later counts replace them until another run begins."""
        if self._ends and not self._fresh:
            self._ended -= self._last_end
        else:
            self._ends += 1
        self._last_end.clear()
        for count, word in _COUNTS.findall(title):
            self._last_end["errors" if word == "error" else word] += int(count)
        self._ended += self._last_end
        self._reset()

    def _reset(self) -> None:
        self._running.clear()
        self._fresh = self._began = False
        self._section = self._section if self._section in {"failures", "errors"} else ""
        self._collected, self._detail = 0, None

    def _count_collected(self, line: str) -> None:
        match = _COLLECTED.match(line)
        if match:
            self._collected = int(match[1] or match[2])

    def _details(self, line: str, number: int) -> None:
        if line[:1] == "_" and (match := _HEADER.match(line)):
            name = match[1]
            error = _ERROR_HEADER.match(name)
            key = f"E {error[2]}" if error else f"F {name}"
            self._detail = self._failures.mention(
                key, stage=_DETAIL_STAGE, name=error[2] if error else name, line=number, relocate=True
            )
            return
        record = self._detail
        if record is None or not line:
            return
        if line.startswith("E   ") and line[4:5].strip():
            record.message = record.message or line[4:]
        elif line[0] == " ":
            if line.startswith('  File "') and (match := _FRAME.match(line)) and not is_foreign(match[1]):
                record.place = f"{match[1]}:{match[2]}"
        elif not record.message and _ERROR.match(line):
            record.message = line
        elif (match := _PLACE.match(line)) and not is_foreign(match[1]):
            record.place = f"{match[1]}:{match[2]}"

    def _list(self, line: str, number: int) -> bool:
        if line[:2] not in {"FA", "ER", "SU"}:
            return False
        match = _LISTED.match(line)
        if not match:
            return False
        how, name, message = self._split(match[1], match[2])
        record = self._failures.mention(_key(how, name), stage=_LIST_STAGE, name=name, line=number)
        record.line = record.line or number
        record.message = message if len(message) >= len(record.message) else record.message
        record.place = record.place or name.partition("::")[0]
        self._began = True
        return True

    def _split(self, how: str, told: str) -> tuple[str, str, str]:
        """Split a name from its message. A parameter in the name may hold the dash between them."""
        parts = told.split(" - ", 20)
        splits = [(" - ".join(parts[:at]), " - ".join(parts[at:])) for at in range(1, len(parts) + 1)]
        known = (one for one in splits if self._failures.waits(_key(how, one[0]), _LIST_STAGE))
        closed = (one for one in splits if one[0].count("[") == one[0].count("]"))
        name, message = next(known, None) or next(closed, None) or splits[0]
        return how, name, message

    def _progress(self, line: str, number: int) -> None:
        if line[-2:] == "%]" or line[-1:] in "DRLS":
            match = _RESULT.search(line)
            if match and not line[0].isspace():
                self._result(line[: match.start()], match[1], number)
            elif parallel := _PARALLEL_RESULT.match(line):
                self._result(parallel[2], parallel[1], number)
            elif dots := _DOTS.match(line):
                self._begin()
                for sign, name in _SIGNS.items():
                    self._running[name] += dots[1].count(sign)
        elif line[:3] == "[gw" and (parallel := _PARALLEL_RESULT.match(line)):
            self._result(parallel[2], parallel[1], number)
        elif line[:1].isdigit() and _QUIET_END.match(line):
            self._end(line)
        elif line[-1:] == "s" and line.startswith("no tests ran in "):
            self._end("")

    def _result(self, name: str, word: str, number: int) -> None:
        file, colons, _ = name.partition("::")
        if not colons or " " in file:
            return
        self._begin()
        self._running[_WORDS[word]] += 1
        if word in {"FAILED", "ERROR"}:
            self._failures.mention(_key(word, name), stage=_RESULT_STAGE, name=name, line=number)


def _key(how: str, name: str) -> str:
    """Return what a result, the heading of its details and its line in the list have in common."""
    file, colons, test = name.partition("::")
    test = test.partition("[")[0].replace("::", ".") + "".join(test.partition("[")[1:]) if colons else file
    return f"{how[0]} {test}" if how[0] == "E" else f"F {test}"
