"""Boosted trees learn what no linear model can."""

from __future__ import annotations

import numpy as np

from bench.training.boosting import BoostingSettings, boost


def test_trees_learn_an_exclusive_or() -> None:
    rng = np.random.default_rng(1)
    inputs = rng.random((400, 2))
    wanted = ((inputs[:, 0] > 0.5) != (inputs[:, 1] > 0.5)).astype(float)
    settings = BoostingSettings(trees=60, features=1.0, rate=0.3)
    trees = boost(inputs[:300], wanted[:300], np.ones(300), seed=1, settings=settings)
    assert ((trees.score(inputs[300:]) > 0) == (wanted[300:] > 0)).mean() > 0.85


def test_a_row_without_importance_teaches_nothing() -> None:
    inputs = np.array([[0.0], [1.0]] * 40)
    wanted = np.array([0.0, 1.0] * 20 + [1.0, 0.0] * 20)
    importance = np.repeat([1.0, 0.0], 40)
    settings = BoostingSettings(trees=20, features=1.0, least_weight=1.0)
    low, high = boost(inputs, wanted, importance, seed=1, settings=settings).score(np.array([[0.0], [1.0]]))
    assert low < 0 < high
