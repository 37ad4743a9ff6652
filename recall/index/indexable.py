"""Apply the index policy of the screening service to files, and report what it removed.

The result is a pure function of the file, the guard's program and rules, and the texts that people approved.
``agent_home.screening.ruleset.guard_signature`` records the first two in the index, and
``agent_home.store.speakers.owner_signature`` what is known about the owner.
"""

from __future__ import annotations

from collections.abc import Collection

from agent_home.home import Home
from agent_home.screening.service import ScreeningService
from agent_home.settings import OwnerSettings
from agent_home.store.speakers import owner_settings

__all__ = ["Screen"]


class Screen:
    """Screener for the files of one home. *known* holds messages that are known to be clean.

    *owner* tells the roles of humans.
    """

    def __init__(self, home: Home) -> None:
        self._screening = ScreeningService(home)
        self.owner: OwnerSettings = owner_settings(home)
        self.known: Collection[str] = ()

    @property
    def problem(self) -> str:
        """Reason why only the bundled rules apply, empty while the home's own rules can be used."""
        return self._screening.problem

    def hides(self, path: str) -> str:
        """Return what the guard finds in the names of *path*, which a hit would print, or an empty text."""
        return next((finding.name for finding in self._screening.findings_in_name(path)), "")

    def document(self, path: str, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the indexable text of a file, line by line at its place, and the lines for the report of a sync."""
        indexable = self._screening.indexable(path, text)
        reported = [finding for finding in indexable.findings if finding.removes_words]
        if not reported:
            return indexable.text, ()
        first, lines = reported[0], len({finding.line for finding in reported})
        places = "1 line" if lines == 1 else f"{lines} lines"
        return indexable.text, (f"{path} has {places} that the guard keeps out, the first {first.line}: {first.name}",)

    def message(self, path: str, content: str) -> str:
        """Return the indexable words of a message, or an empty text when the guard quarantines it."""
        if content.strip() in self.known:
            return content
        indexable = self._screening.indexable(path, content)
        return "" if any(finding.held_back for finding in indexable.findings) else indexable.text

    def name(self, path: str, name: str) -> str:
        """Return the indexable name of a speaker."""
        return self.message(path, name) if name else ""
