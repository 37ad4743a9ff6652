"""The words of a pair with what both sentences share masked, and a linear model over them.

"The visa is in my passport" beside "get a visa" becomes "the § is in my passport", so that the model learns how people
say that something is done, dropped, taken back or changed, whatever it is about. Numbers show whether the other
sentence has them. The model reads hashed n-grams of both masked sentences and, where there are vectors, the newer
sentence's vector and its difference from the older one's. ``bench.training.endings`` trains it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from guard.lazy_regex import lazy_regex

from ..statements.sentences import narrowed
from .pair_terms import HAN_CHARACTER, MAX_CHARS, statement_terms, term_of

__all__ = ["BUCKETS", "MaskedPairModel", "hashed_grams", "masked", "vector_part"]

#: Number of hash buckets. A power of two.
BUCKETS = 1 << 14
#: Factors of the vector of the newer sentence, and of its difference from the older one's.
_NEWER, _DIFFERENCE = 0.7, 0.5
_TOKEN = lazy_regex(r"[a-z]+(?:['’][a-z]+)?|\d+(?:[.,:]\d+)*|[\u3400-\u9fff]|[!?.,;:。、]", re.IGNORECASE)
_SUBJECT = lazy_regex(r"^(?:the user(?:['’]s)? |用户的?)", re.IGNORECASE)
_SELF, _ENDS = frozenset({"I", "I'", "I’"}), frozenset(".!?。")
_SHARED, _NAME, _NUMBER, _SAME_NUMBER = "\u00a7", "N", "#", "#="

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MaskedPairModel:
    """Weights of the hashed n-grams, and of the coordinates of :func:`vector_part` where it reads vectors."""

    grams: Matrix
    dense: Matrix
    bias: float

    @classmethod
    def from_arrays(cls, stored: Mapping[str, NDArray[np.generic]], name: str) -> MaskedPairModel:
        """Read the model *name* from the arrays of a file."""
        scale = stored[f"{name}_scale"].astype(np.float64)
        return cls(
            grams=np.asarray(stored[f"{name}_grams"], np.float64) * scale,
            dense=np.asarray(stored[f"{name}_dense"], np.float64),
            bias=float(stored[f"{name}_bias"].astype(np.float64)),
        )

    def as_arrays(self, name: str) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of a file, the weights of n-grams in one byte each."""
        scale = max(float(np.abs(self.grams).max()), 1e-9) / 127
        return {
            f"{name}_grams": np.round(self.grams / scale).astype(np.int8),
            f"{name}_scale": np.asarray(scale, np.float32),
            f"{name}_dense": self.dense.astype(np.float16),
            f"{name}_bias": np.asarray(self.bias, np.float32),
        }

    def score(self, buckets: NDArray[np.int64], part: Matrix | None = None) -> float:
        """Return the log-odds that the newer sentence ends the older one, by the *buckets* of the pair."""
        score = self.grams[buckets].sum() / len(buckets) ** 0.5 + self.bias
        return float(score if part is None else score + part @ self.dense)


def vector_part(older: NDArray[np.floating], newer: NDArray[np.floating]) -> Matrix:
    """Return what the model reads of the two unit vectors."""
    return np.concatenate([_NEWER * newer, _DIFFERENCE * (newer - older)]).astype(np.float64)


@lru_cache(maxsize=256)
def hashed_grams(older: str, newer: str, role: str) -> NDArray[np.int64]:
    """Return the buckets of the n-grams of a pair, never none."""
    told = _SUBJECT.sub("", older[:MAX_CHARS])
    names = [
        *(f"n{gram}" for gram in _grams(masked(newer, told), 3)),
        *(f"o{gram}" for gram in _grams(masked(told, newer), 2)),
        f"r{role}",
    ]
    return np.asarray([zlib.crc32(name.encode("utf-8", "surrogatepass")) % BUCKETS for name in names], np.int64)


def masked(text: str, other: str) -> list[str]:
    """Return the words and marks of *text*, and one sign for each run of words that *other* has too.

    >>> " ".join(masked("The visa is in my passport, 2 weeks early", "Get a visa in 2 weeks"))
    'the § is § my passport , #= § early'
    """
    tokens = _TOKEN.findall(narrowed(text[:MAX_CHARS]))
    shared = _shared(tokens, other)
    found: list[str] = []
    for place, token in enumerate(tokens):
        if shared[place]:
            word = _SAME_NUMBER if token[0].isdigit() else _SHARED
        elif token[0].isdigit():
            word = _NUMBER
        elif token[0].isupper() and token[:2] not in _SELF and place and tokens[place - 1] not in _ENDS:
            word = _NAME
        else:
            word = token.lower().replace("’", "'")
        if not (word == _SHARED and found and found[-1] == _SHARED):
            found.append(word)
    return found


def _shared(tokens: Sequence[str], other: str) -> list[bool]:
    """Return for each of *tokens* whether *other* has it: its term, or its pair of Chinese characters."""
    terms = statement_terms(other)
    found = [term_of(token) in terms for token in tokens]
    for place, (first, second) in enumerate(pairwise(tokens)):
        if HAN_CHARACTER.match(first) and first + second in terms:
            found[place] = found[place + 1] = True
    return found


def _grams(words: Sequence[str], longest: int) -> Iterator[str]:
    """Yield the n-grams of one to *longest* words, with the bounds of the sentence."""
    bounded = ["^", *words, "$"]
    for size in range(1, longest + 1):
        for at in range(len(bounded) - size + 1):
            yield " ".join(bounded[at : at + size])
