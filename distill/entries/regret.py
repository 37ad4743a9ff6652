"""Regret rate of archiving: the share of archived entries that were restored or cited later.

The moves are read from git, in the order of its commits. An entry counts once for each move from ``MEMORY.md`` to the
archive. It counts as wanted again when a later commit moves it back or cites it in the ledger of references.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from agent_home.git import history
from agent_home.home import MEMORY
from guard.lazy_regex import lazy_regex

__all__ = ["Regret", "measure_regret"]

_LEDGER = "ledger/references-"
_FILE = lazy_regex(r"(?:\+\+\+ b/|--- a/)(?P<path>.*)")
_ENTRY_LINE = lazy_regex(r"(?P<sign>[+-])[-*+][ \t]+\*\*\[(?P<id>[A-Z]{2}-[0-9A-Z]{4})\]")
_CITED_LINE = lazy_regex(r'\+\{.*"id": ?"(?P<id>[A-Z]{2}-[0-9A-Z]{4})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """Counts of entries that left memory and of those that were *wanted* again."""

    archived: int = 0
    wanted: int = 0

    @property
    def rate(self) -> float:
        """The share that was wanted again, 0 when nothing was archived."""
        return round(self.wanted / self.archived, 4) if self.archived else 0.0


def measure_regret(root: Path) -> Regret:
    """Measure the regret over the whole history of the home at *root*.

    Raises:
        HistoryError: git is absent or refused.
    """
    archived = wanted = 0
    away = set[str]()
    for patch in history.patches(root, "Archive", "ledger"):
        changed = _changed_ids(patch)
        missed = (changed[MEMORY, "+"] & changed["Archive", "-"]) | changed[_LEDGER, "+"]
        wanted += len(away & missed)
        away -= missed
        moved = changed[MEMORY, "-"] & (changed["Archive", "+"] - changed["Archive", "-"])
        archived += len(moved)
        away |= moved
    return Regret(archived=archived, wanted=wanted)


def _changed_ids(patch: str) -> dict[tuple[str, str], set[str]]:
    """Collect the entry ids of a patch by ``(MEMORY.md, Archive or the ledger; + or -)``."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    place = ""
    for line in patch.split("\n"):
        if file := _FILE.match(line):
            path = file["path"]
            place = path if path == MEMORY or path.startswith(_LEDGER) else path.partition("/")[0]
        elif place.startswith(_LEDGER):
            if match := _CITED_LINE.match(line):
                found[_LEDGER, "+"].add(match["id"])
        elif match := _ENTRY_LINE.match(line):
            found[place, match["sign"]].add(match["id"])
    return found
