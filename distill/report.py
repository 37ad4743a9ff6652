"""The report of a night: what was done to memory, in numbers, ids and paths, and nothing of what memory says.

One file a day, ``ledger/nights/2026-11-21.md``, with a section for each run. It stands beside the ledgers and not in
Knowledge/ or DailyActivity/: a record of the machinery is nothing that search or a prompt should bring up, and the
folder is the owner's alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .nightly import Night

__all__ = ["render_report", "report_path"]

#: Ids named in one line of the report; the rest is counted.
_MOST = 40


def report_path(now: datetime) -> str:
    """The file of the day's reports, relative to the home."""
    return f"ledger/nights/{now:%Y-%m-%d}.md"


def render_report(before: str, night: Night, now: datetime) -> str:
    """*before*, the day's file so far or empty, with a section about *night* at its end."""
    body = "\n".join(f"- {line}" for line in _lines(night))
    # Named by what it says: two machines' reports of one minute are two sections when their clones are merged.
    name = hashlib.blake2b(f"{now.isoformat()}\0{body}".encode(), digest_size=3).hexdigest()
    head = before.rstrip() or f"# Nights of {now:%Y-%m-%d}"
    return f"{head}\n\n## {now:%H:%M} Distilled (n-{name})\n\n{body}\n"


def _lines(night: Night) -> Iterator[str]:
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
