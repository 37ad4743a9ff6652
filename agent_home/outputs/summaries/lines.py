"""Lines of an output as their tool wrote them: without colours, overwritten text and the timestamps of a CI service."""

from __future__ import annotations

from guard.lazy_regex import lazy_regex

__all__ = ["LOOKED_AT", "one_line", "plain", "unprefixed"]

#: Characters of a line that are looked at.
LOOKED_AT = 2_000

# Colours and cursor moves, titles and hyperlinks, marks of CI services, other escapes of two characters.
_ESCAPES = lazy_regex(
    r"\x1b\[[0-?]{0,100}[ -/]{0,10}[@-~]|\x1b[\]_P^][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|\x1b[ -/]?[0-~]?"
    r"|\x9b[0-?]{0,100}[@-~]"
)
_CONTROLS = lazy_regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]+")
#: Timestamps with what services put around them, and the name of a container.
_PREFIX = lazy_regex(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: \d\d[OE])?(?:[ \t+]|$)"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?(?:[ \t]|$)"
)
#: The name of a job and of a step, as the command line of GitHub writes them.
_JOB = lazy_regex(r"[^\t]{1,80}\t[^\t]{1,80}\t(?=20\d\d-)")
_CONTAINER = lazy_regex(r"[A-Za-z][\w.-]{0,60} {0,30}\| ?")
_MARKED = {"##", "::"}
_MARKS = ("##[error]", "##[warning]", "##[debug]", "::error::", "::warning::")


def plain(line: str) -> str:
    r"""Return what a person sees of a line: no escape sequences, and only the last of texts that overwrite each other.

    >>> plain("\x1b[31mFAILED\x1b[0m test_a.py"), plain("10 %\r100 %")
    ('FAILED test_a.py', '100 %')
    """
    line = line[:LOOKED_AT]
    if line.isprintable():
        return line
    if "\x1b" in line or "\x9b" in line:
        line = _ESCAPES.sub("", line)
    if "\r" in line:
        line = line.rstrip("\r").rpartition("\r")[2]
    return _CONTROLS.sub("", line)


def one_line(text: str, most: int) -> str:
    r"""Return a text that was decoded from JSON, or put together, as one plain line of at most *most* characters.

    >>> one_line("two\nlines\x1b[31m", 80)
    'two lines'
    """
    line = plain(" ".join(text[:LOOKED_AT].split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def unprefixed(line: str) -> str:
    """Return a plain line without the timestamp or the container's name in front.

    >>> unprefixed("2026-11-28T16:52:57.3767Z FAILED test_a.py"), unprefixed("[12:00:01] ok")
    ('FAILED test_a.py', 'ok')
    """
    if "\t20" in line and (match := _JOB.match(line)):
        line = line[match.end() :]
    line = _without_time(line)
    if "| " in line and line[0].isalpha() and (match := _CONTAINER.match(line)):
        line = _without_time(line[match.end() :])
    if line[:2] in _MARKED:
        for mark in _MARKS:
            line = line.removeprefix(mark)
    return line


def _without_time(line: str) -> str:
    first = line[:1]
    if (first.isdigit() or first == "[") and (match := _PREFIX.match(line)):
        return line[match.end() :]
    return line
