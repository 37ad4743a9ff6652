"""Equality of statements by their words alone.

:func:`identity_key` is for exact duplicates. :class:`Wording` also recognises texts that differ in a word or two of
many, unless a number or a negation is among them. Different words with the same meaning are the business of
``distill.statements.contradiction``.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from guard.lazy_regex import lazy_regex

from .normalise import normalise
from .terms import words_of
from .word_tables import word_table

__all__ = ["Wording", "identity_key"]

#: Shorter texts are no statement of their own: anybody says "Thanks a lot!" at any time.
_LEAST_WORDS = 5
#: Shorter texts must be equal: one word is too large a part of them.
_LEAST_NEARLY = 12
#: Least share of the pairs of successive words that both have, among those that either has.
_NEARLY = 0.9
#: More than the error of a product with that share, so that a whole number is not rounded up.
_ROUNDING = 1e-6
#: A word without a digit.
_PLAIN = lazy_regex(r"[^\W\d]+")
_NEGATING = lazy_regex("[不没沒别別无無未非勿]|ない|なく|ません|안|못|없")


@lru_cache(maxsize=4096)
def identity_key(text: str) -> str:
    """Return *text* as exact duplicates are compared: without case, width, space and punctuation.

    Signs, decimal points and units of numbers stay: -12 % and 12 % are not the same.

    >>> identity_key("结论:MEAGS  -12 %。") == identity_key("结论: meags -12%")
    True
    """
    folded = normalise(text).casefold()
    folded = re.sub(r"(?<![\w])-\s?(?=\d)", "\x01", folded)
    folded = re.sub(r"(?<=\d)\.(?=\d)", "\x02", folded)
    folded = re.sub(r"(?<=\d),(?=\d{3})", "", folded)
    return "".join(char for char in folded if char.isalnum() or char in "\x01\x02%¥$€£_")


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a text in order.

    *joined* is all of them as one text. *signature* has the hashes of some pairs of successive words, and *size* counts
    the different pairs. Two texts that say the same in nearly the same words have a hash of their signatures in common.
    A short text, which only an equal one repeats, has none.
    """

    words: tuple[str, ...]
    joined: str
    signature: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, text: str) -> Wording:
        """Return the wording of *text*."""
        words = tuple(map(sys.intern, words_of(text)))  # a process that keeps wordings has each word once
        pairs = set(pairwise(words))
        signature = _signature(pairs) if len(words) >= _LEAST_NEARLY else ()
        return cls(words, " ".join(words), signature, len(pairs))

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of successive words."""
        return _pairs(self.joined)

    def repeats(self, other: Wording) -> bool:
        """Return whether both texts say the same."""
        if self.joined == other.joined:
            return len(self.words) >= _LEAST_WORDS
        small, large = (self.size, other.size) if self.size < other.size else (other.size, self.size)
        if small < _NEARLY * large or min(len(self.words), len(other.words)) < _LEAST_NEARLY:
            return False
        common = len(self.pairs & other.pairs)
        alike = common >= _NEARLY * (small + large - common)
        return alike and _distinctive(self.words) == _distinctive(other.words)


@lru_cache(maxsize=1024)
def _pairs(joined: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of successive words. Some statements are compared with many others."""
    return frozenset(pairwise(joined.split(" ")))


def _signature(pairs: Collection[tuple[str, str]]) -> tuple[int, ...]:
    """Return the hashes of the first of *pairs* in an order that all texts share: long words come first.

    Long words are rarer, so few texts have such a pair in common.
    The others are too few to hold all the pairs that a text must share with one that says nearly the same.
    """
    ordered = sorted(pairs, key=lambda pair: (-len(pair[0]) - len(pair[1]), pair))
    shared = math.ceil(_NEARLY * len(ordered) - _ROUNDING)
    return tuple(map(hash, ordered[: len(ordered) - shared + 1]))


def _distinctive(words: Sequence[str]) -> list[str]:
    """Return the numbers and negations among *words*: one of them makes another statement of the same sentence."""
    negations = word_table("negations") | {"t"}  # words_of splits "don't" into "don" and "t"
    return sorted(word for word in words if word in negations or not _PLAIN.fullmatch(word) or _NEGATING.search(word))
