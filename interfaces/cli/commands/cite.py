"""Define ``memory cite``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...answers import cited_answer
from ...indexing import index_changes
from ..completion import entries, sessions
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distill.entries.citation import Cited

__all__ = ["cite"]


@home_command(
    "cite",
    examples=(
        ("Record that an entry was useful", "memory cite KD-7F3A"),
        ("Name the session that used two entries", "memory cite KD-7F3A LL-2M0Q --session s-1a2b"),
    ),
)
@click.argument("ids", nargs=-1, required=True, metavar="ID...", shell_complete=entries)
@click.option(
    "--session", default="", metavar="SESSION", shell_complete=sessions, help="The session that used the entries."
)
def cite(invocation: Invocation, ids: tuple[str, ...], session: str) -> None:
    """Record that entries were useful.

    `memory archive` moves entries that nobody refers to for long enough. A reference keeps an entry in memory: this
    command, an id that the agent quotes in a conversation (found when the session is closed), or a session that
    restates the entry. Being shown in a prompt is not a reference. Citing an archived entry restores it.

    When one ID is unknown, the command fails and records none of them.
    """
    from agent_home.store.transcript import session_name, session_path
    from distill.entries.citation import cite as note

    home = invocation.home
    if session and session_path(home, session) is None:
        invocation.warn(f"no session {session!r} in sessions/. The reference is recorded with this name")
    done = note(home, ids, now=invocation.moment, session=session_name(home, session) if session else "")
    problems = index_changes(home, invocation.warn) if done.restored else []
    for problem in problems:
        invocation.warn(problem)
    data = cited_answer(done, problems)
    invocation.show(data, _lines(done))


def _lines(done: Cited) -> Iterator[str]:
    where = f"commit {done.commit[:7]}" if done.commit else "recorded already"
    yield f"cited {', '.join(done.ids)}, {where}"
    if done.restored:
        yield f"restored from the archive: {', '.join(done.restored)}"
