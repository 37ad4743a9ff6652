"""One ranking from the scores of several legs.

Scores, not ranks: how far the best passage is ahead of the next is what tells a sure hit from a guess, and rank fusion
throws it away. Each leg's scores are brought to 0..1 for the question at hand, multiplied by the leg's weight and
added. What a leg did not score counts 0 there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

__all__ = ["by_best", "by_range", "fuse"]

K = TypeVar("K", bound=Hashable)


def by_best(scores: Mapping[K, float]) -> dict[K, float]:
    """Scores of at least 0 divided by the largest: for BM25, whose zero means no word in common.

    >>> by_best({"a": 4.0, "b": 1.0})
    {'a': 1.0, 'b': 0.25}
    """
    best = max(scores.values(), default=0.0)
    return {key: max(score, 0.0) / best for key, score in scores.items()} if best > 0 else dict.fromkeys(scores, 0.0)


def by_range(scores: Mapping[K, float]) -> dict[K, float]:
    """Scores stretched so that the lowest is 0 and the highest 1: for cosines, whose zero means nothing.

    >>> by_range({"a": 0.5, "b": 0.25, "c": 0.0})
    {'a': 1.0, 'b': 0.5, 'c': 0.0}
    """
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high <= low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def fuse(legs: Mapping[str, Mapping[K, float]], weights: Mapping[str, float]) -> dict[K, float]:
    """Sum of the legs' scores, each times its leg's weight, for every key that any leg has.

    Raises:
        KeyError: a leg without a weight.

    >>> fuse({"words": {"a": 1.0, "b": 0.5}, "vectors": {"b": 1.0}}, {"words": 1.0, "vectors": 0.6})
    {'a': 1.0, 'b': 1.1}
    """
    total: dict[K, float] = {}
    for leg, scores in legs.items():
        weight = weights[leg]
        for key, score in scores.items():
            total[key] = total.get(key, 0.0) + weight * score
    return total
