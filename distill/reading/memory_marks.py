"""Find what an agent's output marks as memory, line by line.

An ephemeral agent prints its memory between two marks, because its output is all that is left of it:

    __SYMPOZIUM_MEMORY__
    Key insight: Pod X has recurring OOM issues
    __SYMPOZIUM_MEMORY_END__

Programs that show logs put prefixes before lines: a time, ``web-1  | `` or ``[pod/x/y] ``. The prefix of the first mark
is taken off the lines behind it. Colours and a byte order mark are taken off every line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from agent_home.errors import HomeError

__all__ = ["MOST_KB", "FoundMarks", "MarkedTooLarge", "find_marks", "marked_lines", "marked_text", "unmarked"]

#: Kilobytes of marked text that are taken from one output.
MOST_KB = 256
_BEGIN, _END = "__SYMPOZIUM_MEMORY__", "__SYMPOZIUM_MEMORY_END__"
#: What every line with a mark has.
_SIGN = "__SYMPOZIUM_MEMORY_"
#: Characters of a line that are looked at. No statement is that long.
_MOST_CHARS = 65_536
#: Colours, other control sequences and titles of a terminal.
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_PREFIX = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)(?:[ \t]+|$)"
    r"|(?P<stream>std(?:out|err)[ ][FP])(?:[ \t]+|$)"
    r"|(?P<name>[\w./-]{1,200})[ \t]{0,100}\|(?:[ \t]+|$)"
    r"|(?P<bracket>\[[^\[\]]{1,200}\])(?:[ \t]+|$)"
)
_CLOCK_TIME = re.compile(r"\d\d:\d\d:\d\d")
_MOST_PREFIXES = 4
#: The mark, and the word of a run. A sentence has more.
_MOST_MARK_WORDS = 2
#: Blocks of different sources that are open at once. The oldest one ends at the next.
_MOST_OPEN = 64
_Part = tuple[str, str]
_Prefix = tuple[_Part, ...]
_Place = Literal["begin", "end", "unread", "inside", "outside"]


class MarkedTooLarge(HomeError):
    """An output marks more text as memory than is taken."""

    def __init__(self, most_kb: int) -> None:
        super().__init__(f"more than {most_kb} KB are marked as memory (maxSizeKB). Nothing was written. Mark less")


@dataclass(frozen=True, slots=True)
class FoundMarks:
    """The *statements* between marks, in order, and how many marks yield *nothing*.

    A mark yields nothing if no statement stands behind it, if an unknown prefix stands before it, or if it has another
    word than the one that is wanted.
    """

    statements: tuple[str, ...]
    nothing: int = 0


def find_marks(
    lines: Iterable[str], *, most_kb: int = MOST_KB, word: str = "", own_only: bool = False
) -> FoundMarks:  # fmt: skip
    """Return what stands between the marks, without list bullets. A block that nobody ended reaches to the end.

    Args:
        lines: the output.
        most_kb: most kilobytes of statements.
        word: blocks that begin with the mark and this word count too.
        own_only: no other blocks count.

    Raises:
        MarkedTooLarge: there are more than *most_kb* kilobytes.
    """
    blocks = _Blocks(word, own_only=own_only)
    statements, size = [], 0
    for line in lines:
        place, text = blocks.place(line[:_MOST_CHARS])
        if place != "inside" or not (statement := text.removeprefix("- ").removeprefix("* ").strip()):
            continue
        size += len(statement.encode("utf-8", "surrogatepass")) + 1
        if size > most_kb << 10:
            raise MarkedTooLarge(most_kb)
        if not statement.startswith("#"):  # the heading of a memory file
            blocks.count()
            statements.append(statement)
    return FoundMarks(tuple(statements), blocks.nothing())


def marked_lines(lines: Iterable[str], *, most_kb: int = MOST_KB) -> Iterator[str]:
    """Yield the statements that :func:`find_marks` finds. Errors are its own."""
    yield from find_marks(lines, most_kb=most_kb).statements


def marked_text(statement: str) -> str:
    """Return *statement* between the marks, as an agent prints it."""
    return f"{_BEGIN}\n{statement}\n{_END}"


def unmarked(content: str) -> str:
    """Return *content* without its marks and what stands between them.

    >>> unmarked("Swept 40 pods.\\n__SYMPOZIUM_MEMORY__\\nPod X fails\\n__SYMPOZIUM_MEMORY_END__\\nBye.")
    'Swept 40 pods.\\nBye.'
    """
    if _SIGN not in content:
        return content
    blocks = _Blocks()
    lines = content.split("\n")
    return "\n".join(line for line in lines if blocks.place(line[:_MOST_CHARS])[0] in {"outside", "unread"})


class _Blocks:
    """The blocks that are open, by the prefix of their lines, and whether a statement stood in each."""

    def __init__(self, word: str = "", *, own_only: bool = False) -> None:
        self._begins = ({f"{_BEGIN} {word}"} if word else set()) | (set() if own_only else {_BEGIN})
        self._open: dict[_Prefix, bool] = {}
        self._latest: _Prefix = ()
        self._nothing = 0

    def place(self, line: str) -> tuple[_Place, str]:
        """Return what the next line is, and its text without the prefix of its block."""
        if not self._open and _SIGN not in line:
            return "outside", line
        text = _CONTROL.sub("", line).lstrip("\ufeff").strip()
        prefix, ends = _prefix(text)
        rest = text[ends[-1] :]
        if rest == _END:
            self._end(prefix)
            return "end", rest
        if rest.startswith(_BEGIN) and len(words := rest.split()) <= _MOST_MARK_WORDS:
            return self._mark(prefix, " ".join(words))
        place, text = self._inner(text, prefix, ends)
        self._nothing += place == "outside" and text.endswith(_BEGIN)  # behind words that are no prefix
        return place, text

    def count(self) -> None:
        """Note that the last line is a statement."""
        self._open[self._latest] = True

    def nothing(self) -> int:
        """Return how many marks yielded nothing. The open blocks end here."""
        return self._nothing + sum(not found for found in self._open.values())

    def _mark(self, prefix: _Prefix, rest: str) -> tuple[_Place, str]:
        if rest in self._begins:
            self._open.setdefault(prefix, False)
            if len(self._open) > _MOST_OPEN:
                self._close(next(iter(self._open)))
            return "begin", rest
        self._nothing += 1
        return "unread", rest

    def _end(self, prefix: _Prefix) -> None:
        if prefix in self._open:
            self._close(prefix)
        elif self._open and not self._is_foreign(prefix):
            self._close(next(reversed(self._open)))

    def _close(self, prefix: _Prefix) -> None:
        self._nothing += not self._open.pop(prefix)

    def _inner(self, text: str, prefix: _Prefix, ends: list[int]) -> tuple[_Place, str]:
        """Return the place of a line that is no mark."""
        if not self._open:
            return "outside", text
        for count in range(len(prefix), -1, -1):
            if prefix[:count] in self._open:
                self._latest = prefix[:count]
                return "inside", text[ends[count] :]
        if self._is_foreign(prefix):
            return "outside", text
        self._latest = next(reversed(self._open))  # a logger puts its prefix before the first line of a text alone
        return "inside", text

    def _is_foreign(self, prefix: _Prefix) -> bool:
        """Return whether lines with that prefix are those of another source than the open blocks."""
        kinds = [kind for kind, _ in prefix]
        return any(opened and [kind for kind, _ in opened] == kinds[: len(opened)] for opened in self._open)


def _prefix(text: str) -> tuple[_Prefix, list[int]]:
    """Return the parts of the prefix of *text*, and where each ends, from 0 on. Times are all alike."""
    parts: list[_Part] = []
    ends = [0]
    while len(parts) < _MOST_PREFIXES and (match := _PREFIX.match(text, ends[-1])):
        kind, said = str(match.lastgroup), str(match[str(match.lastgroup)])
        varies = kind in {"time", "stream"} or _CLOCK_TIME.search(said) is not None
        parts.append((kind, "" if varies else said))
        ends.append(match.end())
    return tuple(parts), ends
