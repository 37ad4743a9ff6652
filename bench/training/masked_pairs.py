"""Train the linear model of masked pairs, ``distill.reading.masked_pairs``, with NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from distill.reading.masked_pairs import BUCKETS, MaskedPairModel

__all__ = ["fit_masked"]

#: Strength of the pull of every weight towards 0, and the steps of the descent.
_RIDGE, _STEPS = 0.5, 120

Matrix = NDArray[np.float64]
_Product = Callable[[Matrix], Matrix]


def fit_masked(
    buckets: Sequence[NDArray[np.int64]], parts: Matrix | None, wanted: Matrix, importance: Matrix
) -> MaskedPairModel:
    """Fit a logistic regression on the hashed n-grams of pairs, and on the *parts* of their vectors if there are any.

    The descent is Nesterov's. Its step fits the largest curvature, which a few products find.
    """
    grams = _Grams(buckets)
    dense = parts if parts is not None else np.zeros((len(buckets), 0))

    def scores(weights: Matrix) -> Matrix:
        return np.asarray(grams.times(weights[:BUCKETS]) + dense @ weights[BUCKETS:-1] + weights[-1])

    def slope(residual: Matrix) -> Matrix:
        return np.concatenate([grams.transposed(residual), dense.T @ residual, [residual.sum()]])

    pull = np.full(BUCKETS + dense.shape[1] + 1, _RIDGE)
    pull[-1] = 1e-3
    step = 1 / (0.25 * _largest(scores, slope, importance, len(pull)) + _RIDGE)
    weights = ahead = np.zeros(len(pull))
    for turn in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(scores(ahead), -30, 30)))
        following = ahead - step * (slope(importance * (chance - wanted)) + pull * ahead)
        ahead = following + turn / (turn + 3) * (following - weights)
        weights = following
    return MaskedPairModel(grams=weights[:BUCKETS], dense=weights[BUCKETS:-1], bias=float(weights[-1]))


class _Grams:
    """Rows of hashed n-grams. Those of one row share one unit of weight."""

    def __init__(self, buckets: Sequence[NDArray[np.int64]]) -> None:
        sizes = np.array([len(row) for row in buckets])
        self._buckets = np.concatenate(buckets)
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._owners = np.repeat(np.arange(len(sizes)), sizes)
        self._shares = 1 / np.sqrt(sizes)

    def times(self, weights: Matrix) -> Matrix:
        return np.asarray(np.add.reduceat(weights[self._buckets], self._starts) * self._shares)

    def transposed(self, residual: Matrix) -> Matrix:
        return np.asarray(np.bincount(self._buckets, (residual * self._shares)[self._owners], BUCKETS), np.float64)


def _largest(scores: _Product, slope: _Product, importance: Matrix, size: int) -> float:
    """Return the largest curvature, by power iteration."""
    direction = np.ones(size) / np.sqrt(size)
    length = 1.0
    for _ in range(12):
        found = slope(importance * scores(direction))
        length = float(np.linalg.norm(found))
        direction = found / max(length, 1e-12)
    return 1.1 * length
