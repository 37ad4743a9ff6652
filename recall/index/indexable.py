"""What of a file may be found by search: the index policy of the screening service, with lines for the sync's report.

A pure function of the file, the guard's program and rules, and what people approved;
``agent_home.screening.ruleset.guard_signature`` names the first two in the index.
"""

from __future__ import annotations

from collections.abc import Collection

from agent_home.home import Home
from agent_home.screening.service import ScreeningService

__all__ = ["Screen"]


class Screen:
    """Screens the files of one home. *known* are messages that are known to be clean."""

    def __init__(self, home: Home) -> None:
        self._screening = ScreeningService(home)
        self.known: Collection[str] = ()

    @property
    def problem(self) -> str:
        """Why a text was judged by the bundled rules alone; empty while the home's own ones can be used."""
        return self._screening.problem

    def hides(self, path: str) -> bool:
        """Whether a name in *path* is a secret: a hit would print it."""
        return any(self._screening.is_secret_name(name) for name in path.split("/"))

    def document(self, path: str, text: str) -> tuple[str, tuple[str, ...]]:
        """The text of a file as it may be indexed, line by line at its place; and what the report says of the rest."""
        indexable = self._screening.indexable(path, text)
        reported = [finding for finding in indexable.findings if finding.removes_words]
        if not reported:
            return indexable.text, ()
        first, lines = reported[0], len({finding.line for finding in reported})
        places = "1 line" if lines == 1 else f"{lines} lines"
        return indexable.text, (f"{path} has {places} that the guard keeps out, the first {first.line}: {first.name}",)

    def message(self, path: str, content: str) -> str:
        """A message's words as they may be indexed; empty when the guard holds them back."""
        if content.strip() in self.known:
            return content
        indexable = self._screening.indexable(path, content)
        return "" if any(finding.held_back for finding in indexable.findings) else indexable.text

    def name(self, path: str, name: str) -> str:
        """A speaker's name as it may be indexed."""
        return self.message(path, name) if name else ""
