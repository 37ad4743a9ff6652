"""Train the chance that a reader of memory keeps an entry from judged entries, and write its weights.

    python -m bench.training.standing [--check]

The labels are our own (``bench/memory_data/standing.jsonl``): entries of fifteen weeks and chats, told with the words
that stand with them, and how many of two judges understand them alone and how many keep them. ``--check`` prints how
many of the best entries the judges keep, each chat told by the others, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distill import summary
from distill.reading.labels import ItemKind
from distill.summary.standing import standing_signs

__all__ = ["JudgedEntry", "judged_entries", "left_out_chances", "main", "train"]

_LABELS = Path(__file__).parents[1] / "memory_data" / "standing.jsonl"
_WEIGHTS = Path(summary.__file__).parent / "standing.json"
#: Strength of the pull of every weight towards 0.
_RIDGE = 30.0
_CHANCES = (0.0, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedEntry:
    """An entry with its turn and the one before it, and the shares of judges that understand it and that keep it."""

    told: str
    kind: ItemKind
    turn: str
    previous: str
    alone: float
    kept: float
    source: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.standing", description="Train on judged entries.")
    parser.add_argument("--check", action="store_true", help="report on each chat by the others, write nothing")
    rows = judged_entries()
    if parser.parse_args(arguments).check:
        _report(rows)
        return 0
    lines = (f'  "{name}": {round(weight, 3)}' for name, weight in train(rows).items())
    _WEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{len(rows)} judged entries; wrote {_WEIGHTS.name}")
    return 0


def judged_entries() -> list[JudgedEntry]:
    """Return the judged entries in file order."""
    return [JudgedEntry(**json.loads(line)) for line in _LABELS.read_text("utf-8").splitlines()]


def train(rows: Sequence[JudgedEntry], *, ridge: float = _RIDGE) -> dict[str, float]:
    """Return the weight of each sign: a logistic regression on standardised signs, for the signs as they are."""
    names, features = _features(rows)
    weights = _fit(features, np.array([_wanted(row) for row in rows]), ridge)
    return dict(zip(names, map(float, weights), strict=True))


def left_out_chances(rows: Sequence[JudgedEntry]) -> Matrix:
    """Return the chance of each entry by the entries of the other chats."""
    _, features = _features(rows)
    wanted, sources = np.array([_wanted(row) for row in rows]), np.array([row.source for row in rows])
    scores = np.zeros(len(rows))
    for source in sorted(set(sources)):
        held = sources == source
        scores[held] = features[held] @ _fit(features[~held], wanted[~held], _RIDGE)
    return np.asarray(1 / (1 + np.exp(-scores)), np.float64)


def _wanted(row: JudgedEntry) -> float:
    return row.kept


def _features(rows: Sequence[JudgedEntry]) -> tuple[list[str], Matrix]:
    signs = [standing_signs(row.told, row.kind, row.turn, row.previous) for row in rows]
    names = ["bias", *sorted(set().union(*signs) - {"bias"})]
    return names, np.array([[own.get(name, 0.0) for name in names] for own in signs])


def _fit(features: Matrix, wanted: Matrix, ridge: float) -> Matrix:
    """Return the weights by Newton's method. The first column is the bias, which nothing pulls to 0."""
    mean, spread = features[:, 1:].mean(0), features[:, 1:].std(0) + 1e-6
    rows = np.c_[np.ones(len(features)), (features[:, 1:] - mean) / spread]
    pull = np.diag([1e-3, *[ridge] * (rows.shape[1] - 1)])
    weights: Matrix = np.zeros(rows.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-rows @ weights))
        curve = (rows * (chance * (1 - chance) + 1e-6)[:, None]).T @ rows + pull
        weights = np.asarray(weights - np.linalg.solve(curve, rows.T @ (chance - wanted) + pull @ weights), np.float64)
    slopes = weights[1:] / spread
    return np.asarray([weights[0] - slopes @ mean, *slopes], np.float64)


def _report(rows: Sequence[JudgedEntry]) -> None:
    """Print for several chances the share of entries that enter, and what the judges say of them."""
    chances = left_out_chances(rows)
    kept, alone = np.array([row.kept for row in rows]), np.array([row.alone for row in rows])
    second = np.array([row.source.startswith("second") for row in rows])
    print("chance  enter  kept by judges  alone  of those kept | second: enter  kept by judges  alone  of those kept")
    for least in _CHANCES:
        parts = []
        for own in (np.ones(len(rows), bool), second):
            enters = own & (chances >= least)
            share = kept[enters].sum() / kept[own].sum()
            parts.append(f"{enters.sum():5}  {kept[enters].mean():14.2f}  {alone[enters].mean():5.2f}  {share:13.2f}")
        print(f"{least:6.2f}  " + " | ".join(parts))


if __name__ == "__main__":
    sys.exit(main())
