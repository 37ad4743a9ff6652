"""What a detector reports, and how replacements are applied while every offset stays traceable.

Detectors return ``Match`` values with offsets into the text they were given. ``apply`` replaces what has to go and
returns an ``Edited`` text that maps each of its spans back to where it came from.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
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


@dataclass(frozen=True)
class Edited:
    """A text made from another by replacements.

    ``edits`` are ``(start there, end there, replacement)``, in order and apart from each other; ``before`` is the
    length of the text it was made from.
    """

    text: str
    edits: tuple[tuple[int, int, str], ...]
    before: int

    @cached_property
    def _pieces(self) -> list[tuple[int, int, int, bool]]:
        """``(start here, start there, end there, kept)`` without gaps; *kept* pieces were copied, others replaced."""
        pieces: list[tuple[int, int, int, bool]] = []
        here = there = 0
        for start, end, replacement in [*self.edits, (self.before, self.before, "")]:
            if start > there:
                pieces.append((here, there, start, True))
                here += start - there
            if replacement:
                pieces.append((here, start, end, False))
                here += len(replacement)
            there = end
        return pieces

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of this text to the smallest span of the text it was made from."""
        if not self.edits or not self.text:
            return start, end
        here, there, there_end, kept = self._piece(start)
        first = min(there + start - here, there_end) if kept else there
        here, there, there_end, kept = self._piece(max(start, end - 1))
        last = min(there + end - here, there_end) if kept else there_end
        return first, max(first, last)

    def _piece(self, position: int) -> tuple[int, int, int, bool]:
        index = bisect_right(self._pieces, position, key=lambda piece: piece[0]) - 1
        return self._pieces[max(0, index)]


def placeholder(kind: str) -> str:
    """Return the note that stands where something was taken out."""
    return f"[REDACTED:{kind}]"


_FLOOD = 1_000
"""Matches from which on neighbouring ones are gathered."""

_STRETCH = 512
"""Characters that gathered matches may span."""


def gathered(text: str, matches: Iterable[Match]) -> list[Match]:
    """Return *matches* of one detector, in order; of a flood, neighbours alike as one whose replacement keeps the rest.

    A text of nothing but stray characters stays cheap so. Only matches that carry a replacement are gathered.
    """
    found = list(matches)
    if len(found) < _FLOOD:
        return found
    result: list[Match] = []
    row: list[Match] = []
    for match in sorted(found, key=lambda match: match.start):
        alike = row and (match.rule, match.strength) == (row[0].rule, row[0].strength)
        apart = row and row[-1].end <= match.start and match.end - row[0].start <= _STRETCH
        if not (alike and apart and match.replacement is not None):
            result += _one(text, row)
            row = []
        row.append(match)
    return result + _one(text, row)


def _one(text: str, row: list[Match]) -> list[Match]:
    if len(row) < 2:
        return row
    edits = [(match.start, match.end, match.replacement or "") for match in row]
    start, end = row[0].start, row[-1].end
    kept = _splice(text[start:end], [(first - start, last - start, note) for first, last, note in edits]).text
    return [row[0]._replace(end=end, replacement=kept)]


def apply(text: str, matches: Iterable[Match], rank: Sequence[str]) -> Edited:
    """Replace every match that carries a replacement; overlapping ones are replaced once, as one span.

    Neighbours with the same replacement are one span as well: a row of a thousand tokens leaves one note.

    Args:
        rank: layers, most important first. Of overlapping matches the one whose layer stands first gives the
            replacement; within a layer a note wins over an empty replacement, then the earlier match.
    """
    wanted = [match for match in matches if match.replacement is not None and match.start < match.end]
    wanted.sort(key=lambda match: (match.start, -match.end))
    edits: list[tuple[int, int, str]] = []
    winner: Match | None = None
    for match in wanted:
        replacement = match.replacement or ""
        if edits and winner is not None:
            start, end, standing = edits[-1]
            if match.start < end:
                winner = min(winner, match, key=lambda item: _importance(item, rank))
                edits[-1] = (start, max(end, match.end), winner.replacement or "")
                continue
            if match.start == end and replacement == standing:
                edits[-1] = (start, match.end, standing)
                continue
        winner = match
        edits.append((match.start, match.end, replacement))
    return _splice(text, edits)


def _importance(match: Match, rank: Sequence[str]) -> tuple[bool, int]:
    return not match.replacement, rank.index(match.layer)


def _splice(text: str, edits: list[tuple[int, int, str]]) -> Edited:
    parts: list[str] = []
    there = 0
    for start, end, replacement in edits:
        parts += (text[there:start], replacement)
        there = end
    return Edited("".join([*parts, text[there:]]), tuple(edits), len(text))
