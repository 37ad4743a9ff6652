"""Boosted trees: which leaf a row falls into, and their arrays."""

from __future__ import annotations

import numpy as np

from distill.reading.trees import Trees

#: Feature 0 splits at the root, feature 1 below it. A split without a threshold sends everything to the left.
TREES = Trees(
    features=np.array([[0, 1, 1]]), thresholds=np.array([[0.5, 2.0, np.inf]]), values=np.array([[1.0, 2.0, 3.0, 4.0]]),
    base=-1.0,
)  # fmt: skip


def test_a_row_gets_the_value_of_its_leaf() -> None:
    rows = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 9.0]])
    assert TREES.score(rows).tolist() == [0.0, 1.0, 2.0]
    assert TREES.score(rows[0]).tolist() == [0.0]


def test_trees_survive_their_arrays() -> None:
    again = Trees.from_arrays(TREES.as_arrays("trees"), "trees")
    rows = np.array([[0.0, 1.0], [1.0, 3.0]])
    assert again.score(rows).tolist() == TREES.score(rows).tolist()
