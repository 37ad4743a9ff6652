"""Estimate percentile bootstrap intervals of means over questions.

Questions are drawn with replacement. Questions of one conversation are treated as independent, so intervals are rather
too narrow than too wide. One :class:`Bootstrap` draws once and judges everything on the same draws. A difference of two
systems is judged question by question (paired).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["RESAMPLES", "SEED", "Bootstrap", "Interval"]

RESAMPLES = 2000
SEED = 1
_LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean and the interval that holds 95 % of the means of the draws."""

    mean: float
    low: float
    high: float

    @property
    def apart(self) -> bool:
        """True when the interval excludes 0."""
        return self.low > 0 or self.high < 0


class Bootstrap:
    """Draws of *n* questions, the same for every system that is judged with it."""

    def __init__(self, n: int, *, resamples: int = RESAMPLES, seed: int = SEED) -> None:
        if n < 1:
            raise ValueError(f"n is {n}, wanted at least one question")
        drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
        self._shares: NDArray[np.float64] = drawn / n

    def interval(self, values: Sequence[float]) -> Interval:
        """Return the mean of *values*, one for each question, with its interval."""
        given = np.asarray(values, np.float64)
        if given.shape != (self._shares.shape[1],):
            raise ValueError(f"{len(given)} values, wanted one for each of {self._shares.shape[1]} questions")
        tail = 100 * (1 - _LEVEL) / 2
        low, high = np.percentile(self._shares @ given, [tail, 100 - tail])
        return Interval(mean=float(given.mean()), low=float(low), high=float(high))

    def difference(self, ours: Sequence[float], theirs: Sequence[float]) -> Interval:
        """Return the mean of *ours* minus that of *theirs*, paired by question."""
        return self.interval(np.subtract(ours, theirs).tolist())
