"""Find the repositories that a session worked in, and the time it took.

A folder that is gone or is no repository is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from agent_home.clock import parse_time
from agent_home.store.transcript import Message

from .repository import top_level
from .status import Window

__all__ = ["Workplace", "is_time", "local_time", "workplace"]

_MAX_REPOSITORIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Time and folders of a session.

    *folders* are all folders that its turns name, repositories or not. *tops* maps the source of a turn to the top of
    the repository that the turn names.
    """

    window: Window = field(default_factory=Window)
    folders: tuple[str, ...] = ()
    tops: Mapping[str, Path] = field(default_factory=dict)

    def repositories(self, sources: Sequence[str]) -> list[Path]:
        """Return at most four repositories of the session, those of the turns at *sources* first."""
        own = [self.tops[source] for source in sources if source in self.tops]
        return list(dict.fromkeys([*own, *self.tops.values()]))[:_MAX_REPOSITORIES]


def workplace(messages: Sequence[Message], now: datetime, slack_s: float) -> Workplace:
    """Return the workplace of a session, given all its messages. *slack_s* widens its time on both sides."""
    found = {folder: top_level(folder) for folder in dict.fromkeys(message.cwd for message in messages) if folder}
    tops = {message.source: top for message in messages if (top := found.get(message.cwd)) is not None}
    return Workplace(window=_window(messages, now, slack_s), folders=tuple(found), tops=tops)


def local_time(ts: str, now: datetime) -> datetime:
    """Return the time *ts* as its writer's clock showed it.

    A time without a zone is in the zone of *now*. A time in UTC is converted to that zone, because machines write UTC.
    A time with another offset is already local. An unreadable time counts as *now*.
    """
    if not is_time(ts):
        return now
    moment = datetime.fromisoformat(ts)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=now.tzinfo)
    return moment.astimezone(now.tzinfo) if moment.utcoffset() == timedelta(0) else moment


def is_time(ts: str) -> bool:
    """Return whether *ts* can be read as a time."""
    try:
        parse_time(ts)
    except ValueError:
        return False
    return True


def _window(messages: Sequence[Message], now: datetime, slack_s: float) -> Window:
    """Return the widened time from the first message to the last, unknown when no message has a time."""
    times = [local_time(message.ts, now).timestamp() for message in messages if is_time(message.ts)]
    return Window(since=min(times) - slack_s, until=max(times) + slack_s) if times else Window()
