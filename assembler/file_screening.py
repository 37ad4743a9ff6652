"""Show the home's files to a model as the screening service lets them be shown, with lines for the receipt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_home.home import Home
from agent_home.screening.service import ScreeningService

from .receipt import EntryLine

if TYPE_CHECKING:
    from agent_home.screening.personal_text import LocatedFinding

__all__ = ["Gate", "Seen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A file's text as a model may see it, and what was taken out of it. *problem*: why own rules could not be used."""

    text: str
    lines: tuple[EntryLine, ...] = ()
    problem: str = ""


class Gate:
    """Shows files of one home as a model may see them. One for each prompt."""

    def __init__(self, home: Home) -> None:
        self._screening = ScreeningService(home)

    def seen(self, path: str, text: str) -> Seen:
        """Return the Markdown *text* of the file *path* as a model may see it."""
        shown = self._screening.shown(path, text)
        return Seen(text=shown.text, lines=_lines(shown.findings), problem=self._screening.problem)

    def remember(self) -> None:
        """Keep for the next process which texts were found clean."""
        self._screening.keep_clean()


def _lines(findings: Iterable[LocatedFinding]) -> tuple[EntryLine, ...]:
    """Return a receipt line for each place where something was taken out: an entry by its id, or file and line."""
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
