"""Suggest known names that are near a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "near_names"]

_MAX_NAMES = 3


def near_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of *known*: names that begin with *name*, else names of similar spelling. Case is ignored."""
    folded = name.strip().strip("[]").casefold()
    spellings = {other.casefold(): other for other in sorted(known)}
    starts = [other for spelling, other in spellings.items() if folded and spelling.startswith(folded)]
    matches = [spellings[match] for match in difflib.get_close_matches(folded, spellings, n=_MAX_NAMES)]
    return tuple((starts or matches)[:_MAX_NAMES])


def did_you_mean(names: Iterable[str]) -> str:
    """Return the question that suggests *names*, or an empty string if there are none.

    >>> did_you_mean(["memory", "daily"]), did_you_mean([])
    ("Did you mean 'memory' or 'daily'?", '')
    """
    listed = " or ".join(map(repr, names))
    return f"Did you mean {listed}?" if listed else ""
