"""Boosted trees of equal depth, whose sum is the log-odds of an answer. ``bench.training.boosting`` trains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Trees"]


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees by row: the *features* and *thresholds* of their splits from the root on, and the *values* of their leaves.

    A value above the threshold goes to the right. *base* is the log-odds without any tree.
    """

    features: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    values: NDArray[np.float64]
    base: float

    @classmethod
    def from_arrays(cls, stored: Mapping[str, NDArray[np.generic]], name: str) -> Trees:
        """Read the trees *name* from the arrays of a file."""
        return cls(
            features=np.asarray(stored[f"{name}_features"], np.int64),
            thresholds=np.asarray(stored[f"{name}_thresholds"], np.float64),
            values=np.asarray(stored[f"{name}_values"], np.float64),
            base=float(stored[f"{name}_base"].astype(np.float64)),
        )

    def as_arrays(self, name: str) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of a file."""
        return {
            f"{name}_features": self.features.astype(np.uint8),
            f"{name}_thresholds": self.thresholds.astype(np.float32),
            f"{name}_values": self.values.astype(np.float16),
            f"{name}_base": np.asarray(self.base, np.float32),
        }

    def score(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of each row of *inputs*."""
        rows = np.atleast_2d(inputs)
        trees = np.arange(len(self.features))
        leaf = np.zeros((len(rows), len(trees)), np.int64)
        first = 0
        while first < self.features.shape[1]:
            split = first + leaf
            right = rows[np.arange(len(rows))[:, None], self.features[trees, split]] > self.thresholds[trees, split]
            leaf = 2 * leaf + right
            first = 2 * first + 1
        result: NDArray[np.float64] = self.base + self.values[trees, leaf].sum(axis=1)
        return result
