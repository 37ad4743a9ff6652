"""Define ``memory archive``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from ...counts import counted
from ...indexing import index_changes
from ..invocation import Invocation, home_command
from ..render import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distill.entries.decay import ArchiveReport

__all__ = ["archive"]


@home_command(
    "archive",
    examples=(
        ("List the entries that would be archived, and why", "memory archive"),
        ("Archive them", "memory archive --apply"),
    ),
)
@click.option("--apply", is_flag=True, help="Archive the entries (default: only list them).")
def archive(invocation: Invocation, apply: bool) -> None:
    """Move entries that nobody uses to the archive.

    Archived entries are in Archive/, where search still finds them. Without --apply, the command only lists the
    entries it would archive.

    Resolved threads, claims that were taken back, and entries with a line "Until: DATE" in the past leave at once.
    Lessons, recent context, and decisions that another one superseded leave when nobody has referred to them for 90
    days (archive-after-days in [distill]), counted from their date or their last reference. They leave earlier, the
    least useful first, when MEMORY.md is full (memory-tokens, section-entries and room). Preferences and corrections
    never leave, nor do facts about the user's family, health and person, nor does an entry with a line "Protected:
    REASON". A daily log leaves when it is as old and all its sessions are closed. `memory cite ID` keeps an entry, and
    `memory restore ID` brings one back.

    Regret is the share of archived entries that were needed again. A high regret means that 90 days are too few.
    """
    from distill.entries.decay import archive as move

    home = invocation.home
    found = move(home, now=invocation.moment, apply=apply)
    problems = index_changes(home, invocation.warn) if found.commit else []
    for problem in problems:
        invocation.warn(problem)
    invocation.show({**_data(found, apply), "degraded": problems}, _lines(found, apply))


def _data(found: ArchiveReport, apply: bool) -> dict[str, Any]:
    rows = [dataclasses.asdict(candidate) for candidate in found.candidates]
    for row in rows:
        row["last_reference"] = row["last_reference"] or None
    return {
        "candidates": rows,
        "daily": list(found.daily),
        "settled": list(found.settled),
        "crowded": list(found.crowded),
        "examined": found.examined,
        "regret": {"archived": found.regret.archived, "wanted": found.regret.wanted, "rate": found.regret.rate},
        "applied": apply,
        "commit": found.commit,
    }


def _lines(found: ArchiveReport, apply: bool) -> Iterator[str]:
    verb = "archived" if apply else "would archive"
    yield f"{verb} {len(found.candidates)} of {counted(found.examined, 'entry', 'entries')}"
    for candidate in found.candidates:
        yield f"  [{candidate.id}] {candidate.date} {shortened(candidate.title)} ({candidate.reason})"
    if found.daily:
        yield f"{'moved' if apply else 'would move'} {counted(len(found.daily), 'daily log')}"
        yield from (f"  {path}" for path in found.daily)
    if found.settled:
        yield f"in both memory and archive, {'now' if apply else 'to be kept'} in one: {', '.join(found.settled)}"
    yield from (f"over its limit, and no entry may leave: {section}" for section in found.crowded)
    regret = found.regret
    yield f"{regret.wanted} of {regret.archived} archived entries were needed again"
    if found.commit:
        yield f"commit {found.commit[:7]}"
    elif not apply and (found.candidates or found.daily or found.settled):
        yield "Nothing was changed. Run `memory archive --apply` to archive them"
