"""The home's texts as they are now, or as they were at a revision."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from agent_home import history, storage
from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from agent_home.journal import daily_path

__all__ = ["Sources"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Reads a home's files for one audience. *revision* empty: the files on disk."""

    home: Home
    audience: str
    revision: str = ""

    def text(self, path: str) -> tuple[str, str]:
        """The text of *path* and, where it cannot be shown, why: absent, unreadable, or not for this audience."""
        if not self.home.may_read(path, self.audience):
            return "", f"not for the audience {self.audience}"
        try:
            if self.revision:
                text = history.text_at(self.home.root, self.revision, path)
            else:
                text = storage.read_text(self.home.path(path))
        except DocumentInvalid as error:
            return "", str(error)
        return text, "" if text else "empty or absent"

    def daily(self, today: date) -> list[tuple[str, str]]:
        """``(path, text)`` of the daily logs of yesterday and today, in that order, as far as they exist."""
        found = []
        for day in (today - timedelta(days=1), today):
            path = daily_path(day.isoformat())
            text, problem = self.text(path)
            if text and not problem:
                found.append((path, text))
        return found
