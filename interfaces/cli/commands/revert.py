"""``memory revert``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..frame import Frame, home_command
from .review import printable
from .sync import follow

if TYPE_CHECKING:
    from distill.review.reverting import EntryRevert, RelinkedEntry

__all__ = ["revert"]

_UNDOING = {
    "added": "goes away", "changed": "says again what it said", "removed": "comes back", "archived": "comes back",
    "restored": "goes back to the archive", "moved": "goes back",
}  # fmt: skip


@home_command("revert")
@click.argument("entry_id", metavar="ID")
@click.option("--apply", "applied", is_flag=True, help="Do it. Without, only what would happen is told.")
def revert(frame: Frame, entry_id: str, applied: bool) -> None:
    """Undo what the last commit did to entry ID, and to no other.

    An entry that it brought goes, and those that it superseded count again; one that it took away comes back, one that
    it changed says again what it said. A dry run unless --apply is given. Undoing is a commit itself; to undo that,
    revert the entry again.
    """
    from distill.review.reverting import plan_revert
    from distill.review.reverting import revert as undo

    home = frame.home
    done = undo(home, entry_id, now=frame.moment) if applied else plan_revert(home, entry_id)
    problems = follow(home, frame) if done.commit else ()
    for problem in problems:
        frame.warn(problem)
    event = done.undoes
    data = {
        "id": done.id, "commit": done.commit, "applied": applied, "undoes": dataclasses.asdict(event),
        "before": done.change.after, "after": done.change.before, "path": done.change.old_path,
        "linked": [link.before.id for link in done.linked], "relinked": [_link(link) for link in done.linked],
        "degraded": list(problems),
    }  # fmt: skip
    frame.show(data, _lines(done))


def _link(link: RelinkedEntry) -> dict[str, str]:
    return {"id": link.after.id, "path": link.path, "before": link.before.render(), "after": link.after.render()}


def _lines(done: EntryRevert) -> Iterator[str]:
    event, change = done.undoes, done.change
    yield f"{done.id} {_UNDOING[change.action]}"
    yield f"  commit {event.commit[:7]} of {event.ts} {change.action} it: {event.subject}"
    yield from (f"  - {printable(line)}" for line in change.after.splitlines())
    yield from (f"  + {printable(line)}" for line in change.before.splitlines())
    if done.linked:
        ids = ", ".join(link.before.id for link in done.linked)
        yield f"  {'superseded by it again' if change.before else 'no longer superseded by it'}: {ids}"
    yield f"commit {done.commit[:7]}" if done.commit else "nothing was changed; --apply does it"
