"""Words of passages as PostgreSQL indexes them.

A lexeme names the generation of the index and the hash of a stem, so a search touches the postings of its own
generation alone, however many share a table. Words have the hashes of the context windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from ...text.term_hashes import TermHashes

__all__ = ["generation_prefix", "phrase_lexemes", "phrase_query", "times_of", "vocabulary_term", "words_vector"]

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
#: Digits of a hash.
_HASH_DIGITS = 6
#: Largest position that a tsvector holds, and the places between a text and its heading, which no phrase spans.
_MOST_POSITIONS, _GAP = 16_383, 32
#: Hashes whose digits a process keeps.
_MOST_KEPT = 65_536
#: Characters of a word in the vocabulary.
_MOST_TERM = 200
#: ``ts_rank`` of a word that stands once, twice, ... up to 255 times, with all weights 1.
_RANKS = np.cumsum(1.0 / np.arange(1, 256) ** 2) / 1.64493406685


def generation_prefix(generation: int) -> str:
    """Return the start of every lexeme of a generation. No start of one is that of another with as many digits.

    >>> generation_prefix(1), generation_prefix(64)
    ('1.', '10.')
    """
    return f"{_number(generation)}."


def words_vector(prefix: str, text: TermHashes, heading: TermHashes) -> str:
    """Return the words of a passage as the text of a tsvector, with their positions."""
    places: dict[int, list[int]] = {}
    for at, code in enumerate(text.tolist(), 1):
        places.setdefault(code, []).append(at)
    for at, code in enumerate(heading.tolist(), len(text) + _GAP):
        places.setdefault(code, []).append(at)
    return " ".join(
        f"'{_lexeme(prefix, code)}':{','.join(str(min(at, _MOST_POSITIONS)) for at in found)}"
        for code, found in places.items()
    )


def phrase_query(prefix: str, phrases: Iterable[Sequence[int]]) -> str:
    """Return a tsquery for rows with any of *phrases*, each a succession of hashes.

    >>> phrase_query("1.", [[5], [6, 7]])
    "('1.000005')|('1.000006'<->'1.000007')"
    """
    return "|".join(f"({'<->'.join(map(repr, phrase_lexemes(prefix, phrase)))})" for phrase in phrases)


def phrase_lexemes(prefix: str, phrase: Sequence[int]) -> list[str]:
    """Return the lexemes of a succession of hashes."""
    return [_lexeme(prefix, code) for code in phrase]


def times_of(ranks: np.ndarray[tuple[int], np.dtype[np.float32]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return how often a word stands in rows, from the ``ts_rank`` of each with all weights 1.

    The rank of a word that stands n times is the sum of 1/i² up to n, so it tells n.
    """
    middles = (_RANKS[1:] + _RANKS[:-1]) / 2
    return (np.searchsorted(middles, ranks) + 1).astype(np.float64)


def vocabulary_term(stem: str) -> str:
    """Return *stem* as the vocabulary has it: its start, where it is very long."""
    return stem[:_MOST_TERM].replace("\x00", "\ufffd")


def _lexeme(prefix: str, code: int) -> str:
    return prefix + _hash_text(code)


@lru_cache(maxsize=_MOST_KEPT)
def _hash_text(code: int) -> str:
    return _number(code).rjust(_HASH_DIGITS, "0")


def _number(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
