"""Own the floor of relevance: whether the best passages of a search fit its query better than chance.

A search always finds something. "Yes" stands in many turns, and some vector is always the nearest. Two numbers tell a
question from such a message: the information that the words of the best passage share with the query, and the cosine
of the nearest vector. The constants were chosen on LoCoMo and RealMem, where messages of other homes were the chance
(``docs/recall.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["MatchStrength", "is_relevant"]

#: Least cosine of the nearest vector, plus the weight of the shared information.
_FLOOR, _INFORMATION_WEIGHT = 0.48, 0.056
#: Least shared information where no vector tells: without a model, and in scripts that the model does not read. Their
#: words are short, and parts of them are words as well, so more is shared by chance.
_WORDS_FLOOR, _CJK_FLOOR = 3.0, 4.8
#: Passages of an index in which words are rare enough to tell by themselves. A smaller one has a floor of its own for
#: vectors, and none for words.
_LEAST_PASSAGES, _SMALL_FLOOR = 100, 0.42


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchStrength:
    """Signs that the best passages answer the query.

    *information* is the rarity of the query's words that the best of them has, in nats. *cosine* is that of the nearest
    vector, or ``None`` where no vector counts. *passages* is the size of the index. *cjk* says that the query has
    Chinese, Japanese or Korean letters, and *dated* that it names a day, which no word needs to repeat.
    """

    information: float
    cosine: float | None
    passages: int
    cjk: bool = False
    dated: bool = False


def is_relevant(strength: MatchStrength) -> bool:
    """Return whether the best passages fit the query better than those of a message about something else would.

    >>> is_relevant(MatchStrength(information=2.0, cosine=0.25, passages=1000))
    False
    >>> is_relevant(MatchStrength(information=7.0, cosine=0.5, passages=1000))
    True
    """
    small = strength.passages < _LEAST_PASSAGES
    if strength.dated or (small and strength.cosine is None):
        return True
    if strength.cosine is None:
        return strength.information >= (_CJK_FLOOR if strength.cjk else _WORDS_FLOOR)
    fit = strength.cosine + _INFORMATION_WEIGHT * math.log1p(strength.information)
    return fit >= (_SMALL_FLOOR if small else _FLOOR)
