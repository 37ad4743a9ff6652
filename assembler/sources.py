"""The home's texts as they are now, or as they were at a revision."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from agent_home import history, storage
from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from agent_home.journal import daily_path

__all__ = ["Reading", "Sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A file's *text*; where that is empty, the *reason*. *failed*: the file is there and cannot be read."""

    text: str = ""
    reason: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """Reads a home's files for one audience. *revision* empty: the files on disk."""

    home: Home
    audience: str
    revision: str = ""

    def read(self, path: str) -> Reading:
        """The text of *path*, unless it is absent, unreadable, or not for this audience.

        Raises:
            HistoryError: there is no such revision.
        """
        if not self.home.may_read(path, self.audience):
            return Reading(reason=f"not for the audience {self.audience}")
        try:
            if self.revision:
                text = history.text_at(self.home.root, self.revision, path)
            else:
                text = storage.read_text(self.home.path(path))
        except DocumentInvalid as error:
            return Reading(reason=str(error), failed=True)
        except (OSError, ValueError) as error:  # a folder of that name, no permission, a link out of the home
            return Reading(reason=f"{path} cannot be read: {error}", failed=True)
        return Reading(text=text, reason="" if text else "empty or absent")

    def daily(self, today: date) -> list[tuple[str, Reading]]:
        """The daily logs of yesterday and today, in that order, as far as they are there and may be read."""
        paths = [daily_path(day.isoformat()) for day in (today - timedelta(days=1), today)]
        readings = [(path, self.read(path)) for path in paths]
        return [(path, reading) for path, reading in readings if reading.text or reading.failed]
