"""Train the direction of bare weekdays from labelled sentences, and write its weights.

    python -m bench.training.weekdays [--check]

The sentences are our own (``bench/memory_data/weekdays.jsonl``). ``--check`` prints what folds that the training did
not see say, at several chances, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distill import statements
from distill.statements.weekday_direction import DIRECTIONS, signs_of

__all__ = ["WeekdaySentence", "labelled_weekdays", "main", "train"]

_LABELS = Path(__file__).parents[1] / "memory_data" / "weekdays.jsonl"
_WEIGHTS = Path(statements.__file__).parent / "data" / "weekday_weights.json"
#: Strength of the pull towards 0 of the weight of a sign and of a word, and the number of steps.
_RIDGE, _WORD_RIDGE, _STEPS = 0.3, 1.0, 300
_FOLDS = 8
#: Words with smaller weights are left out of the file.
_LEAST_WEIGHT = 0.05
_CHANCES = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8)

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekdaySentence:
    """A sentence around a weekday and its *direction*, one of ``DIRECTIONS``."""

    before: str
    after: str
    direction: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.weekdays", description="Train on own sentences.")
    parser.add_argument("--check", action="store_true", help="report on folds, write nothing")
    rows = labelled_weekdays()
    if parser.parse_args(arguments).check:
        _report(rows)
        return 0
    trained = {sign: weights for sign, weights in train(rows).items() if abs(weights).max() >= _LEAST_WEIGHT}
    lines = (f'  "{sign}": {[round(float(weight), 2) for weight in weights]}' for sign, weights in trained.items())
    _WEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    print(f"{len(rows)} labelled sentences; wrote {_WEIGHTS.name}")
    return 0


def labelled_weekdays() -> list[WeekdaySentence]:
    """Return the labelled sentences in file order."""
    return [WeekdaySentence(**json.loads(line)) for line in _LABELS.read_text("utf-8").splitlines()]


def train(rows: Sequence[WeekdaySentence], *, steps: int = _STEPS) -> dict[str, Matrix]:
    """Return the weights of each sign for each direction: a softmax regression by accelerated gradient descent."""
    signs = sorted({sign for row in rows for sign in signs_of(row.before, row.after)})
    found = [signs_of(row.before, row.after) for row in rows]
    features = np.array([[float(sign in own) for sign in signs] for own in found])
    wanted = np.eye(3)[[DIRECTIONS.index(row.direction) for row in rows]]
    pull = np.array([_WORD_RIDGE if "word " in sign else _RIDGE for sign in signs])
    rate = 2.0 / (float(np.linalg.norm(features, 2)) ** 2 / 2 + _WORD_RIDGE)
    weights: Matrix = np.zeros((3, len(signs)))
    ahead = weights
    for step in range(steps):
        scores = features @ ahead.T
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        moved = ahead - rate * ((chances - wanted).T @ features + pull * ahead)
        ahead = moved + step / (step + 3) * (moved - weights)
        weights = moved
    return {sign: weights[:, column] for column, sign in enumerate(signs)}


def _report(rows: Sequence[WeekdaySentence]) -> None:
    """Print precision and recall of the dated weekdays of both languages at several chances."""
    order = np.random.default_rng(0).permutation(len(rows))
    scores = np.zeros((len(rows), 3))
    for fold in range(_FOLDS):
        held = set(order[fold::_FOLDS].tolist())
        weights = train([row for number, row in enumerate(rows) if number not in held])
        for number in held:
            found = signs_of(rows[number].before, rows[number].after) & weights.keys()
            sums = np.sum([weights[sign] for sign in found], axis=0)
            chances = np.exp(sums - sums.max())
            scores[number] = chances / chances.sum()
    wanted = np.array([DIRECTIONS.index(row.direction) for row in rows])
    chinese = np.array([re.search(r"[\u3400-\u9fff]", row.before + row.after) is not None for row in rows])
    for language, own in (("en", ~chinese), ("zh", chinese)):
        for chance in _CHANCES:
            dated = own & (scores[:, :2].max(1) >= chance)
            right = dated & (scores.argmax(1) == wanted)
            named = own & (wanted < 2)
            precision, recall = right.sum() / max(1, dated.sum()), right.sum() / named.sum()
            print(f"{language}, {own.sum()} sentences, chance {chance}: precision {precision:.3f}, recall {recall:.3f}")


if __name__ == "__main__":
    sys.exit(main())
