"""Define ``memory done``."""

from __future__ import annotations

import click

from ...answers import finished_answer
from ...indexing import index_changes
from ..completion import entries
from ..invocation import Invocation, home_command

__all__ = ["done"]


@home_command(
    "done",
    examples=(
        ("Mark a thread as done", "memory done OT-7F3A"),
        ("Say how it ended", 'memory done OT-7F3A --how "Sent to Ana on Friday"'),
        ("Only show what would be written", "memory done OT-7F3A --dry-run"),
    ),
)
@click.argument("entry_id", metavar="ID", shell_complete=entries)
@click.option("--how", default="", metavar="TEXT", help="Short remark on how it ended.")
@click.option("--dry-run", is_flag=True, help="Show the new state and write nothing.")
def done(invocation: Invocation, entry_id: str, how: str, dry_run: bool) -> None:
    """Mark an open thread as done.

    The entry ID of MEMORY.md gets a line "State: resolved DATE: TEXT" in one commit. It leaves the prompt at once and
    goes to the archive with the next `memory archive --apply` or `memory distill`. Any other entry can be ended in the
    same way, such as a preference that no longer holds. `memory revert ID` undoes it.
    """
    from distill.entries.notes import finish

    home = invocation.home
    finished = finish(home, entry_id, now=invocation.moment, how=how, dry_run=dry_run)
    problems = index_changes(home, invocation.warn) if finished.commit else []
    for problem in problems:
        invocation.warn(problem)
    where = "dry run, nothing is written" if dry_run else "it had ended before, and nothing was changed"
    where = f"commit {finished.commit[:7]}" if finished.commit else where
    data = finished_answer(finished, problems, dry_run=dry_run)
    invocation.show(data, [f"[{finished.id}] {finished.state} ({where})", f"  {finished.text}"])
