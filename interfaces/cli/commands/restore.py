"""Define ``memory restore``."""

from __future__ import annotations

import click

from ...indexing import index_changes
from ..completion import archived_entries
from ..invocation import Invocation, home_command

__all__ = ["restore"]


@home_command(
    "restore",
    examples=(
        ("Find an archived entry", "memory search --in archive postgres"),
        ("Restore it", "memory restore KD-7F3A"),
    ),
)
@click.argument("entry_id", metavar="ID", shell_complete=archived_entries)
def restore(invocation: Invocation, entry_id: str) -> None:
    """Bring an archived entry back to MEMORY.md.

    The entry ID returns unchanged to its section, and its age counts from now on. An entry that is live already stays
    as it is, and nothing is committed. `memory search --in archive` finds archived entries by their words.
    """
    from distill.entries.citation import restore as bring_back

    home = invocation.home
    done = bring_back(home, entry_id, now=invocation.moment)
    problems = index_changes(home, invocation.warn) if done.commit else []
    for problem in problems:
        invocation.warn(problem)
    line = (
        f"{done.id} is back in {done.section}, commit {done.commit[:7]}"
        if done.commit
        else f"{done.id} is already in MEMORY.md. Nothing to restore."
    )
    data = {"id": done.id, "section": done.section, "text": done.text, "commit": done.commit, "degraded": problems}
    invocation.show(data, [line])
