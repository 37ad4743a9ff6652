"""Find what an agent's output marks as memory, line by line.

An ephemeral agent prints its memory between two marks, because its output is all that is left of it:

    __SYMPOZIUM_MEMORY__
    Key insight: Pod X has recurring OOM issues
    __SYMPOZIUM_MEMORY_END__
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent_home.errors import HomeError

__all__ = ["MOST_KB", "MarkedTooLarge", "marked_lines", "marked_text", "unmarked"]

#: Kilobytes of marked text that are taken from one output.
MOST_KB = 256
_BEGIN, _END = "__SYMPOZIUM_MEMORY__", "__SYMPOZIUM_MEMORY_END__"
#: Characters of a line that are looked at. No statement is that long.
_MOST_CHARS = 65_536


class MarkedTooLarge(HomeError):
    """An output marks more text as memory than is taken."""

    def __init__(self, most_kb: int) -> None:
        super().__init__(f"more than {most_kb} KB are marked as memory (maxSizeKB). Nothing was written. Mark less")


def marked_lines(lines: Iterable[str], *, most_kb: int = MOST_KB) -> Iterator[str]:
    """Yield the lines between the marks, without list bullets. A block that nobody ended reaches to the end.

    Raises:
        MarkedTooLarge: there are more than *most_kb* kilobytes.
    """
    inside, size = False, 0
    for line in lines:
        text = line[:_MOST_CHARS].strip()
        if text in {_BEGIN, _END}:
            inside = text == _BEGIN
        elif inside and (statement := text.removeprefix("- ").removeprefix("* ").strip()):
            size += len(statement.encode("utf-8", "surrogatepass")) + 1
            if size > most_kb << 10:
                raise MarkedTooLarge(most_kb)
            if not statement.startswith("#"):  # the heading of a memory file
                yield statement


def marked_text(statement: str) -> str:
    """Return *statement* between the marks, as an agent prints it."""
    return f"{_BEGIN}\n{statement}\n{_END}"


def unmarked(content: str) -> str:
    """Return *content* without its marks and what stands between them.

    >>> unmarked("Swept 40 pods.\\n__SYMPOZIUM_MEMORY__\\nPod X fails\\n__SYMPOZIUM_MEMORY_END__\\nBye.")
    'Swept 40 pods.\\nBye.'
    """
    if _BEGIN not in content and _END not in content:
        return content
    kept, inside = [], False
    for line in content.split("\n"):
        text = line.strip()
        if text in {_BEGIN, _END}:
            inside = text == _BEGIN
        elif not inside:
            kept.append(line)
    return "\n".join(kept)
