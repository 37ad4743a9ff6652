"""Train the chance that a statement holds for years from labelled sentences, and write its weights.

    python -m bench.training.lasting [--check]

The sentences are our own (``bench/memory_data/lasting.jsonl``). ``--check`` prints what folds that the training did not
see say of the sentences that were written before the signs, and writes nothing.
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

from distill import entries
from distill.entries.lasting import lasting_signs

from .leaning import train as train_logistic

__all__ = ["LastingSentence", "labelled_statements", "main", "train"]

_LABELS = Path(__file__).parents[1] / "memory_data" / "lasting.jsonl"
_WEIGHTS = Path(entries.__file__).parent / "lasting_weights.json"
#: Strength of the pull of every weight towards 0.
_RIDGE = 1.0
_FOLDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingSentence:
    """A statement and whether it is *lasting*. Only *measured* ones were written before the signs."""

    text: str
    lasting: bool
    measured: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.lasting", description="Train on own sentences.")
    parser.add_argument("--check", action="store_true", help="report on folds, write nothing")
    rows = labelled_statements()
    if parser.parse_args(arguments).check:
        _report(rows)
        return 0
    weights = {sign: round(weight, 3) for sign, weight in train(rows).items()}
    _WEIGHTS.write_text(json.dumps(weights, indent=2) + "\n", "utf-8")
    print(f"{len(rows)} labelled statements; wrote {_WEIGHTS.name}")
    return 0


def labelled_statements() -> list[LastingSentence]:
    """Return the labelled statements in file order."""
    return [LastingSentence(**json.loads(line)) for line in _LABELS.read_text("utf-8").splitlines()]


def train(rows: Sequence[LastingSentence]) -> dict[str, float]:
    """Return the weight of each sign: a logistic regression."""
    found = [lasting_signs(row.text) for row in rows]
    signs = sorted(set().union(*found))
    features = np.array([[float(sign in own) for sign in signs] for own in found])
    weights = train_logistic(features, np.array([float(row.lasting) for row in rows]), ridge=_RIDGE)
    return {sign: float(weight) for sign, weight in zip(signs, weights, strict=True)}


def _report(rows: Sequence[LastingSentence]) -> None:
    """Print accuracy, precision and recall of the measured statements of both languages."""
    order = np.random.default_rng(1).permutation(len(rows))
    scores = np.zeros(len(rows))
    for fold in range(_FOLDS):
        held = set(order[fold::_FOLDS].tolist())
        weights = train([row for number, row in enumerate(rows) if number not in held])
        for number in held:
            scores[number] = sum(weights.get(sign, 0.0) for sign in lasting_signs(rows[number].text))
    wanted = np.array([row.lasting for row in rows])
    measured = np.array([row.measured for row in rows])
    chinese = np.array([re.search(r"[\u3400-\u9fff]", row.text) is not None for row in rows])
    for language, of_language in (("en", ~chinese), ("zh", chinese)):
        for chance in (0.4, 0.45, 0.5, 0.6):
            own = measured & of_language
            kept = own & (scores >= np.log(chance / (1 - chance)))
            accuracy = (kept == wanted)[own].mean()
            precision, recall = wanted[kept].mean(), kept[own & wanted].mean()
            print(
                f"{language}, chance {chance}: accuracy {accuracy:.2f}, precision {precision:.2f}, recall {recall:.2f}"
            )


if __name__ == "__main__":
    sys.exit(main())
