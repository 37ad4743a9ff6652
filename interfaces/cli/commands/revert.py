"""Define ``memory revert``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from agent_home.visible import revealed

from ...indexing import index_changes
from ..completion import entries
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from distill.review.reverting import EntryRevert, RelinkedEntry

__all__ = ["revert"]

#: For each kind of change, the verb of its undoing: as done, as planned, and the words after the id.
_UNDOING = {
    "added": ("removed", "remove", ""),
    "changed": ("gave", "give", " its earlier text"),
    "removed": ("brought", "bring", " back"),
    "archived": ("brought", "bring", " back"),
    "restored": ("moved", "move", " back to the archive"),
    "moved": ("moved", "move", " back"),
}


@home_command(
    "revert",
    examples=(
        ("Show what the revert would change", "memory revert KD-7F3A"),
        ("Revert the last change of the entry", "memory revert KD-7F3A --apply"),
    ),
)
@click.argument("entry_id", metavar="ID", shell_complete=entries)
@click.option("--apply", "applied", is_flag=True, help="Revert it (default: only show what would change).")
def revert(invocation: Invocation, entry_id: str, applied: bool) -> None:
    """Undo the last change of one entry.

    The last commit that changed entry ID is undone for this entry alone. An added entry is removed, and entries that it
    superseded are valid again. A removed entry comes back. A changed entry gets its earlier text. If the change
    superseded it, it is valid again, and its successor stays without the link. Without --apply, the command only shows
    what would change. The revert is a commit itself, and reverting the entry again undoes it.

    The exit code is 1 when another entry supersedes it as well. The message names that entry.
    """
    from distill.review.reverting import plan_revert
    from distill.review.reverting import revert as undo

    home = invocation.home
    done = undo(home, entry_id, now=invocation.moment) if applied else plan_revert(home, entry_id)
    problems = index_changes(home, invocation.warn) if done.commit else ()
    for problem in problems:
        invocation.warn(problem)
    event = done.undoes
    data = {
        "id": done.id, "commit": done.commit, "applied": applied, "undoes": dataclasses.asdict(event),
        "before": done.change.after, "after": done.change.before, "path": done.change.old_path,
        "linked": [link.before.id for link in done.linked],
        "relinked": [_link(link) for link in (*done.linked, *done.successors)],
        "superseded_by": done.superseded_by or None,
        "degraded": list(problems),
    }  # fmt: skip
    invocation.show(data, _lines(done))


def _link(link: RelinkedEntry) -> dict[str, str]:
    return {"id": link.after.id, "path": link.path, "before": link.before.render(), "after": link.after.render()}


def _lines(done: EntryRevert) -> Iterator[str]:
    event, change = done.undoes, done.change
    did, would, rest = _UNDOING[change.action]
    yield f"{did if done.commit else f'would {would}'} {done.id}{rest}"
    yield f"  commit {event.commit[:7]} of {event.ts} {change.action} it: {event.subject}"
    yield from (f"  - {revealed(line)}" for line in change.after.splitlines())
    yield from (f"  + {revealed(line)}" for line in change.before.splitlines())
    yield from _links(done)
    yield f"commit {done.commit[:7]}" if done.commit else "Nothing was changed. Add --apply to revert it"


def _links(done: EntryRevert) -> Iterator[str]:
    """Yield a line for each kind of link that changes, and for a successor that the entry keeps."""
    for links, link, gone, back in (
        (done.linked, "Superseded-By", "no longer superseded by it", "superseded by it again"),
        (done.successors, "Supersedes", "valid again, no longer superseded by", "superseded again by"),
    ):
        gains = {True: list[str](), False: list[str]()}
        for entry in links:
            gains[done.id in entry.after.fields.get(link, "")].append(entry.after.id)
        yield from (f"  {back if gained else gone}: {', '.join(ids)}" for gained, ids in gains.items() if ids)
    if done.superseded_by and not done.successors:
        yield f"  still superseded by {done.superseded_by}"
