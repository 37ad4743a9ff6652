"""``memory cite``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..frame import Frame, home_command
from .sync import follow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distill import Cited

__all__ = ["cite"]


@home_command("cite")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--session", default="", metavar="SESSION", help="The session in which they were used.")
def cite(frame: Frame, ids: tuple[str, ...], session: str) -> None:
    """Note that the entries with these IDs were of use now.

    Entries that nobody refers to for long enough leave for the archive (`memory archive`). A reference is what keeps
    them: this command, an id that the agent quotes in a conversation (found when the session is closed), or a session
    that says the same again. Being shown in a prompt is none. An archived entry that is cited comes back.

    An id that is not known is an error, and then none of IDS is noted.
    """
    from agent_home.store.transcript import session_name
    from distill import cite as note

    home = frame.home
    done = note(home, ids, now=frame.moment, session=session_name(home, session) if session else "")
    problems = follow(home, frame) if done.restored else []
    for problem in problems:
        frame.warn(problem)
    data = {"ids": list(done.ids), "restored": list(done.restored), "commit": done.commit, "degraded": problems}
    frame.show(data, _lines(done))


def _lines(done: Cited) -> Iterator[str]:
    where = f"commit {done.commit[:7]}" if done.commit else "noted already"
    yield f"cited {', '.join(done.ids)}, {where}"
    if done.restored:
        yield f"back from the archive: {', '.join(done.restored)}"
