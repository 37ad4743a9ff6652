"""What a detector reports, and how replacements are applied while every offset stays traceable.

Detectors return ``Match`` values with offsets into the text they were given. ``apply`` replaces what has to go and
returns an ``Edited`` text that maps each of its spans back to where it came from.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class Strength(IntEnum):
    """How sure a rule is that the text should not be stored as it stands."""

    NOTE = 0
    """Worth a line in the audit, nothing else."""
    CLEAN = 1
    """Taken out or replaced in place; the rest of the text is fine."""
    SOFT = 2
    """Suspicious only when a stranger wrote it."""
    HARD = 3
    """An attack, or talk about one."""
    HIDDEN = 4
    """Text that a person cannot see; waits for one, whoever wrote it."""


class Match(NamedTuple):
    """One hit of one rule in one text. ``replacement`` is None when the text itself stays.

    A tuple, because a hostile text can have tens of thousands.
    """

    layer: str
    rule: str
    kind: str
    start: int
    end: int
    strength: Strength
    replacement: str | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """A text made from another by replacements.

    ``pieces`` are ``(start here, start there, end there, kept)``, in order and without gaps; *kept* pieces were
    copied, the others replaced.
    """

    text: str
    pieces: tuple[tuple[int, int, int, bool], ...]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of this text to the smallest span of the text it was made from."""
        if not self.pieces:
            return start, end
        here, there, there_end, kept = self._piece(start)
        first = min(there + start - here, there_end) if kept else there
        here, there, there_end, kept = self._piece(max(start, end - 1))
        last = min(there + end - here, there_end) if kept else there_end
        return first, max(first, last)

    def _piece(self, position: int) -> tuple[int, int, int, bool]:
        index = bisect_right(self.pieces, position, key=lambda piece: piece[0]) - 1
        return self.pieces[max(0, index)]


def placeholder(kind: str) -> str:
    """Return the note that stands where something was taken out."""
    return f"[REDACTED:{kind}]"


def apply(text: str, matches: Iterable[Match], rank: Sequence[str]) -> Edited:
    """Replace every match that carries a replacement; overlapping ones are replaced once, as one span.

    Neighbours with the same replacement are one span as well: a row of a thousand tokens leaves one note.

    Args:
        rank: layers, most important first. Of overlapping matches the one whose layer stands first gives the
            replacement; within a layer a note wins over an empty replacement, then the earlier match.
    """
    wanted = sorted(
        (match for match in matches if match.replacement is not None and match.start < match.end),
        key=lambda match: (match.start, -match.end),
    )
    spans: list[tuple[int, int, Match]] = []
    for match in wanted:
        if spans and (
            match.start < spans[-1][1]
            or (match.start == spans[-1][1] and match.replacement == spans[-1][2].replacement)
        ):
            start, end, winner = spans[-1]
            spans[-1] = (start, max(end, match.end), min(winner, match, key=lambda item: _importance(item, rank)))
        else:
            spans.append((match.start, match.end, match))
    return _splice(text, [(start, end, winner.replacement or "") for start, end, winner in spans])


def _importance(match: Match, rank: Sequence[str]) -> tuple[bool, int]:
    return not match.replacement, rank.index(match.layer)


def _splice(text: str, edits: list[tuple[int, int, str]]) -> Edited:
    if not edits:
        return Edited(text, ())
    parts: list[str] = []
    pieces: list[tuple[int, int, int, bool]] = []
    here = there = 0
    for start, end, replacement in [*edits, (len(text), len(text), "")]:
        for part, stop, kept in ((text[there:start], start, True), (replacement, end, False)):
            if part:
                pieces.append((here, there, stop, kept))
                parts.append(part)
                here += len(part)
            there = stop
    return Edited("".join(parts), tuple(pieces))
