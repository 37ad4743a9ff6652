"""The report of a night: what was done to memory, in numbers, ids and paths, and nothing of what memory says.

One file a day, ``ledger/nights/2026-11-21.md``, with a section for each run. It stands beside the ledgers and not in
Knowledge/ or DailyActivity/: a record of the machinery is nothing that search or a prompt should bring up, and the
folder is the owner's alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .close import Closed, ClosingFailure
    from .entries.consolidation import Link
    from .entries.decay import ArchiveCandidate
    from .evidence.verification import RecheckedEntry

__all__ = ["NightlyRun", "ReportedProposal", "render_report", "report_path"]

#: Ids named in one line of the report; the rest is counted.
_MOST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedProposal:
    """Something that waits for a person, or would: its id, what it is, and why."""

    id: str
    kind: str
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class NightlyRun:
    """What a night did in one home, or would do where it was only tried.

    *sessions* are those closed, in their order; *merged* and *superseded* name the entries and, where it is known, the
    rule; *rechecked* are the entries whose evidence line changed; *settled* stood in memory and in the archive;
    *failed* names sessions and steps; *report* is the path of the day's report, empty where there is none.
    """

    sessions: tuple[str, ...] = ()
    closed: tuple[Closed, ...] = ()
    added: tuple[str, ...] = ()
    merged: tuple[Link, ...] = ()
    superseded: tuple[Link, ...] = ()
    rechecked: tuple[RecheckedEntry, ...] = ()
    archived: tuple[ArchiveCandidate, ...] = ()
    archived_days: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    proposed: tuple[ReportedProposal, ...] = ()
    failed: list[ClosingFailure] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    report: str = ""

    @property
    def idle(self) -> bool:
        """Whether nothing changed; what failed will fail again, and is no change."""
        done = (self.sessions, self.merged, self.superseded, self.rechecked, self.archived, self.archived_days)
        return not any((*done, self.settled, self.proposed))


def report_path(now: datetime) -> str:
    """The file of the day's reports, relative to the home."""
    return f"ledger/nights/{now:%Y-%m-%d}.md"


def render_report(before: str, night: NightlyRun, now: datetime) -> str:
    """*before*, the day's file so far or empty, with a section about *night* at its end."""
    body = "\n".join(f"- {line}" for line in _lines(night))
    # Named by what it says: two machines' reports of one minute are two sections when their clones are merged.
    name = hashlib.blake2b(f"{now.isoformat()}\0{body}".encode(), digest_size=3).hexdigest()
    head = before.rstrip() or f"# Nights of {now:%Y-%m-%d}"
    return f"{head}\n\n## {now:%H:%M} Distilled (n-{name})\n\n{body}\n"


def _lines(night: NightlyRun) -> Iterator[str]:
    sections = dict.fromkeys(f"{one.daily}#{one.anchor}" for one in night.closed)
    yield _counted("sessions closed", sections)
    yield _counted("entries added", night.added)
    yield _counted("said again or united", (link.newer for link in night.merged))
    yield _counted("superseded", (f"{link.older} by {link.newer}" for link in night.superseded))
    states = Counter(one.now for one in night.rechecked)
    changed = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    yield _counted(f"evidence changed ({changed})" if changed else "evidence changed", (o.id for o in night.rechecked))
    yield _counted("archived", (one.id for one in night.archived))
    yield _counted("daily logs archived", night.archived_days)
    if night.settled:
        yield _counted("stood in memory and in the archive", night.settled)
    yield _counted("proposed", (f"{one.id} ({one.kind})" for one in night.proposed))
    held = sum(len(one.quarantined) for one in night.closed)
    redacted = sum(one.redacted for one in night.closed)
    if held or redacted:
        yield f"guard: {redacted} redacted, {held} held back; `memory review list` names what waits"
    if night.failed:
        yield f"failed: {len(night.failed)}; `memory distill` tries again and says why"


def _counted(what: str, names: Iterable[str]) -> str:
    listed: Sequence[str] = list(names)
    shown = ", ".join(listed[:_MOST])
    more = f" and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return f"{what}: {len(listed)}" + (f": {shown}{more}" if listed else "")
