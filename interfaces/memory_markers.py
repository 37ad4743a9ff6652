"""Find what an agent's output marks as memory, line by line, and write it as the agent's own.

An ephemeral agent prints its memory between two marks, because its output is all that is left of it:

    __SYMPOZIUM_MEMORY__
    Key insight: Pod X has recurring OOM issues
    __SYMPOZIUM_MEMORY_END__
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from agent_home.errors import GuardRefused, HomeError

from .api import AgentHome

__all__ = ["MOST_KB", "IngestedMarkers", "MarkedTooLarge", "ingest_markers", "marked_lines"]

#: Kilobytes of marked text that are taken from one output.
MOST_KB = 256
_BEGIN, _END = "__SYMPOZIUM_MEMORY__", "__SYMPOZIUM_MEMORY_END__"
#: Characters of a line that are looked at. No statement is that long.
_MOST_CHARS = 65_536


class MarkedTooLarge(HomeError):
    """An output marks more text as memory than is taken."""

    def __init__(self, most_kb: int) -> None:
        super().__init__(f"more than {most_kb} KB are marked as memory (maxSizeKB). Nothing was written. Mark less")


@dataclass(slots=True, kw_only=True)
class IngestedMarkers:
    """Counts of marked lines that are *known*, that wait for a person and that are held, and the *ids* of entries."""

    ids: list[str] = field(default_factory=list)
    known: int = 0
    waits: int = 0
    held: int = 0


def marked_lines(lines: Iterable[str], *, most_kb: int = MOST_KB) -> Iterator[str]:
    """Yield the lines between the marks, without list bullets. A block that nobody ended reaches to the end.

    Raises:
        MarkedTooLarge: there are more than *most_kb* kilobytes.
    """
    inside, size = False, 0
    for line in lines:
        text = line[:_MOST_CHARS].strip()
        if text == _BEGIN:
            inside = True
        elif text == _END:
            inside = False
        elif inside and (statement := text.removeprefix("- ").removeprefix("* ").strip()):
            size += len(statement.encode("utf-8", "surrogatepass")) + 1
            if size > most_kb << 10:
                raise MarkedTooLarge(most_kb)
            if not statement.startswith("#"):  # the heading of a memory file
                yield statement


def ingest_markers(
    agent: AgentHome, lines: Iterable[str], *, session: str = "", now: datetime | None = None, most_kb: int = MOST_KB
) -> IngestedMarkers:
    """Write what *lines* mark as memory, each statement once, and return what became of it.

    The agent says it: it replaces nothing that a person said, and the guard screens it first.

    Raises:
        MarkedTooLarge: see :func:`marked_lines`. Nothing was written.
        Locked: another process holds the home. What is written already is known the next time.
    """
    found = IngestedMarkers()
    for text in list(marked_lines(lines, most_kb=most_kb)):
        try:
            done = agent.remember(text, origin="agent", session=session, now=now)
        except GuardRefused:
            found.held += 1
            continue
        except ValueError:  # nothing but marks of its own
            continue
        if done.quarantined:
            found.held += 1
        elif done.waits:
            found.waits += 1
        elif done.known:
            found.known += 1
        else:
            found.ids.append(done.id)
    return found
