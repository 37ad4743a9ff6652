"""Messages of compilers and linters that begin with a place, as in ``file:line:column: message``."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import FailureCollection, FailureRecord, LineInterest, ShapeFindings, counted, listed

__all__ = ["Diagnostics"]

_SEVERITY = r"(fatal error|error|warning|note|information|info|style|hint)"
#: gcc, clang, javac, mypy, shellcheck, pyright, tsc --pretty.
_GRADED = lazy_regex(
    rf"\s{{0,4}}((?:[A-Za-z]:)?[^\s:()][^:()]{{0,300}}?):(\d{{1,9}})(?::(\d{{1,9}}))?"
    rf"(?::| -) {_SEVERITY}(?: TS(\d+))?: ?(.+)"
)
#: tsc, C# and Microsoft's compilers.
_PARENTHESES = lazy_regex(
    r"\s{0,4}([^\s:()][^()]{0,300}?)\((\d{1,9})(?:,(\d{1,9}))?\) ?: (fatal error|error|warning) (\w{1,20}): (.+)"
)
#: ruff, flake8, pylint, go vet, golangci-lint.
_BARE = lazy_regex(r"([^\s:()][^:()]{0,300}?):(\d{1,9}):(\d{1,9}):? (.+)")
_LINKER = lazy_regex(
    r"(?:\S+/ld: )?(?:\S+\.o: in function .*: )?(?:[^\s:]{1,300}:\([^)]{1,60}\): |[^\s:]{1,300}:\d{1,9}: )?"
    r"(undefined reference to .+|multiple definition of .+)"
)
_MAKE = lazy_regex(
    r"(?:g?make(?:\[\d+\])?: \*\*\* \[(?:([^\s\]]+:\d+): )?([^\]]{1,300})\] (.*))"
    r"|ninja: build stopped: (.*)"
)
_MAVEN = lazy_regex(r"\[(ERROR|WARNING)\] (/?[^\s:\[]{1,300}):\[(\d{1,9}),(\d{1,9})\] (.+)")
_KOTLIN = lazy_regex(r"([ew]): (?:file://)?([^\s:]{1,300}):(\d{1,9}):(\d{1,9}):? (.+)")
_ANNOTATION = lazy_regex(r"::(error|warning|notice) (.{0,1500}?)::(.*)")
_PROPERTY = lazy_regex(r"\b(file|line|col|title)=([^,]{1,500})")
_OWN_PLACE = lazy_regex(r"[^\s:]{1,300}:\d{1,9}(?::\d{1,9})?: ")
_CODE_FIRST = lazy_regex(r"([A-Z]{1,10}\d{1,5}|[a-z]{2,20}(?:-[a-z]{2,20}){1,5}(?=:)):? (?:\[\*\] )?(.+)")
_CODE = lazy_regex(r"[\w.,/=-]{2,80}")
_OTHERS = (": *** [", "undefined reference", "multiple definition", "ninja: build")
_NO_SOURCE = (".log", "http", "https")


@dataclass(slots=True)
class _ToolTally:
    """Messages of one kind of tool."""

    failures: FailureCollection = field(default_factory=FailureCollection)
    errors: int = 0
    warnings: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


class Diagnostics:
    """The shapes of compilers and of linters with one message a line."""

    interest: ClassVar = LineInterest(starts=":abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ./_@~[0123456789<")

    def __init__(self) -> None:
        """Start before any message."""
        self._tallies = {"compiler": _ToolTally(), "linter": _ToolTally()}
        self._stopped = ""
        self._unended: tuple[FailureRecord, int] | None = None

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on behind a message of mypy that may go on in the next line."""
        if self._unended is not None:
            self._go_on(line, number)
        if line[:5] == "vet: ":
            line = line[5:]
        colon = line.find(":", 1, 320)
        if colon == 1 and line[2:3] in {"\\", "/"}:  # the letter of a drive
            colon = line.find(":", 2, 320)
        if colon > 0 and line[colon + 1 : colon + 2].isdigit():
            self._placed(line, number)
        elif colon < 0 or line[colon - 1] == ")" or line[colon - 2 : colon] == ") ":
            self._parentheses(line, number)
        elif line[0] in "[ew" or any(part in line for part in _OTHERS):
            self._other(line, number)
        elif line[:2] == "::" and (match := _ANNOTATION.match(line)):
            self._annotation(match, number)
        return self._unended is not None

    def findings(self) -> list[ShapeFindings]:
        """Return the messages of compilers and those of linters, each when there are any."""
        found = []
        for kind, tally in self._tallies.items():
            total = tally.errors + tally.warnings
            if not total:
                continue
            kept = tally.failures.frozen()
            weight = 60 + 15 * (kind == "compiler") + 20 * bool(tally.errors) + 2 * bool(self._stopped)
            if total == 1 and kind == "linter":
                weight -= 30  # one line of this form may be anything
            found.append(
                ShapeFindings(
                    kind=kind,
                    headline=self._headline(kind, tally),
                    weight=weight,
                    failures=kept,
                    failed=tally.errors,
                    notes=tuple(tally.notes),
                )
            )
        return found

    def _headline(self, kind: str, tally: _ToolTally) -> str:
        parts = []
        if tally.errors:
            parts.append(counted(tally.errors, "error" if kind == "compiler" else "problem"))
        if tally.warnings:
            parts.append(counted(tally.warnings, "warning"))
        files = sorted(tally.files)
        where = f" in {files[0]}" if len(files) == 1 else f" in {counted(len(files), 'file')}" if files else ""
        codes = [f"{code} x{count}" if count > 1 else code for code, count in tally.codes.most_common(5)]
        text = ", ".join(parts) + where + listed(codes, len(tally.codes))
        return f"{text}; {self._stopped}" if self._stopped and kind == "compiler" else text

    def _placed(self, line: str, number: int) -> None:
        match = _GRADED.match(line)
        if match:
            path, row, column, severity, typescript, message = match.groups()
            place = ":".join(part for part in (path, row, column) if part)
            kind, code, message = _classify(path, f"TS{typescript}" if typescript else "", message)
            self._message(kind, severity, (code, place, message, number))
            return
        match = _BARE.match(line)
        if not match or match[1].endswith(_NO_SOURCE) or ("." not in match[1] and "/" not in match[1]):
            return
        path, row, column, message = match.groups()
        code = ""
        if coded := _CODE_FIRST.match(message):
            code, message = coded.groups()
        else:
            message, code = _coded(message)
        kind = "compiler" if path.endswith((".go", ".nim", ".zig", ".hs", ".ml")) and not code else "linter"
        self._message(kind, "error", (code, f"{path}:{row}:{column}", message, number))

    def _parentheses(self, line: str, number: int) -> None:
        if "error" not in line and "warning" not in line:
            return
        match = _PARENTHESES.match(line)
        if match:
            path, row, column, severity, code, message = match.groups()
            place = ":".join(part for part in (path, row, column) if part)
            self._message("compiler", severity, (code, place, message, number))

    def _other(self, line: str, number: int) -> None:
        if line[0] == "[" and (match := _MAVEN.match(line)):
            place = f"{match[2]}:{match[3]}:{match[4]}"
            self._message("compiler", match[1].lower(), ("", place, match[5], number))
        elif line[1:3] == ": " and (match := _KOTLIN.match(line)):
            severity = "error" if match[1] == "e" else "warning"
            self._message("compiler", severity, ("", f"{match[2]}:{match[3]}:{match[4]}", match[5], number))
        elif match := _LINKER.match(line):
            place = line[: match.start(1)].rstrip(": ").rpartition(" ")[2]
            self._message("compiler", "error", ("link", place, match[1], number))
        elif match := _MAKE.match(line):
            target = match[2] or match[4] or ""
            self._stopped = f"make stopped at {target[:80]}" if match[2] else f"ninja stopped: {target[:80]}"

    def _annotation(self, match: re.Match[str], number: int) -> None:
        """Read a message in the form that GitHub shows beside the code."""
        about = dict(_PROPERTY.findall(match[2]))
        if "file" not in about:
            return
        place = ":".join(about[name] for name in ("file", "line", "col") if name in about)
        message = match[3].partition("%0A")[0]
        if own := _OWN_PLACE.match(message):
            message = message[own.end() :]
        coded = _CODE_FIRST.match(message)
        code, message = coded.groups() if coded else ("", message)
        self._message("linter", match[1], (code, place, message, number))

    def _go_on(self, line: str, number: int) -> None:
        """Complete a message with the code that mypy wrote into one of the next lines."""
        if self._unended is None:
            return
        record, began = self._unended
        message, code = _coded(f" {line}")
        if line[:1].isspace() or _GRADED.match(line) or number > began + 3 or not line:
            self._unended = None
        elif code:
            record.name, self._unended = code, None
            record.message = f"{record.message} {message.strip()}".strip()
            codes = self._tallies["linter"].codes
            if code in codes or len(codes) < 500:
                codes[code] += 1
        else:
            record.message = f"{record.message} {line}"[:300]

    def _message(self, kind: str, severity: str, told: tuple[str, str, str, int]) -> None:
        code, place, message, number = told
        tally = self._tallies[kind]
        if severity in {"note", "information", "info", "style", "hint"} and kind == "compiler":
            return
        path = place.partition(":")[0]
        if len(tally.files) < 1_000:
            tally.files.add(path[:200])
        if code and (code in tally.codes or len(tally.codes) < 500):
            tally.codes[code[:60]] += 1
        if severity in {"error", "fatal error"}:
            tally.errors += 1
            record = tally.failures.add(code or "error", place, message, number)
            if not code and path.endswith((".py", ".pyi")):
                self._unended = (record, number)
        elif severity == "note" and not code:
            return
        else:
            tally.warnings += 1
            if len(tally.notes) < 10:
                tally.notes.append(f"{severity} {place}: {message}{f' [{code}]' if code else ''}"[:300])


def _classify(path: str, code: str, message: str) -> tuple[str, str, str]:
    """Return the kind of tool, the code of the message and the message without it."""
    if code:
        return "compiler", code, message
    told, last = _coded(message)
    if last.startswith("-W"):
        return "compiler", last.removeprefix("-W").rstrip("="), told
    if path.endswith((".py", ".pyi", ".sh", ".bash")) or "-" in last or last.startswith("SC"):
        return "linter", last, told
    return "compiler", "", message


def _coded(message: str) -> tuple[str, str]:
    """Split the code in brackets from the end of a message. It is empty without one."""
    if message[-1:] in {"]", ")"}:
        at = message.rfind("[" if message[-1] == "]" else "(")
        if at > 0 and message[at - 1].isspace() and _CODE.fullmatch(message, at + 1, len(message) - 1):
            return message[:at].rstrip(), message[at + 1 : -1]
    return message, ""
