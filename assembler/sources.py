"""Own how a prompt reads the home's texts, as they are now or at a revision, through the guard."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

from agent_home import storage
from agent_home.documents.daily_log import daily_path
from agent_home.errors import DocumentInvalid
from agent_home.git import history
from agent_home.home import Home

from .file_screening import FileScreening
from .receipt import EntryLine

__all__ = ["SourceText", "Sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """The *text* of a file, or the *reason* why it is empty. If *failed*, the file exists and cannot be read.

    *blocked* has the receipt's lines about parts that the guard kept out of *text*. *problem* is the reason why the
    guard did not apply the home's own rules.
    """

    text: str = ""
    reason: str = ""
    failed: bool = False
    blocked: tuple[EntryLine, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Sources:
    """Reader of a home's files for one audience, through the guard. Without *revision* it reads the files on disk."""

    home: Home
    audience: str
    screening: FileScreening
    revision: str = ""
    #: Texts of the revision that git has been asked for, by path.
    _past: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def read(self, path: str) -> SourceText:
        """Read the text of *path*, unless it is absent, unreadable, or not for this audience.

        Raises:
            HistoryError: if there is no such revision.
        """
        if not self.home.may_read(path, self.audience):
            return SourceText(reason=f"not for the audience {self.audience}")
        if held := self.screening.held_name(path):
            return SourceText(reason=f"its name is held back by the guard: {held}. Rename it")
        try:
            text = self._past_text(path) if self.revision else storage.read_text(self.home.path(path))
        except DocumentInvalid as error:
            return SourceText(reason=str(error), failed=True)
        except (OSError, ValueError) as error:  # a folder of that name, no permission, a link out of the home
            return SourceText(reason=f"{path} cannot be read: {error}", failed=True)
        screened = self.screening.screened(path, text)
        reason = "" if text else "empty or absent"
        return SourceText(text=screened.text, reason=reason, blocked=screened.lines, problem=screened.problem)

    def daily(self, today: date) -> list[tuple[str, SourceText]]:
        """Read the daily logs of yesterday and today, in that order. Logs without a readable text are left out."""
        paths = [daily_path(day.isoformat()) for day in (today - timedelta(days=1), today)]
        sources = [(path, self.read(path)) for path in paths]
        return [(path, source) for path, source in sources if source.text or source.failed]

    def _past_text(self, path: str) -> str:
        """Return the text of *path* at the revision. The context files are read by one git command."""
        if path not in self._past:
            commit = history.resolve(self.home.root, self.revision)
            context = {self.home.context_path(file.file) for file in self.home.manifest.context} - self._past.keys()
            paths = [path, *(other for other in context if self.home.may_read(other, self.audience))]
            texts = history.texts_at(self.home.root, [(commit, other) for other in paths])
            self._past.update(zip(paths, texts, strict=True))
        return self._past[path]
