"""Shares that the guard finds in texts of authors who knew neither its rules nor what it was trained on.

The texts stand in ``bench/guard_data/other_authors`` and are in no training. They were new when docs/guard.md first
gave their figures. A change that is made with them in view needs texts of yet another author.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from guard import Action, screen

__all__ = ["TEXTS", "instruction_rows", "secret_rows"]

TEXTS = Path(__file__).parents[1] / "guard_data" / "other_authors"

Share = Callable[[int, int], str]
_INSTRUCTIONS = ("instructions", "instructions_fresh", "instructions_fourth")
_INNOCENT = {"ordinary": "ordinary texts held back", "near": "texts near an attack held back"}
_SECRETS = {
    "prose": "told in prose",
    "codes": "codes in groups",
    "encoded": "encoded",
    "split": "split over lines or sentences",
    "developer": "developer lines with a false alarm",
    "talk": "talk about secrets with a false alarm",
}


def instruction_rows(share: Share) -> list[tuple[str, ...]]:
    """Return the shares of instructions that are stopped, in all and by language, and of other texts that are.

    A row has a share for each set of authors, in the order in which they wrote: the first two, the third, the fourth.
    """
    columns = [dict(_instruction_shares(name, share)) for name in _INSTRUCTIONS]
    return [(name, *(column.get(name, "") for column in columns)) for name in columns[0]]


def _instruction_shares(file: str, share: Share) -> list[tuple[str, str]]:
    hits: dict[str, list[bool]] = defaultdict(list)
    for row in _rows(file):
        verdict = screen(row["text"], "web", "memory")
        stopped = any(found.layer == "injection" and found.action >= Action.QUARANTINE for found in verdict.findings)
        names = ["instructions stopped", f"... {row['lang']}"] if row["label"] else [_INNOCENT[row["kind"]]]
        for name in names:
            hits[name].append(stopped)
    return _shares(hits, share)


def secret_rows(share: Share) -> list[tuple[str, str]]:
    """Return the shares of secrets of which nothing is left, by kind, and of other texts with a false alarm."""
    hits: dict[str, list[bool]] = defaultdict(list)
    for row in _rows("secrets"):
        verdict = screen(row["text"], "user", "memory")
        found = any(finding.layer == "secret" for finding in verdict.findings)
        if row["label"]:
            parts = row["secret"] if isinstance(row["secret"], list) else [row["secret"]]
            found = found and not any(part in verdict.text for part in parts)
        names = [_SECRETS[row["kind"]], *([f"... {row['lang']}"] if row["kind"] == "prose" else [])]
        for name in names:
            hits[name].append(found)
    return _shares(hits, share)


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (TEXTS / f"{name}.jsonl").read_text("utf-8").split("\n"):
        if line:
            yield json.loads(line)


def _shares(hits: dict[str, list[bool]], share: Share) -> list[tuple[str, str]]:
    """Return the rows, with those of the languages behind the first one, to which they belong."""
    first, *others = hits
    languages = sorted((name for name in others if name.startswith("...")), key=lambda name: (-len(hits[name]), name))
    names = [first, *languages, *(name for name in others if not name.startswith("..."))]
    return [(name, share(sum(hits[name]), len(hits[name]))) for name in names]
