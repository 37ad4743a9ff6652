"""Own pairs of statements, labelled by hand with the relation of the newer one to the older one.

A *contradiction* leaves only one of both true. A *refinement* adds to the older statement. *unrelated* pairs are about
different things, however alike their wording. *duplicates* say the same. Half of the pairs is for development. The
other half was written before anything was measured and is for reporting only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["HALVES", "Half", "Label", "Pair", "pairs"]

Half = Literal["development", "heldback"]
Label = Literal["contradiction", "refinement", "unrelated", "duplicate"]
HALVES: tuple[Half, ...] = ("development", "heldback")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two statements on different days, with the prefixes of the sections that they stand in."""

    id: str
    label: Label
    lang: Literal["en", "zh"]
    older_prefix: str
    newer_prefix: str
    older: str
    newer: str


def pairs(half: Half) -> list[Pair]:
    """Return the pairs of one half, in file order."""
    text = (Path(__file__).parent / f"{half}.jsonl").read_text("utf-8")
    return [Pair(**json.loads(line)) for line in text.splitlines()]
