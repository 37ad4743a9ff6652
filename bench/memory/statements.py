"""Count the statements that a newer one retires, and the restatements that the grounding check accepts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn
from distill.statements.contradiction import relation

__all__ = ["RelationCounts", "RestatementCounts", "measure_grounding", "measure_relations"]


@dataclass(slots=True, kw_only=True)
class RelationCounts:
    """Counts of pairs: *gold* were replaced, *found* were called so, *right* both. *confused* counts gold and found."""

    gold: int = 0
    found: int = 0
    right: int = 0
    confused: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(slots=True, kw_only=True)
class RestatementCounts:
    """Counts of lines: *good* and those *accepted*, *altered* and those *rejected*, by kind of alteration."""

    good: int = 0
    accepted: int = 0
    altered: int = 0
    rejected: int = 0
    missed: Counter[str] = field(default_factory=Counter)


def measure_relations(path: Path) -> dict[str, RelationCounts]:
    """Relate the pairs of a file. Return counts by language."""
    found: dict[str, RelationCounts] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        kind = relation(row["older"], row["newer"]).kind
        counts = found.setdefault(row["lang"], RelationCounts())
        counts.gold += row["relation"] == "replaced"
        counts.found += kind == "replaced"
        counts.right += kind == row["relation"] == "replaced"
        counts.confused[row["relation"], kind] += 1
    return found


def measure_grounding(path: Path) -> dict[str, RestatementCounts]:
    """Check the lines of a file against their turns. Return counts by language."""
    found: dict[str, RestatementCounts] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        accepted = not objections(row["text"], [SaidTurn(**turn) for turn in row["turns"]])
        counts = found.setdefault(row["lang"], RestatementCounts())
        if row["good"]:
            counts.good += 1
            counts.accepted += accepted
        else:
            counts.altered += 1
            counts.rejected += not accepted
            counts.missed[row["kind"]] += accepted
    return found
