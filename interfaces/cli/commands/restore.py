"""``memory restore``."""

from __future__ import annotations

import click

from ..frame import Frame, home_command
from .sync import follow

__all__ = ["restore"]


@home_command("restore")
@click.argument("entry_id", metavar="ID")
def restore(frame: Frame, entry_id: str) -> None:
    """Bring the archived entry ID back to its section of MEMORY.md, to the letter.

    It ages anew from now on. An entry that is live already stays as it is, and nothing is committed. `memory search
    --in archive` finds archived entries by their words.
    """
    from distill import restore as bring_back

    home = frame.home
    done = bring_back(home, entry_id, now=frame.moment)
    problems = follow(home, frame) if done.commit else []
    for problem in problems:
        frame.warn(problem)
    said = f"{done.id} is back in {done.section}, commit {done.commit[:7]}" if done.commit else f"{done.id} is live"
    data = {"id": done.id, "section": done.section, "text": done.text, "commit": done.commit, "degraded": problems}
    frame.show(data, [said])
