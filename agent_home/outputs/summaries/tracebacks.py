"""Crashes: tracebacks of Python, stack traces of JavaScript and Java, panics of Rust and Go."""

from __future__ import annotations

from typing import ClassVar

from guard.lazy_regex import lazy_regex

from .findings import FailureCollection, FailureRecord, LineInterest, ShapeFindings, counted
from .places import is_foreign

__all__ = ["Tracebacks"]

_PYTHON_STARTS = ("Traceback (most recent call last):", "Exception Group Traceback (most recent call last):")
#: The margin of an exception in a group.
_GROUP = lazy_regex(r" {0,80}[|+][-+]{0,3} ?")
_PYTHON_FRAME = lazy_regex(r'\s*File "([^"]{1,500})", line (\d{1,9})')
_PYTHON_END = lazy_regex(r"(?:[\w.]{1,200}|[\w.]{0,150}<locals>[\w.]{1,100})(?:: |:?$)")
_JAVA_START = lazy_regex(r'Exception in thread "[^"]{0,200}" (\S.*)')
_ERROR = lazy_regex(
    r"(?:Uncaught )?(?:\[?[\w.$]{0,200}(?:Error|Exception|Throwable|Fault|Rejection)\b\]?)"
    r"(?: \[\w{1,60}\])?(?:: .*| \{)?$"
)
_ERROR_WORDS = ("Error", "Exception", "Rejection")
_CALL = lazy_regex(r"\s+at (.{0,500})$")
_CALL_PLACE = lazy_regex(r"([^\s()]{1,500}):(\d{1,9})(?::(\d{1,9}))?\)?$")
_RUST = lazy_regex(r"thread '([^']{0,300})' (?:\(\d+\) )?panicked at (?:'(.*)', )?([^\s']{1,500}:\d{1,9}:\d{1,9}):?$")
_GO_FRAME = lazy_regex(r"\t(\S{1,500}\.go):(\d{1,9})(?: \+0x[0-9a-f]+)?$")
_GO_MACHINERY = ("/panic.go", "/testing.go", "/src/runtime/", "/usr/lib/", "/usr/local/go/")
_JAVA_MACHINERY = (
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "kotlin.",
    "scala.",
    "org.junit.",
    "org.springframework.",
    "app//java.",
)
#: Lines without a frame after which a stack is over.
_PATIENCE = 12


class Tracebacks:
    """The shape of a crash."""

    interest: ClassVar = LineInterest(starts="TtpfEeCUF+|", alarms=True)

    def __init__(self) -> None:
        """Start before any crash."""
        self._failures = FailureCollection()
        self._record: FailureRecord | None = None
        self._language = ""
        self._wait = 0
        self._own = False
        self._chained = False

    def feed(self, line: str, number: int) -> bool:
        """Read a line. Hold on inside a stack, and behind it for a chained exception."""
        if line.lstrip()[:1] in {"|", "+"} and (match := _GROUP.match(line)):
            line = line[match.end() :]
        if not self._begins(line, number) and self._language:
            self._wait -= 1
            if self._language == "python":
                self._python(line)
            elif self._language in {"javascript", "java"}:
                self._call(line)
            else:
                self._panic(line)
            if self._wait <= 0:
                self._language = ""
                if self._record is not None and not (self._record.stage and self._record.message):
                    self._drop()
        return bool(self._language)

    def findings(self) -> list[ShapeFindings]:
        """Return the crashes. The last one is in the headline."""
        record = self._record
        kept = [one for one in self._failures.frozen() if one.message]
        if record is not None and record.stage == 0:
            kept = [one for one in kept if one.line != record.line]
        if not kept:
            return []
        last = kept[-1]
        total = max(len(kept), len(self._failures) - 1)
        place = f" at {last.place}" if last.place else ""
        headline = f"{last.message}{place}"
        if total > 1:
            headline = f"{counted(total, 'traceback')}, last: {headline}"
        return [
            ShapeFindings(
                kind="traceback", headline=headline, weight=70, failures=tuple(kept), failed=total, inner=True
            )
        ]

    def _begins(self, line: str, number: int) -> bool:
        text = line.lstrip()
        if text.startswith(_PYTHON_STARTS):
            self._start("python", number, again=self._language == "python" and self._chained)
        elif not self._language and line.startswith('  File "') and _PYTHON_FRAME.match(line):
            self._start("python", number)  # an error of syntax has no heading
            self._wait = 6
            self._python(line)
        elif text.startswith("thread '") and (match := _RUST.match(text)):
            self._start("rust", number)
            self._tell(match[2] or "", match[3])
        elif line.startswith(("panic: ", "fatal error: ")):
            self._start("go", number)
            self._tell(line.removesuffix(" [recovered]"), "")
        elif text.startswith("Exception in thread ") and (match := _JAVA_START.match(text)):
            self._start("java", number)
            self._tell(match[1], "")
        elif text.startswith("Caused by: ") and self._language == "java":
            # A cause often lists no frame of the project: those are in the stack before it.
            self._tell(text.removeprefix("Caused by: "), self._record.place if self._record and self._own else "")
        elif self._language in {"", "javascript"} and any(word in text for word in _ERROR_WORDS) and _ERROR.match(text):
            # Only a call in one of the next lines makes it a stack trace.
            self._start("javascript", number)
            self._tell(text.removeprefix("Uncaught "), "")
            if self._record is not None:
                self._record.stage = 0
            self._wait = 3
        else:
            return False
        return True

    def _start(self, language: str, number: int, *, again: bool = False) -> None:
        if self._record is not None and self._record.stage == 0:
            self._drop()
        self._language, self._wait, self._chained, self._own = language, _PATIENCE, False, False
        if again and self._record is not None:
            self._record.message, self._record.place = "", ""
            return
        self._failures.close()
        self._record = self._failures.mention("crash", stage=1, name="crash", line=number)

    def _drop(self) -> None:
        self._failures.remove("crash")
        self._record = None

    def _tell(self, message: str, place: str) -> None:
        """Keep an exception that replaces the one before it in a chain."""
        self._wait, self._own = _PATIENCE, False
        if self._record is not None:
            self._record.message, self._record.place = message[:1_000], place
            self._record.name = message.partition(":")[0].split(" ")[0][:100] or "panic"

    def _frame(self, place: str, path: str, *, innermost_last: bool) -> None:
        """Keep the innermost place that is the project's own, or else the innermost one."""
        own = not is_foreign(path)
        if self._record is None:
            return
        self._record.stage, self._wait = 1, _PATIENCE
        first = not self._record.place if not innermost_last else not self._own
        if first or (own and (innermost_last or not self._own)):
            self._record.place = place
        self._own = self._own or own

    def _python(self, line: str) -> None:
        text = line.lstrip()
        if text.startswith("File ") and (match := _PYTHON_FRAME.match(text)):
            self._frame(f"{match[1]}:{match[2]}", match[1], innermost_last=True)
        elif line.startswith(("The above exception was", "During handling of the above")):
            self._chained, self._wait = True, _PATIENCE
        elif not self._chained and line[:1].strip() and self._record is not None:
            if not self._record.message and _PYTHON_END.match(text):
                place, own = self._record.place, self._own
                self._tell(text, place)
                self._own, self._wait = own, 4  # a chained exception would begin at once
        elif not line.strip():
            return

    def _call(self, line: str) -> None:
        match = _CALL.match(line)
        if not match:
            return
        call = match[1]
        place = _CALL_PLACE.search(call)
        if self._language == "javascript" and ".java:" in call:
            self._language = "java"
        if not place:
            if self._record is not None and call.endswith(")"):
                self._record.stage, self._wait = 1, _PATIENCE
            return
        foreign = self._language == "java" and call.removeprefix("java.base/").startswith(_JAVA_MACHINERY)
        path = place[1].removeprefix("file://").rpartition("@")[2]
        told = ":".join(part for part in (path, place[2], place[3]) if part)
        self._frame(told, "node_modules/" if foreign or "java.base/" in call else path, innermost_last=False)

    def _panic(self, line: str) -> None:
        if self._record is None:
            return
        if self._language == "rust":
            if not self._record.message:
                self._record.message = line[:1_000]
                self._record.name = "panic"
                self._language = ""
        elif match := _GO_FRAME.match(line):
            foreign = any(part in match[1] for part in _GO_MACHINERY)
            self._frame(f"{match[1]}:{match[2]}", "<go" if foreign else match[1], innermost_last=False)
        elif line.startswith(("goroutine ", "\t", "created by ")) or line.endswith(")"):
            self._wait = _PATIENCE
