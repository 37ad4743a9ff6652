"""Train boosted trees on a table of features, with NumPy alone.

Every tree has the same depth, so that trees are three arrays: the feature and the threshold of each split, and the
value of each leaf. ``distill.reading.trees`` reads them. Each split is chosen among the quantiles of a random share of
the features. Each tree sees a random share of the rows, and its leaves are shrunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distill.reading.trees import Trees

__all__ = ["BoostingSettings", "boost"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostingSettings:
    """Number and *depth* of the trees, their *rate*, and what keeps them from fitting noise."""

    trees: int = 200
    depth: int = 3
    rate: float = 0.08
    ridge: float = 6.0
    least_weight: float = 4.0
    features: float = 0.2
    rows: float = 0.6
    bins: int = 24


def boost(
    inputs: Matrix, wanted: Matrix, importance: Matrix, *, seed: int, settings: BoostingSettings | None = None
) -> Trees:
    """Return trees whose sum is the log-odds that a row of *inputs* is *wanted*."""
    chosen = settings or BoostingSettings()
    rng = np.random.default_rng(seed)
    edges = [_edges(column, chosen.bins) for column in inputs.T]
    binned = np.stack([np.searchsorted(edge, column) for edge, column in zip(edges, inputs.T, strict=True)], axis=1)
    mean = float(np.average(wanted, weights=importance))
    base = float(np.log(mean / (1 - mean)))
    scores = np.full(len(inputs), base)
    nodes, leaves = 2**chosen.depth - 1, 2**chosen.depth
    features = np.zeros((chosen.trees, nodes), np.int64)
    thresholds = np.full((chosen.trees, nodes), np.inf)
    values = np.zeros((chosen.trees, leaves))
    useful = np.array([place for place, edge in enumerate(edges) if len(edge)])
    for tree in range(chosen.trees):
        chance = 1 / (1 + np.exp(-scores))
        drawn = np.flatnonzero(rng.random(len(inputs)) < chosen.rows)
        gradient = importance[drawn] * (wanted - chance)[drawn]
        hessian = importance[drawn] * (chance * (1 - chance))[drawn]
        columns = rng.choice(useful, max(1, int(chosen.features * len(useful))), replace=False)
        some = binned[np.ix_(drawn, columns)]
        place = np.zeros(len(drawn), np.int64)
        for depth in range(chosen.depth):
            first, count = 2**depth - 1, 2**depth
            splits = _best_splits(some, place, count, (gradient, hessian), chosen)
            for node, (column, level) in enumerate(splits):
                if level < chosen.bins:
                    features[tree, first + node] = columns[column]
                    thresholds[tree, first + node] = edges[columns[column]][level]
            at, levels = np.array(splits).T
            place = 2 * place + (some[np.arange(len(drawn)), at[place]] > levels[place])
        up, down = np.bincount(place, gradient, leaves), np.bincount(place, hessian, leaves)
        values[tree] = chosen.rate * up / (down + chosen.ridge)
        grown = Trees(features[tree : tree + 1], thresholds[tree : tree + 1], values[tree : tree + 1], 0.0)
        scores += grown.score(inputs)
    return Trees(features=features, thresholds=thresholds, values=values, base=base)


def _edges(column: Matrix, bins: int) -> Matrix:
    """Return the thresholds that split *column*: midpoints of its values, or of its quantiles."""
    found = np.unique(column)
    if len(found) > bins:
        found = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)))
    return np.asarray((found[1:] + found[:-1]) / 2)[: bins - 1]


def _best_splits(
    binned: NDArray[np.int32], place: NDArray[np.int64], count: int, slopes: tuple[Matrix, Matrix],
    settings: BoostingSettings,
) -> Sequence[tuple[int, int]]:  # fmt: skip
    """Return the column and the level of the best split of each node. The level is too high where no split gains."""
    columns, bins = binned.shape[1], settings.bins
    flat = ((place[:, None] * columns + np.arange(columns)) * bins + binned).ravel()
    size = count * columns * bins
    up, down = (
        np.bincount(flat, np.repeat(slope, columns), size).reshape(count, columns, bins).cumsum(axis=2)
        for slope in slopes
    )
    all_up, all_down = up[:, :, -1:], down[:, :, -1:]

    def gain(some_up: Matrix, some_down: Matrix) -> Matrix:
        return np.asarray(some_up**2 / (some_down + settings.ridge))

    gains = gain(up, down) + gain(all_up - up, all_down - down) - gain(all_up, all_down)
    light = (down < settings.least_weight) | (all_down - down < settings.least_weight)
    gains = np.where(light, -np.inf, gains)[:, :, :-1]
    best = gains.reshape(count, -1).argmax(axis=1)
    return [
        (int(at) // (bins - 1), int(at) % (bins - 1)) if gains[node].flat[at] > 0 else (0, bins)
        for node, at in enumerate(best)
    ]
