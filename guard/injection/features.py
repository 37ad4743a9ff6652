"""Hashed features of a text for the classifier of injected instructions.

A text is cut into sentences. A word counts as a whole, by its character n-grams, by its neighbours, and with each of
the next words, so that a word for the reader and an order some words later share a feature. Signs count as neighbours,
because a colon behind the reader's name is an address and a quotation mark is a report. Scripts without spaces are read
character by character. A feature is the number of a bucket, so there is no vocabulary.
"""

from collections.abc import Iterator, Sequence
from operator import xor
from typing import NamedTuple
from zlib import crc32

from guard.lazy_regex import lazy_regex

__all__ = ["BUCKETS", "TokenRun", "WordKeys", "context_buckets", "sentences", "word_buckets", "word_length"]

BUCKETS = 1 << 19
"""Number of buckets, a power of two."""

_MASK = BUCKETS - 1
_NGRAMS = (2, 3, 4, 5)

_PAIR_DISTANCE = 6
"""Words between which a pair counts, whatever stands between them."""

_STEM = 5
"""Letters of a word that count in a pair."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = lazy_regex(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}]{{1,40}}|\d+|[^\w\s]")
#: The same tokens in a text of ASCII alone. The class of letters above takes 1.5 ms to compile.
_ASCII_TOKEN = lazy_regex(r"[^\W\d_]{1,40}|\d+|[^\w\s]")
_UNSPACED_LETTER = lazy_regex(rf"[{_UNSPACED}]")
_WORD = lazy_regex(r"[^\W_]")
# Each break begins with one of a few characters, so that the search skips all others.
_BREAK = lazy_regex(
    r"[\s\"')\]»”」。!?।…]"
    r"(?:(?<=[.!?]\s)\s*|(?<=[.!?][\"')\]»”」])[\"')\]»”」]?\s+|(?<=\n)\n*|(?<=[。!?।…])[。!?।…]*(?![.!?;:]))"
)
_QUOTES = dict.fromkeys('"“”„«»「」『』', '"')

_MAX_TOKENS = 64
"""Tokens of a sentence. A longer one is cut."""


WordKeys = tuple[int, int, int, int, int]
"""Hashes of a word, each smaller than ``BUCKETS``."""


class TokenRun(NamedTuple):
    """Tokens of a sentence, or of a part of a long one, and its half-open span in the text."""

    tokens: list[str]
    start: int
    end: int


def sentences(text: str) -> Iterator[TokenRun]:
    """Yield the sentences of *text*, which is in lower case, in order. Sentences without a word are left out."""
    start = 0
    for found in _BREAK.finditer(text):
        yield from _parts(text, start, found.end())
        start = found.end()
    if start < len(text):
        yield from _parts(text, start, len(text))


def _parts(text: str, start: int, end: int) -> Iterator[TokenRun]:
    if not _WORD.search(text, start, end):
        return
    pattern = _ASCII_TOKEN if text.isascii() else _TOKEN
    tokens = pattern.findall(text, start, end)
    if len(tokens) <= _MAX_TOKENS:
        yield TokenRun(_once_if_repeated(tokens), start, end)
        return
    places = [match.span() for match in pattern.finditer(text, start, end)]
    for first in range(0, len(tokens), _MAX_TOKENS):
        part = places[first : first + _MAX_TOKENS]
        yield TokenRun(_once_if_repeated(tokens[first : first + _MAX_TOKENS]), part[0][0], part[-1][1])


def _once_if_repeated(tokens: list[str]) -> list[str]:
    """Return *tokens*, each once if most of them are repetitions. A word said often is no evidence."""
    different = dict.fromkeys(tokens)
    return tokens if 2 * len(different) > len(tokens) else list(different)


def word_buckets(word: str) -> tuple[list[int], WordKeys]:
    """Return the buckets of *word*, and the keys by which ``context_buckets`` knows it."""
    if word[0].isdigit():
        word = f"#{min(len(word), 5)}"
    word = _QUOTES.get(word, word)
    key, stem = _hash(word), _hash(f"~{word[:_STEM]}")
    if len(word) == 1 or word[0] == "#":
        return [key & _MASK], _keys(key, stem)
    data = f"<{word}>".encode("utf-16-le", "surrogatepass")
    grams = [
        crc32(data[first : first + 2 * size]) & _MASK
        for size in _NGRAMS
        for first in range(0, len(data) - 2 * size + 1, 2)
    ]
    return [key & _MASK, *grams], _keys(key, stem)


def word_length(word: str) -> float:
    """Return the share of *word* in the length of a sentence: a half for a character of a script without spaces."""
    return 0.5 if not word.isascii() and _UNSPACED_LETTER.match(word) else 1.0


def _hash(word: str) -> int:
    return crc32(word.encode("utf-16-le", "surrogatepass"))


def _keys(key: int, stem: int) -> WordKeys:
    """Return the keys of a word as the last, second and third to last of some words, and as either one of a pair."""
    return (
        key & _MASK,
        key * 0x9E3779B1 >> 9 & _MASK,
        key * 0x85EBCA6B >> 11 & _MASK,
        stem * 0xC2B2AE35 >> 13 & _MASK,
        stem * 0x27D4EB2F >> 10 & _MASK,
    )


_START = _keys(_hash("¶"), _hash("~¶"))
"""Keys of the place before a sentence."""


def context_buckets(keys: Sequence[WordKeys]) -> list[int]:
    """Return the buckets of neighbours in a sentence: two words, two with one between them, three words, and pairs."""
    last, second, third, left, right = zip(_START, *keys, strict=True)
    found = [
        *map(xor, second, last[1:]),
        *map(xor, third, last[2:]),
        *map(xor, map(xor, third, second[1:]), last[2:]),
    ]
    for distance in range(1, _PAIR_DISTANCE + 1):
        found += map(xor, left, right[distance:])
    return found
