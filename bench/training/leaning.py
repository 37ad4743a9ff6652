"""Train the chance that a sentence leans on its conversation from labelled sentences, and write its weights.

    python -m bench.training.leaning [--check]

The labels are our own (``bench/memory_data/leaning.jsonl``): sentences of the reader's training data, and the entries
of three weeks of chats that two judges read without their conversations. ``--check`` prints how well each source is
told by the others, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distill import summary
from distill.summary.leaning import BUCKETS, SHAPES, leaning_row

__all__ = ["LeaningSentence", "feature_matrix", "labelled_sentences", "main", "train"]

_LABELS = Path(__file__).parents[1] / "memory_data" / "leaning.jsonl"
_WEIGHTS = Path(summary.__file__).parent / "leaning.npz"
#: Strength of the pull of every weight towards 0.
_RIDGE = 3.0
_FOLDS = 5

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaningSentence:
    """A sentence with the turn before it, and how many of its judges (0 to 1) do not understand it alone."""

    text: str
    previous: str
    leans: float
    source: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write, or report with ``--check``."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.training.leaning", description="Train on labelled sentences."
    )
    parser.add_argument("--check", action="store_true", help="report on each source by the others, write nothing")
    options = parser.parse_args(arguments)
    rows = labelled_sentences()
    if options.check:
        _report(rows)
        return 0
    weights = train(feature_matrix(rows), np.array([row.leans for row in rows]))
    scale = float(np.abs(weights).max()) / 127
    np.savez_compressed(_WEIGHTS, weights=np.round(weights / scale).astype(np.int8), scale=np.float32(scale))
    print(f"{len(rows)} labelled sentences; wrote {_WEIGHTS.name}")
    return 0


def labelled_sentences() -> list[LeaningSentence]:
    """Return the labelled sentences in file order."""
    return [LeaningSentence(**json.loads(line)) for line in _LABELS.read_text("utf-8").splitlines()]


def train(features: NDArray[np.floating[Any]], wanted: Matrix, *, ridge: float = _RIDGE) -> Matrix:
    """Return the weights of a logistic regression, by Newton's method on the products of the rows.

    There are more features than rows, so the rows are the smaller side.
    """
    products = features @ features.T
    scores: Matrix = np.zeros(len(features))
    parts: Matrix = scores
    for _ in range(30):
        chance = 1 / (1 + np.exp(-scores))
        spread = np.maximum(chance * (1 - chance), 1e-6)
        target = scores + (wanted - chance) / spread
        parts = np.asarray(np.linalg.solve(products + ridge * np.diag(1 / spread), target), np.float64)
        moved = products @ parts
        if np.abs(moved - scores).max() < 1e-6:
            break
        scores = np.asarray(moved, np.float64)
    weights: Matrix = np.asarray(features.T @ parts, np.float64)
    return weights


def feature_matrix(rows: Sequence[LeaningSentence]) -> Matrix:
    """Return a row of features for each sentence."""
    features = np.zeros((len(rows), len(SHAPES) + BUCKETS))
    for number, row in enumerate(rows):
        columns, values = leaning_row(row.text, row.previous)
        np.add.at(features[number], columns, values)
    return features


def _report(rows: Sequence[LeaningSentence]) -> None:
    """Print the area under the curve of every source. A large source is read by the rest of itself as well."""
    features, wanted = feature_matrix(rows), np.array([row.leans for row in rows])
    sources = np.array([row.source for row in rows])
    folds = np.arange(len(rows)) % _FOLDS
    for source in sorted(set(sources)):
        scores = np.zeros(len(rows))
        large = source.startswith("sentences")
        for fold in range(_FOLDS) if large else (0,):
            held = (sources == source) & ((folds == fold) | (not large))
            weights = train(features[~held], wanted[~held])
            scores[held] = features[held] @ weights
        own = sources == source
        print(f"{source}: {own.sum()} sentences, area {_area(wanted[own], scores[own]):.3f}")


def _area(wanted: Matrix, scores: Matrix) -> float:
    """Return the chance that a leaning sentence scores above another one."""
    leaning, other = scores[wanted > 0.5], scores[wanted <= 0.5]
    return float((leaning[:, None] > other[None, :]).mean()) if len(leaning) and len(other) else float("nan")


if __name__ == "__main__":
    sys.exit(main())
