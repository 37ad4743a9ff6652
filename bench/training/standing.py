"""Train what a reader of memory says of an entry from judged entries, and write the weights.

    python -m bench.training.standing [--check]

The labels are our own (``bench/memory_data/standing.jsonl``): entries of weeks and chats, told with the words that
stand with them, and how many of the judges understand them alone, keep them, and find them in the right section. A few
are labelled sentences that say a thing plainly, which chats have too few of. ``--check`` prints how well each answer is
told and how many of the best entries the judges keep, each chat told by the others, and writes nothing.
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
from distill.summary.standing import Question, standing_signs

__all__ = ["JudgedEntry", "judged_entries", "left_out_chances", "main", "train"]

_LABELS = Path(__file__).parents[1] / "memory_data" / "standing.jsonl"
_WEIGHTS = Path(summary.__file__).parent / "standing.json"
#: Strength of the pull of every weight towards 0.
_RIDGE = 10.0
_QUESTIONS: tuple[Question, ...] = ("alone", "kept", "section")
#: A share of judges, or a chance, above which the answer is yes.
_HALF = 0.5
_CHANCES = (0.0, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedEntry:
    """An entry with its turn and the one before it, and the shares of judges that answer each question with yes.

    *kept*: it is true, understood alone, worth keeping and told of the right person. *section*: its section is right.
    """

    told: str
    kind: ItemKind
    turn: str
    previous: str
    alone: float
    kept: float
    section: float
    source: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.standing", description="Train on judged entries.")
    parser.add_argument("--check", action="store_true", help="report on each chat by the others, write nothing")
    rows = judged_entries()
    if parser.parse_args(arguments).check:
        _report(rows)
        return 0
    weights = {
        question: {name: round(weight, 3) for name, weight in train(rows, question).items()} for question in _QUESTIONS
    }
    _WEIGHTS.write_text(json.dumps(weights, indent=1) + "\n", "utf-8")
    print(f"{len(rows)} judged entries; wrote {_WEIGHTS.name}")
    return 0


def judged_entries() -> list[JudgedEntry]:
    """Return the judged entries in file order."""
    return [JudgedEntry(**json.loads(line)) for line in _LABELS.read_text("utf-8").splitlines()]


def train(rows: Sequence[JudgedEntry], question: Question, *, ridge: float = _RIDGE) -> dict[str, float]:
    """Return the weight of each sign: a logistic regression on standardised signs, for the signs as they are."""
    names, features = _features(rows)
    weights = _fit(features, _wanted(rows, question), ridge)
    return dict(zip(names, map(float, weights), strict=True))


def left_out_chances(rows: Sequence[JudgedEntry], question: Question = "kept") -> Matrix:
    """Return the chance of each entry by the entries of the other chats."""
    _, features = _features(rows)
    wanted, sources = _wanted(rows, question), np.array([row.source for row in rows])
    scores = np.zeros(len(rows))
    for source in sorted(set(sources)):
        held = sources == source
        scores[held] = features[held] @ _fit(features[~held], wanted[~held], _RIDGE)
    return np.asarray(1 / (1 + np.exp(-scores)), np.float64)


def _wanted(rows: Sequence[JudgedEntry], question: Question) -> Matrix:
    return np.array([getattr(row, question) for row in rows])


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
    """Print the area under the curve of each question, and what the judges say of the entries above several chances."""
    judged = np.array([not row.source.startswith("sentence") for row in rows])
    newest = np.array([row.source.startswith("fourth") for row in rows])
    for question in _QUESTIONS:
        chances, wanted = left_out_chances(rows, question), _wanted(rows, question) > _HALF
        areas = [_area(wanted[own], chances[own]) for own in (judged, newest)]
        print(f"{question}: area {areas[0]:.3f}, newest chats {areas[1]:.3f}")
    chances, kept, section = left_out_chances(rows), _wanted(rows, "kept"), _wanted(rows, "section")
    right = np.where(left_out_chances(rows, "section") < _HALF, kept, kept * section)
    print("chance  enter  kept  of those kept | newest: enter  kept  of those kept (a moved entry counts as right)")
    for least in _CHANCES:
        parts = []
        for own in (judged, newest):
            enters = own & (chances >= least)
            parts.append(f"{enters.sum():5}  {right[enters].mean():.2f}  {right[enters].sum() / right[own].sum():.2f}")
        print(f"{least:6.2f}  " + " | ".join(parts))


def _area(wanted: NDArray[np.bool_], chances: Matrix) -> float:
    """Return how often an entry with the answer yes has the greater chance than one with no."""
    yes, no = chances[wanted], chances[~wanted]
    return float((yes[:, None] > no[None]).mean())


if __name__ == "__main__":
    sys.exit(main())
