"""Own what the relevance of a memory means: a number from 0 to 1 that can be compared between questions.

A memory fits a question by the cosine of their vectors, and by the share of the question's words that it has, each
weighted by its rarity in the namespace. Words that only stood around the memory count less. Some memory always fits
best, also for a question that the namespace knows nothing about, and the more memories there are, the better the best
one fits. So the fit is compared with chance: relevance .6 means that of 100 such questions, 60 find no memory among so
many that fits them as well.

The curves were fitted to questions of two conversations of LoCoMo, each asked in the memories of the other one, and to
questions of CMRC about other articles. ``python -m bench.namespaces quality`` measures them on others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["AROUND_WEIGHT", "ChanceCurve", "fit", "relevance"]

#: Weight of a word that stands around a memory, where that of a word of the memory is 1.
AROUND_WEIGHT = 0.7
#: Farthest from the middle of a curve, in its widths, that makes a difference.
_FAR = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceCurve:
    """The best fit by chance. Half of all such questions find none above ``base + growth * ln(memories)``."""

    base: float
    growth: float
    width: float

    def share_below(self, fitting: float, memories: int) -> float:
        """Return the share, 0 to 1, of questions whose best fit among *memories* is below *fitting*."""
        middle = self.base + self.growth * math.log(max(1, memories))
        return 1 / (1 + math.exp(-max(-_FAR, min(_FAR, (fitting - middle) / self.width))))


_VECTORS = ChanceCurve(base=0.172, growth=0.0515, width=0.065)
_WORDS = ChanceCurve(base=0.046, growth=0.025, width=0.059)
_CHINESE_VECTORS = ChanceCurve(base=0.301, growth=0.053, width=0.066)
_CJK_WORDS = ChanceCurve(base=-0.06, growth=0.026, width=0.03)


def fit(cosine: float | None, words: float) -> float:
    """Return how well a memory fits. Without a *cosine*, the share of *words* is all. The two scales differ."""
    return words if cosine is None else cosine + words


def relevance(cosine: float | None, words: float, *, memories: int, cjk: bool) -> float:
    """Return the relevance of a memory, 0 to 1.

    The words of a Chinese question tell more than its vector, so there either may make a memory relevant.

    Args:
        cosine: of the vectors of the memory and the question, or ``None`` without one.
        words: share of the question's words that the memory has, 0 to 1, by their rarity.
        memories: number of memories that were compared.
        cjk: whether the question has Chinese, Japanese or Korean letters.

    >>> relevance(0.9, 0.8, memories=50, cjk=False) > 0.99, relevance(0.2, 0.0, memories=50, cjk=False) < 0.1
    (True, True)
    """
    by_words = (_CJK_WORDS if cjk else _WORDS).share_below(words, memories) if words else 0.0
    if cosine is None:
        return by_words
    by_both = (_CHINESE_VECTORS if cjk else _VECTORS).share_below(fit(cosine, words), memories)
    return max(by_words, by_both) if cjk else by_both
