"""Define ``memory history``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from agent_home.visible import revealed

from ...answers import lineage_answer
from ..completion import entries
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from agent_home.store.lineage import CitedTurn, Lineage

__all__ = ["history"]

#: A turn can be long. The transcript has the rest.
_MAX_TURN_CHARS = 300


@home_command(
    "history",
    examples=(
        ("Show the commits, sessions and turns behind an entry", "memory history KD-7F3A"),
        ("Print them as JSON, with the turns in full", "memory history KD-7F3A --json"),
    ),
)
@click.argument("entry_id", metavar="ID", shell_complete=entries)
def history(invocation: Invocation, entry_id: str) -> None:
    """Show where an entry comes from.

    The command lists the commits of entry ID, oldest first, the sessions that they closed, and the turns that the entry
    cites. The first line says whether the entry is live, or was superseded, resolved, retracted, archived, removed or
    only proposed. --json has the turns in full.
    """
    from agent_home.store.lineage import lineage

    found = lineage(invocation.home, entry_id)
    data = lineage_answer(found)
    invocation.show(data, _lines(found))


def _lines(found: Lineage) -> Iterator[str]:
    yield f"[{found.id}] {found.words}, {found.path}"
    if found.entry is not None:
        yield f"  {revealed(found.entry.text)}"
    if found.standing.reason:
        yield f"  {found.standing.ended} by {revealed(found.standing.reason)}"
    if found.question:
        yield f"  waits in `memory review`: {revealed(found.question)}"
    if found.supersedes:
        yield f"  supersedes {', '.join(found.supersedes)}"
    for event in found.events:
        named = (("session", event.session), ("evidence", event.evidence), ("by", event.actor))
        parts = (event.ts, event.commit[:7], event.action.ljust(8), event.subject)
        yield "  ".join(part for part in (*parts, *(f"{name} {value}" for name, value in named if value)) if part)
    for turn in found.turns:
        yield from _turn_lines(turn)


def _turn_lines(turn: CitedTurn) -> Iterator[str]:
    if not turn.found:
        yield f"{turn.source}: its transcript is not on this machine"
        return
    text = " ".join(turn.text.split())
    yield f"{turn.source}  {turn.ts}  {turn.role}"
    yield f"  {revealed(text[:_MAX_TURN_CHARS])}{'…' if len(text) > _MAX_TURN_CHARS else ''}"
