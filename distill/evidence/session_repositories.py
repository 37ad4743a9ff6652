"""Where and when a session worked: the repositories that its turns name, and the time it took.

Folders that are no repository, or are gone, are left out. What git says is the business of
``distill.evidence.checking``.
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
    """*window* is the session's time, *folders* those that its turns name, repositories or not; *tops* maps the source
    of each turn that names a repository to its top.
    """

    window: Window = field(default_factory=Window)
    folders: tuple[str, ...] = ()
    tops: Mapping[str, Path] = field(default_factory=dict)

    def repositories(self, sources: Sequence[str]) -> list[Path]:
        """The repositories of the session, those of the turns at *sources* first; at most four."""
        own = [self.tops[source] for source in sources if source in self.tops]
        return list(dict.fromkeys([*own, *self.tops.values()]))[:_MAX_REPOSITORIES]


def workplace(messages: Sequence[Message], now: datetime, slack_s: float) -> Workplace:
    """The workplace of a session, given all its messages; its time is widened by *slack_s* on both sides."""
    found = {folder: top_level(folder) for folder in dict.fromkeys(message.cwd for message in messages) if folder}
    tops = {message.source: top for message in messages if (top := found.get(message.cwd)) is not None}
    return Workplace(window=_window(messages, now, slack_s), folders=tuple(found), tops=tops)


def local_time(ts: str, now: datetime) -> datetime:
    """The time *ts* as its writer's clock showed it.

    A time without a zone is in the zone of *now*, one in UTC is shown there (machines write UTC), one with another
    offset is local already. No time is *now*.
    """
    if not is_time(ts):
        return now
    moment = datetime.fromisoformat(ts)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=now.tzinfo)
    return moment.astimezone(now.tzinfo) if moment.utcoffset() == timedelta(0) else moment


def is_time(ts: str) -> bool:
    """Whether *ts* can be read as a time."""
    try:
        parse_time(ts)
    except ValueError:
        return False
    return True


def _window(messages: Sequence[Message], now: datetime, slack_s: float) -> Window:
    """From the first message's time to the last one's, widened; unknown where no message has a time."""
    times = [local_time(message.ts, now).timestamp() for message in messages if is_time(message.ts)]
    return Window(since=min(times) - slack_s, until=max(times) + slack_s) if times else Window()
