"""The home's texts as they are now, or as they were at a revision, and as the guard lets a model see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from agent_home import storage
from agent_home.documents.daily_log import daily_path
from agent_home.errors import DocumentInvalid
from agent_home.git import history
from agent_home.home import Home

from .file_screening import Gate
from .receipt import EntryLine

__all__ = ["Reading", "Sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A file's *text*; where that is empty, the *reason*. *failed*: the file is there and cannot be read.

    *blocked* says what of the file the text does not show because the guard would not have it; *problem* why the guard
    did not judge by the home's own rules.
    """

    text: str = ""
    reason: str = ""
    failed: bool = False
    blocked: tuple[EntryLine, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Sources:
    """Reads a home's files for one audience, through the guard. *revision* empty: the files on disk."""

    home: Home
    audience: str
    gate: Gate
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
        seen = self.gate.seen(path, text)
        reason = "" if text else "empty or absent"
        return Reading(text=seen.text, reason=reason, blocked=seen.lines, problem=seen.problem)

    def daily(self, today: date) -> list[tuple[str, Reading]]:
        """The daily logs of yesterday and today, in that order, as far as they are there and may be read."""
        paths = [daily_path(day.isoformat()) for day in (today - timedelta(days=1), today)]
        readings = [(path, self.read(path)) for path in paths]
        return [(path, reading) for path, reading in readings if reading.text or reading.failed]
