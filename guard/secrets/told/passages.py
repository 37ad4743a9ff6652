"""Passages that may tell a secret in plain words, whatever they call it: a small trained model finds them.

"It wants nothing but turmeric" names no password. So no list of names says where to look: a linear model over the words
of a passage, their beginnings, ends and neighbours does. It only says where ``guard.secrets.told.words`` looks for
candidates, so it lets some harmless passages pass. ``bench/training/told_values.py`` trains it on texts of several
authors and writes its weights, ``passages.bin``, behind a head of scale, bias and least score.
"""

import struct
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cache
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from guard.lazy_regex import lazy_regex
from guard.secrets.told.candidates import UNSPACED
from guard.weight_table import WeightTable

__all__ = ["BUCKETS", "HEAD", "WEIGHTS", "PassageModel", "passage_buckets", "passage_model"]

BUCKETS = 1 << 16
"""Buckets of the words of a passage. A power of two."""

HEAD = struct.Struct("<3f")
"""Scale of the weights, bias, and the score from which on a passage is looked at."""

WEIGHTS = Path(__file__).with_name("passages.bin")

_CHARS, _MOST = 240, 6
"""Characters and sentences of a passage. A longer sentence is read in pieces."""

_MANY = 12
"""Words of a sentence from which on most of them must differ."""

_KNOWN = 40_000
"""Words and pairs of words whose sums are remembered."""

_SENTENCE = lazy_regex(r"[^.!?。！？…\n]+(?:[.!?…]+(?=[^\s.!?…])[^.!?。！？…\n]+)*[.!?。！？…\n]*")
_WORD = lazy_regex(rf"[{UNSPACED}]+|[\uac00-\ud7a3]+|[^\W\d_{UNSPACED}\uac00-\ud7a3]+|\d+")
_ASCII_WORD = lazy_regex(r"[a-z]+|\d+")
_LONGEST = 20


class PassageModel:
    """Weights of the buckets and the score from which on a passage is looked at."""

    def __init__(self, data: bytes) -> None:
        numbers: tuple[float, ...] = HEAD.unpack_from(data)
        self._scale, self._bias, self.least = numbers
        self._total = WeightTable(data[HEAD.size :]).total
        self._words: dict[str, int] = {}
        self._pairs: dict[tuple[str, str], int] = {}

    def with_least(self, least: float) -> "PassageModel":
        """Return the same model with another *least* score."""
        changed = copy(self)
        changed.least = least
        return changed

    def passages(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the passages of *text* to look at, in order and without overlap. Time is linear."""
        found: list[tuple[int, int]] = []
        for start, end, score in self._scored(text):
            if score < self.least:
                continue
            if found and start <= found[-1][1] and end - found[-1][0] <= 2 * _CHARS:
                found[-1] = found[-1][0], max(end, found[-1][1])
            else:
                found.append((max(start, found[-1][1]) if found else start, end))
        return [(start, end) for start, end in found if start < end]

    def score(self, text: str) -> float:
        """Return the highest score of a passage of *text*."""
        return max((score for *_, score in self._scored(text)), default=self._bias)

    def _scored(self, text: str) -> Iterator[tuple[int, int, float]]:
        """Yield the passages of *text*: runs of up to six sentences in 240 characters, with the score of each."""
        places = list(_sentences(text))
        sums = [self._sum(text[start:end]) for start, end in places]
        for first, (start, _) in enumerate(places):
            total = 0
            for last in range(first, min(first + _MOST, len(places))):
                end = places[last][1]
                if last > first and end - start > _CHARS:
                    break
                total += sums[last]
                yield start, end, self._bias + total * self._scale

    def _sum(self, sentence: str) -> int:
        if len(self._words) + len(self._pairs) > _KNOWN:
            self._words.clear()
            self._pairs.clear()
        names = _names(sentence)
        if len(names) > _MANY and len(set(names)) * 3 < len(names):
            return 0  # the same words again and again tell nothing
        words = list(map(self._words.get, names))
        pairs = list(map(self._pairs.get, pairwise(names)))
        for at, name in enumerate(names) if None in words else ():
            if words[at] is None:
                words[at] = self._words[name] = self._total(_word_buckets(name))
        for at, pair in enumerate(pairwise(names)) if None in pairs else ():
            if pairs[at] is None:
                pairs[at] = self._pairs[pair] = self._total([_pair_bucket(*pair)])
        return sum(words) + sum(pairs)  # type: ignore[arg-type]


@cache
def passage_model() -> PassageModel:
    """Return the bundled model. The first call reads its weights."""
    return PassageModel(WEIGHTS.read_bytes())


def passage_buckets(text: str) -> list[int]:
    """Return the buckets of the words of *text* and of their pairs, each as often as it occurs."""
    names = _names(text)
    return [bucket for name in names for bucket in _word_buckets(name)] + [
        _pair_bucket(*pair) for pair in pairwise(names)
    ]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of *text*, in pieces where one is longer than a passage."""
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        while end - start > _CHARS:
            cut = text.rfind(" ", start + _CHARS // 2, start + _CHARS) + 1 or start + _CHARS
            yield start, cut
            start = cut
        yield start, end


def _names(sentence: str) -> Sequence[str]:
    """Return the words of *sentence*: in scripts without spaces two characters each, of numbers their length."""
    if sentence.isascii():
        found = _ASCII_WORD.findall(sentence.lower())
        return [word[:_LONGEST] if word > ":" else f"#{min(len(word), 7)}" for word in found]
    names: list[str] = []
    for word in _WORD.findall(sentence.lower()):
        if "\u0e00" <= word[0] <= "\u9fff":
            names += [word[at : at + 2] for at in range(len(word))]
        else:
            names.append(f"#{min(len(word), 7)}" if word[0].isdecimal() else word[:_LONGEST])
    return names


def _word_buckets(name: str) -> list[int]:
    parts = [f"w{name}"]
    if "\uac00" <= name[0] <= "\ud7a3":
        parts += [f"p{name[:1]}", f"p{name[:2]}", f"s{name[-2:]}"]
    elif len(name) > 4:
        parts += [f"p{name[:4]}", f"s{name[-4:]}"]
        if len(name) > 6:
            parts.append(f"p{name[:6]}")
    return list(map(_bucket, parts))


def _pair_bucket(one: str, other: str) -> int:
    return _bucket(f"g{one[:7]} {other[:7]}")


def _bucket(feature: str) -> int:
    return crc32(feature.encode("utf-8", "replace")) & (BUCKETS - 1)
