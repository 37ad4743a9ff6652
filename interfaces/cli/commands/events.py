"""Define ``memory events``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

import click

from agent_home.clock import parse_time
from agent_home.visible import visible_json

from ...answers import event_answer
from ..invocation import Invocation, home_command
from ..render import write_line

if TYPE_CHECKING:
    from agent_home.events.event import LoggedEvent

__all__ = ["events"]


def _time(_context: click.Context, _parameter: click.Parameter, value: str | None) -> datetime | None:
    try:
        return parse_time(value) if value else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@home_command(
    "events",
    examples=(
        ("Show the newest events", "memory events --limit 20"),
        ("Show the closings of a day", "memory events --type closing --start 2026-11-20 --end 2026-11-21"),
        ("Show what happens from now on", "memory events --follow"),
    ),
)
@click.option("--session", default="", metavar="NAME", help="Only events of this session.")
@click.option("--type", "kind", default="", metavar="TYPE", help="Only events of this type, such as write or prompt.")
@click.option("--start", callback=_time, metavar="TIME", help="Only events of this ISO 8601 time or later.")
@click.option("--end", callback=_time, metavar="TIME", help="Only events before this ISO 8601 time.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Most events: the newest.")
@click.option("--follow", is_flag=True, help="Go on with the events that come, until interrupted.")
def events(
    invocation: Invocation,
    session: str,
    kind: str,
    start: datetime | None,
    end: datetime | None,
    limit: int,
    *,
    follow: bool,
) -> None:
    """Show what happened in this home, oldest first.

    Every write, closing, citation, verdict of the guard, archival, review, prompt, stored and fetched output is an
    event of this machine, with its session and its time. Events hold ids and counts, and no text of memory. With
    --follow and --json, each event is a line.
    """
    from agent_home.events.reading import EventFilter, follow_events
    from agent_home.events.reading import events as newest_events

    wanted = EventFilter(type=kind, session=session, start=start, end=end)
    coming = follow_events(invocation.home, wanted)  # from before the others are read, so that none is missed
    found = newest_events(invocation.home, wanted, limit=limit)
    if not follow:
        lines = [_line(event) for event in found] or ["no event fits"]
        invocation.show({"events": [event_answer(event) for event in found]}, lines)
        return
    say = _writer(invocation)
    told = {event.id for event in found}
    for event in chain(found, (event for event in coming if event.id not in told)):
        say(event)


def _writer(invocation: Invocation) -> Callable[[LoggedEvent], None]:
    return lambda event: write_line(visible_json(event_answer(event)) if invocation.as_json else _line(event))


def _line(event: LoggedEvent) -> str:
    return " ".join([event.ts[:19].replace("T", " "), f"{event.type:9}", *_shown(event)])


def _shown(event: LoggedEvent) -> Iterator[str]:
    """Yield the session and the details of *event* as a person reads them."""
    if event.session:
        yield f"[{event.session}]"
    for name, value in event.details.items():
        if value in ("", [], None, 0, False):
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        yield f"{name}={text[:12] if name in {'commit', 'sha256'} else text[:60]}"
