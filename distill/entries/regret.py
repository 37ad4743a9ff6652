"""How often archiving was wrong: what left memory and was wanted again.

Read from git, in the order of its commits: an entry that moved from ``MEMORY.md`` to the archive counts once for each
time; it was wanted when it moved back, or when the ledger of references names it, in a later commit.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from agent_home.git import history
from agent_home.home import MEMORY

__all__ = ["Regret", "measure_regret"]

_LEDGER = "ledger/references-"
_FILE = re.compile(r"(?:\+\+\+ b/|--- a/)(?P<path>.*)")
_ENTRY_LINE = re.compile(r"(?P<sign>[+-])[-*+][ \t]+\*\*\[(?P<id>[A-Z]{2}-[0-9A-Z]{4})\]")
_CITED_LINE = re.compile(r'\+\{.*"id": ?"(?P<id>[A-Z]{2}-[0-9A-Z]{4})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """How many entries left memory, and how many of these were wanted again."""

    archived: int = 0
    wanted: int = 0

    @property
    def rate(self) -> float:
        """The part that was wanted; 0 when nothing was archived."""
        return round(self.wanted / self.archived, 4) if self.archived else 0.0


def measure_regret(root: Path) -> Regret:
    """The regret over the whole history of the home at *root*.

    Raises:
        HistoryError: git is absent or refused.
    """
    archived = wanted = 0
    away = set[str]()
    for patch in history.patches(root, "Archive", "ledger"):
        moved = _lines(patch)
        asked = (moved[MEMORY, "+"] & moved["Archive", "-"]) | moved[_LEDGER, "+"]
        wanted += len(away & asked)
        away -= asked
        left = moved[MEMORY, "-"] & (moved["Archive", "+"] - moved["Archive", "-"])
        archived += len(left)
        away |= left
    return Regret(archived=archived, wanted=wanted)


def _lines(patch: str) -> dict[tuple[str, str], set[str]]:
    """The ids of the lines that a patch adds and takes away, by ``(MEMORY.md, Archive or the ledger, + or -)``."""
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
