"""Write what an agent's output marks as memory (``distill.reading.memory_marks``), through the transcript of a session.

Each statement is a turn of the agent, so the guard screens it alone, and closing the session makes entries of them. A
statement that the session has already is not written again.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import BinaryIO

from agent_home.clock import now as present
from distill.reading.memory_marks import MOST_KB, FoundMarks, find_marks, marked_text

from .api import AgentHome

__all__ = ["IngestedMarkers", "ingest_found", "ingest_markers", "ingest_statements", "output_lines"]

#: Characters of a line that are read. No statement is that long.
_LONGEST_LINE = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestedMarkers:
    """Result for marked lines: the *ids* of new entries, and counts.

    *known* are those that memory has already, *waits* those that wait for a person, *held* those that the guard keeps
    back, and *logged* those that only the daily log has, because a section gains no more entries at once. *empty* are
    marks that were found and yielded nothing.
    """

    ids: tuple[str, ...] = ()
    known: int = 0
    waits: int = 0
    held: int = 0
    logged: int = 0
    empty: int = 0

    @property
    def told(self) -> str:
        """The same on one line."""
        parts = [f"{len(self.ids)} entries written"]
        parts += [f"{self.known} known already"] if self.known else []
        parts += [f"{self.waits} wait for a person (memory review)"] if self.waits else []
        parts += [f"{self.held} held back by the guard"] if self.held else []
        parts += [f"{self.logged} in the daily log only"] if self.logged else []
        return ", ".join(parts)

    @property
    def warning(self) -> str:
        """A warning of marks that yielded nothing, or nothing."""
        if not self.empty:
            return ""
        many = "a mark was" if self.empty == 1 else f"{self.empty} marks were"
        return f"{many} found, but no statement stood behind it, or words stood before it (see docs/jobs.md)"


@contextmanager
def output_lines(content: BinaryIO) -> Iterator[Iterator[str]]:
    """Yield the lines of *content*, which is UTF-8, without the rest of very long ones. It is not closed."""
    text = io.TextIOWrapper(content, encoding="utf-8", errors="replace")
    try:
        yield _lines(text)
    finally:
        text.detach()


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    fresh = True
    while part := text.readline(_LONGEST_LINE):
        if fresh:
            yield part
        fresh = part.endswith("\n")


def ingest_markers(
    agent: AgentHome, lines: Iterable[str], *, session: str = "", now: datetime | None = None, most_kb: int = MOST_KB,
    word: str = "", own_only: bool = False,
) -> IngestedMarkers:  # fmt: skip
    """Write what *lines* mark as memory as the agent's own, close the session, and return what became of it.

    Without *session*, what is marked names one. Blocks with *word* count too, and with *own_only* no others.

    Raises:
        MarkedTooLarge: more than *most_kb* kilobytes are marked. Nothing was written.
        Locked, GuardRefused, Contended: see :meth:`interfaces.api.AgentHome.close`. The statements may be in the
            transcript, and the next closing makes entries of them.
    """
    found = find_marks(lines, most_kb=most_kb, word=word, own_only=own_only)
    return ingest_found(agent, found, session=session, now=now)


def ingest_found(
    agent: AgentHome, found: FoundMarks, *, session: str = "", now: datetime | None = None
) -> IngestedMarkers:
    """Write the statements that were *found*. See :func:`ingest_markers`."""
    statements = tuple(dict.fromkeys(found.statements))
    return replace(ingest_statements(agent, statements, session=session, now=now), empty=found.nothing)


def ingest_statements(
    agent: AgentHome, statements: Sequence[str], *, session: str = "", now: datetime | None = None
) -> IngestedMarkers:
    """Write *statements*, each of one line, as the agent's own. See :func:`ingest_markers`."""
    if not statements:
        return IngestedMarkers()
    name = session or f"output-{_digest(*statements)}"
    moment = now or present()
    turns = [{"id": f"mark-{_digest(text)}", "content": marked_text(text), "role": "assistant"} for text in statements]
    appended = agent.append(name, turns, now=moment)
    closed = agent.close(name, now=moment)
    held = len(appended.quarantined) + appended.dropped
    return IngestedMarkers(
        ids=tuple(entry.id for entry in closed.entries), known=appended.duplicates + len(closed.merged),
        waits=len(closed.proposed), held=held + len(closed.quarantined), logged=closed.left_in_log,
    )  # fmt: skip


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
