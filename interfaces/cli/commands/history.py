"""``memory history``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..frame import Frame, home_command
from .review import printable

if TYPE_CHECKING:
    from agent_home.store.lineage import CitedTurn, Lineage

__all__ = ["history"]

#: A turn can be long; the transcript has the rest.
_SHOWN_CHARS = 300


@home_command("history")
@click.argument("entry_id", metavar="ID")
def history(frame: Frame, entry_id: str) -> None:
    """Tell how entry ID came to be: its commits, oldest first, the sessions they closed, and the turns that it cites.

    Works for live, archived, removed and proposed entries. --json holds the turns whole.
    """
    from agent_home.store.lineage import lineage

    found = lineage(frame.home, entry_id)
    entry = found.entry
    data = {
        "id": found.id, "state": found.state, "path": found.path, "text": entry.text if entry else "",
        "events": [dataclasses.asdict(event) for event in found.events],
        "turns": [dataclasses.asdict(turn) for turn in found.turns],
    }  # fmt: skip
    frame.show(data, _lines(found))


def _lines(found: Lineage) -> Iterator[str]:
    yield f"[{found.id}] {found.state}, {found.path}"
    if found.entry is not None:
        yield f"  {printable(found.entry.text)}"
    for event in found.events:
        parts = (event.ts, event.commit[:7], event.action.ljust(8), event.subject, event.session, event.evidence)
        yield "  ".join(part for part in (*parts, f"by {event.actor}" if event.actor else "") if part)
    for turn in found.turns:
        yield from _turn_lines(turn)


def _turn_lines(turn: CitedTurn) -> Iterator[str]:
    if not turn.found:
        yield f"{turn.source}: its transcript is not on this machine"
        return
    text = " ".join(turn.text.split())
    yield f"{turn.source}  {turn.ts}  {turn.role}"
    yield f"  {printable(text[:_SHOWN_CHARS])}{'…' if len(text) > _SHOWN_CHARS else ''}"
