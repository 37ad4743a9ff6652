"""Own the event log in the Python API: events of the caller's own, and what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agent_home.clock import parse_time
from agent_home.events.reading import EventFilter, events
from agent_home.events.recording import log_event

if TYPE_CHECKING:
    from agent_home.events.event import LoggedEvent
    from agent_home.home import Home

__all__ = ["EventLog", "as_moment"]


class EventLog:
    """The event log of a home on this machine."""

    def __init__(self, home: Callable[[], Home]) -> None:
        self._home = home

    def log_execution(
        self, session_id: str, event_type: str, details: Mapping[str, Any], *, now: datetime | None = None
    ) -> str:
        """Log an event of the caller, and return its id. Secrets and personal data in *details* are replaced.

        Args:
            session_id: the session in which it happened, or an empty text.
            event_type: lower case letters, digits, ``_``, ``.`` and ``-``, such as ``test_run``.
            details: at most 16 KB of JSON types.
            now: when it happened.

        Raises:
            EventRefused: the type or the details are not as described.
            GuardRefused: the guard cannot run.
        """
        return log_event(self._home(), session_id, event_type, details, now=now)

    def retrieve_events(
        self,
        session_id: str = "",
        event_type: str = "",
        start_time: datetime | float | str | None = None,
        end_time: datetime | float | str | None = None,
        limit: int = 100,
    ) -> list[LoggedEvent]:
        """Return the newest events, at most *limit*, in the order in which they happened.

        Args:
            session_id: only events of this session.
            event_type: only events of this type.
            start_time: only events of this time or later. A number is in seconds since 1970, and a text is ISO 8601.
            end_time: only events before this time.
            limit: most events.
        """
        wanted = EventFilter(
            session=session_id or "", type=event_type or "", start=as_moment(start_time), end=as_moment(end_time)
        )
        return events(self._home(), wanted, limit=limit)


def as_moment(time: datetime | float | str | None) -> datetime | None:
    """Return a point in time with a zone. A text or a time without one is in the machine's own.

    Raises:
        ValueError: a text is no ISO 8601 time.
    """
    if time is None:
        return None
    if isinstance(time, str):
        return parse_time(time)
    moment = time if isinstance(time, datetime) else datetime.fromtimestamp(time, UTC)
    return moment if moment.tzinfo else moment.astimezone()
