"""Matches of detectors: the value that every detector returns, with offsets into the text that it searched."""

from enum import IntEnum
from typing import NamedTuple

__all__ = ["Match", "Strength"]


class Strength(IntEnum):
    """Certainty of a rule that the text should not be stored unchanged."""

    NOTE = 0
    """Recorded in the audit. The text passes."""
    CLEAN = 1
    """Removed or replaced in place. The rest of the text passes."""
    SOFT = 2
    """Suspicious only in text from a tool or the web."""
    HARD = 3
    """An attack, or text about one."""
    HIDDEN = 4
    """Text that a person cannot see. It waits for review from every source."""


class Match(NamedTuple):
    """One match of one rule in one text. ``replacement`` is None when the text itself stays.

    It is a tuple, because a hostile text can have tens of thousands of matches.
    """

    layer: str
    rule: str
    kind: str
    start: int
    end: int
    strength: Strength
    replacement: str | None = None
    quoted: bool = False
