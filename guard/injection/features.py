"""Hashed features of a text for the classifier of injected instructions.

A text is cut into sentences. A word counts as a whole, by its character n-grams and by its neighbours, so that forms
and compounds of a word in any language share features. Scripts without spaces are read character by character. A
feature is the number of a bucket, so there is no vocabulary.
"""

import re
from collections.abc import Iterator, Sequence
from operator import xor
from typing import NamedTuple
from zlib import crc32

__all__ = ["BUCKETS", "TokenRun", "WordKeys", "context_buckets", "sentences", "word_buckets"]

BUCKETS = 1 << 18
"""Number of buckets, a power of two."""

_MASK = BUCKETS - 1
_NGRAMS = (3, 4, 5)

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}]{{1,40}}|\d+")
_BREAK = re.compile(r"(?<=[.!?;:])\s+|[\n。!?;।…]+(?![.!?;:])")

_MAX_TOKENS = 32
"""Tokens of a sentence. A longer one is cut. Twice as many in scripts without spaces."""


WordKeys = tuple[int, int, int]
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
        if found.start() > start:
            yield from _parts(text, start, found.start())
        start = found.end()
    if start < len(text):
        yield from _parts(text, start, len(text))


def _parts(text: str, start: int, end: int) -> Iterator[TokenRun]:
    tokens = _TOKEN.findall(text, start, end)
    most = _MAX_TOKENS
    if len(tokens) > most and sum(map(len, tokens)) < 2 * len(tokens):
        most *= 2
    if len(tokens) <= most:
        if tokens:
            yield TokenRun(_once_if_repeated(tokens), start, end)
        return
    places = [match.span() for match in _TOKEN.finditer(text, start, end)]
    for first in range(0, len(tokens), most):
        part = places[first : first + most]
        yield TokenRun(_once_if_repeated(tokens[first : first + most]), part[0][0], part[-1][1])


def _once_if_repeated(tokens: list[str]) -> list[str]:
    """Return *tokens*, each once if most of them are repetitions. A word said often is no evidence."""
    different = dict.fromkeys(tokens)
    return tokens if 2 * len(different) > len(tokens) else list(different)


def word_buckets(word: str) -> tuple[list[int], WordKeys]:
    """Return the buckets of *word*, and the keys by which ``context_buckets`` knows it."""
    if word[0].isdigit():
        key = crc32(b"#%d" % min(len(word), 6))
        return [key & _MASK], _keys(key)
    data = f"<{word}>".encode("utf-16-le", "surrogatepass")
    key = crc32(data)
    if len(word) == 1:
        return [key & _MASK], _keys(key)
    grams = [
        crc32(data[first : first + 2 * size]) & _MASK
        for size in _NGRAMS
        for first in range(0, len(data) - 2 * size + 1, 2)
    ]
    return [key & _MASK, *grams], _keys(key)


def _keys(key: int) -> WordKeys:
    """Return three keys of a word, for its place as the last, the second to last and the third to last."""
    return key & _MASK, key * 0x9E3779B1 >> 9 & _MASK, key * 0x85EBCA6B >> 11 & _MASK


def context_buckets(keys: Sequence[WordKeys]) -> list[int]:
    """Return the buckets of neighbours: two words, two words with one between them, and three words."""
    if len(keys) < 2:
        return []
    last, second, third = zip(*keys, strict=True)
    return [
        *map(xor, second, last[1:]),
        *map(xor, third, last[2:]),
        *map(xor, map(xor, third, second[1:]), last[2:]),
    ]
