"""The score of FTS5's ``bm25()``, for indexes and tables that compute it themselves."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["rarity", "saturated"]

#: Constants of FTS5: saturation of a word's occurrences, share of the length, least rarity.
_K1, _B, _LEAST_IDF = 1.2, 0.75, 1e-6


def rarity(count: int, having: int) -> float:
    """Return the weight of a word that *having* of *count* rows have."""
    found = math.log((count - having + 0.5) / (having + 0.5))
    return found if found > 0 else _LEAST_IDF


def saturated(times: npt.NDArray[np.float64], sizes: npt.NDArray[np.int64], average: float) -> npt.NDArray[np.float64]:
    """Return the share of its weight that a word has which stands *times* in rows of *sizes* words."""
    return np.asarray((times * (_K1 + 1.0)) / (times + _K1 * (1 - _B + _B * sizes / average)))
