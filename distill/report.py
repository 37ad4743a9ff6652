"""Own the result of a nightly run and its report: numbers, ids and paths, but no text of memory.

The report is one file a day, ``ledger/nights/2026-11-21.md``, with a section for each run. It is beside the ledgers and
not in Knowledge/ or DailyActivity/, because search and prompts should not show a record of the machinery. Only the
owner may read the folder.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .closing_result import Closed, ClosingFailure
    from .entries.consolidation import Link
    from .entries.decay import ArchiveCandidate
    from .evidence.verification import RecheckedEntry

__all__ = ["NightlyRun", "ReportedProposal", "render_report", "report_path"]

#: Ids listed in one line of the report. The rest is counted.
_MAX_LISTED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedProposal:
    """A new proposal, or one that a plan would make: its id, its kind and the reason."""

    id: str
    kind: str
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class NightlyRun:
    """The result of a nightly run in one home, or the plan of one.

    *sessions* are the closed ones in their order. *merged* and *superseded* have the entries with the reason, where it
    is known. *rechecked* are the entries whose evidence changed. *settled* were both in memory and in the archive.
    *interrupted* has the commits of an earlier run that was killed before its report. *failed* has sessions and steps.
    *report* is the path of the day's report, or empty.
    *packed* says what became of git's loose objects, or would. It is empty where there was nothing to gain. *pruned*
    are outputs of tools that were dropped.
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
    interrupted: tuple[str, ...] = ()
    failed: list[ClosingFailure] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    report: str = ""
    packed: str = ""
    pruned: tuple[str, ...] = ()

    @property
    def idle(self) -> bool:
        """True when nothing changed. A failure is not a change."""
        done = (self.sessions, self.merged, self.superseded, self.rechecked, self.archived, self.archived_days)
        return not any((*done, self.settled, self.proposed, self.interrupted))


def report_path(now: datetime) -> str:
    """Return the path of the day's report, relative to the home."""
    return f"ledger/nights/{now:%Y-%m-%d}.md"


def render_report(before: str, result: NightlyRun, now: datetime) -> str:
    """Return *before*, the day's report so far or empty, with a section about *result* at the end."""
    body = "\n".join(f"- {line}" for line in _lines(result))
    # The name is a digest of the content, so that reports of two machines in one minute stay two sections in a merge.
    name = hashlib.blake2b(f"{now.isoformat()}\0{body}".encode(), digest_size=3).hexdigest()
    head = before.rstrip() or f"# Nights of {now:%Y-%m-%d}"
    return f"{head}\n\n## {now:%H:%M} Distilled (n-{name})\n\n{body}\n"


def _lines(result: NightlyRun) -> Iterator[str]:
    sections = dict.fromkeys(f"{closed.daily}#{closed.anchor}" for closed in result.closed)
    yield _counted("sessions closed", sections)
    yield _counted("entries added", result.added)
    yield _counted("repeated or merged", (link.newer for link in result.merged))
    yield _counted("superseded", (f"{link.older} by {link.newer}" for link in result.superseded))
    states = Counter(entry.now for entry in result.rechecked)
    changed = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    yield _counted(
        f"evidence changed ({changed})" if changed else "evidence changed", (entry.id for entry in result.rechecked)
    )
    yield _counted("archived", (entry.id for entry in result.archived))
    yield _counted("daily logs archived", result.archived_days)
    if result.settled:
        yield _counted("removed from the archive as copies", result.settled)
    yield _counted("proposed", (f"{proposal.id} ({proposal.kind})" for proposal in result.proposed))
    if result.interrupted:
        yield _counted("commits of an interrupted run", result.interrupted)
    quarantined = sum(len(closed.quarantined) for closed in result.closed)
    redacted = sum(closed.redacted for closed in result.closed)
    if quarantined or redacted:
        yield f"guard: {redacted} redacted, {quarantined} quarantined; see `memory review list`"
    if result.failed:
        yield f"failed: {len(result.failed)}; run `memory distill` to try again and see why"


def _counted(label: str, names: Iterable[str]) -> str:
    listed: Sequence[str] = list(names)
    ids = ", ".join(listed[:_MAX_LISTED])
    more = f" and {len(listed) - _MAX_LISTED} more" if len(listed) > _MAX_LISTED else ""
    return f"{label}: {len(listed)}" + (f": {ids}{more}" if listed else "")
