"""Own the screening of a home's files for a prompt, and the receipt's lines about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_home.home import Home
from agent_home.screening.service import ScreeningService

from .receipt import EntryLine

if TYPE_CHECKING:
    from agent_home.screening.personal_text import LocatedFinding

__all__ = ["BlockedText", "FileScreening"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedText:
    """A file's text as a model may see it, with the receipt's *lines* about parts that were taken out.

    *problem* is the reason why the home's own rules could not be used.
    """

    text: str
    lines: tuple[EntryLine, ...] = ()
    problem: str = ""


class FileScreening:
    """Screening of one home's files for one prompt."""

    def __init__(self, home: Home) -> None:
        self._screening = ScreeningService(home)

    def screened(self, path: str, text: str) -> BlockedText:
        """Return the Markdown *text* of the file *path* as a model may see it."""
        shown = self._screening.shown(path, text)
        return BlockedText(text=shown.text, lines=_lines(shown.findings), problem=self._screening.problem)

    def held_name(self, path: str) -> str:
        """Return what keeps the name of *path* out of prompts, or an empty text."""
        return next((finding.name for finding in self._screening.findings_in_name(path)), "")

    def remember(self) -> None:
        """Record the clean texts for the next process."""
        self._screening.keep_clean()


def _lines(findings: Iterable[LocatedFinding]) -> tuple[EntryLine, ...]:
    """Return a receipt line for each place with findings: an entry by its id, or a file and line."""
    places: dict[str, list[LocatedFinding]] = {}
    for finding in findings:
        places.setdefault(finding.where, []).append(finding)
    return tuple(
        EntryLine(
            id=where,
            action="blocked" if any(finding.fails for finding in group) else "redacted",
            reason=", ".join(dict.fromkeys(finding.name for finding in group)),
            tokens=0,
        )
        for where, group in places.items()
    )
