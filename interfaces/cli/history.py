"""``memory history``."""

from __future__ import annotations

import dataclasses

import click

from .frame import Frame, home_command

__all__ = ["history"]


@home_command("history")
@click.argument("entry_id", metavar="ID")
def history(frame: Frame, entry_id: str) -> None:
    """Tell how entry ID came to be: the commits that added, changed, archived or removed it, oldest first."""
    from agent_home.errors import NoSuchEntry
    from agent_home.history import entry_history

    wanted = entry_id.strip().strip("[]").upper()
    events = entry_history(frame.home.root, wanted)
    if not events:
        raise NoSuchEntry(wanted)
    lines = [
        "  ".join(part for part in (e.ts, e.commit[:7], e.action.ljust(8), e.subject, e.session, e.evidence) if part)
        for e in events
    ]
    frame.show({"id": wanted, "events": [dataclasses.asdict(e) for e in events]}, lines)
