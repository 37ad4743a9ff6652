"""Features for the classifier: hashed n-grams of a sentence and its shape, and what the turn before it adds.

The features of the sentence itself are the same after every turn, so a reader can judge it alone and in its place.

Latin words yield word n-grams and character n-grams. Every Chinese character is a word of its own, so that word n-grams
are its character n-grams. The features of one group share one unit of weight, whatever their number, so a long sentence
does not outweigh its shape. Only the first characters of a sentence and the last ones of the turn before it are read,
so the cost of a sentence has a limit.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from guard.lazy_regex import lazy_regex

__all__ = [
    "BUCKETS",
    "GROUPS",
    "FeatureVector",
    "count_pieces",
    "sentence_features",
    "sentence_names",
    "turn_features",
    "turn_names",
]

#: Number of hash buckets. A power of two.
BUCKETS = 1 << 16
#: Characters that are read of a sentence, from its start, and of the turn before it, up to its end.
_MAX_CHARS, _MAX_PREVIOUS_CHARS = 320, 160
#: Weight of each group of features, chosen by cross-validation.
GROUPS: dict[str, float] = {
    "words": 1.0, "characters": 1.0, "edges": 0.7, "role": 0.7, "shape": 0.7,
    "previous": 0.8, "pair": 0.3, "context": 0.7,
}  # fmt: skip

_TOKEN = lazy_regex(r"[a-z]+(?:['’][a-z]+)?|\d+(?:[.,:]\d+)*|[\u3400-\u9fff]|[^\s\w]|[^\W\d_]+", re.IGNORECASE)
_SENTENCE_END = lazy_regex(r"[.!?。！？\n]+\s*(?=\S)")
_HAN = lazy_regex(r"[\u3400-\u9fff]")
_CODE = lazy_regex(r"`|\w+\(\)|\w+\.(?:py|ts|js|md|toml|yaml|json|sql|go|rs)\b|--\w+")
_MONEY = lazy_regex(r"[$€£¥]|\d\s?(?:%|k\b|元|万|块|euros?\b|bucks\b)", re.IGNORECASE)
_CLOCK = lazy_regex(r"\d:\d\d|\d\s?(?:am|pm)\b|\d点|\d{4}-\d\d|\d(?:st|nd|rd|th)\b|\d[月号日]", re.IGNORECASE)
#: Lengths at which a sentence counts as one step longer.
_LENGTHS = (3, 6, 10, 15, 25, 40, 80)


@dataclass(frozen=True, slots=True)
class FeatureVector:
    """Sparse features: *buckets* may repeat, and *values* belong to them one by one."""

    buckets: NDArray[np.int32]
    values: NDArray[np.float32]


def sentence_features(text: str, role: str = "user") -> FeatureVector:
    """Extract the features of a sentence alone, said by ``user`` or ``assistant``."""
    return _vector(sentence_names(text, role))


def turn_features(text: str, previous: str, role: str = "user") -> FeatureVector:
    """Extract the features that the turn *previous* of the other speaker adds. An empty turn adds none."""
    return _vector(turn_names(text, previous, role))


def count_pieces(text: str) -> int:
    """Return the number of words, Chinese characters and marks that are read of a sentence, at least 1."""
    return max(1, len(_TOKEN.findall(text[:_MAX_CHARS])))


def sentence_names(text: str, role: str) -> dict[str, list[int]]:
    """Return the buckets of each group's features of a sentence."""
    words = _words(text[:_MAX_CHARS])
    start, end = words[:3], words[-2:]
    shape = [name for fact in _shape(text[:_MAX_CHARS], words) for name in (fact, f"{fact}/{role}")]
    return {
        "words": _hash_all("w", _grams(words, 3)),
        "characters": [bucket for word in words if len(word) > 2 for bucket in _character_grams(word)],
        "edges": _hash_all("e", _edges(start, end)),
        "role": _hash_all(f"r{role}", [*words, *_edges(start, end)]),
        "shape": _hash_all("s", shape),
    }


def turn_names(text: str, previous: str, role: str) -> dict[str, list[int]]:
    """Return the buckets of each group's features of the turn before a sentence."""
    before = _last_sentence(previous[-_MAX_PREVIOUS_CHARS:])
    earlier = _words(before)
    if not earlier:
        return {}
    words = _words(text[:_MAX_CHARS])
    asked = before.rstrip().endswith(("?", "\uff1f", "吗", "呢"))
    place = "asked" if asked else "told"
    shape = [f"{fact}/{place}" for fact in _shape(text[:_MAX_CHARS], words)]
    own = [
        name for fact in _relation(words, earlier, asked=asked) for name in (fact, f"{fact}/{role}", f"{fact}/{place}")
    ]
    return {
        "previous": _hash_all("p", [*_grams(earlier, 2), *(f"^{edge}" for edge in _edges(earlier[:2], []))]),
        "pair": _hash_all(
            "x",
            [f"{first}|{other}" for first in [*earlier[:2], f"?{asked}"] for other in [*words[:4], *words[-2:]]],
        ),
        "context": _hash_all("s", [*shape, *own]),
    }


def _vector(groups: Mapping[str, Sequence[int]]) -> FeatureVector:
    buckets = [bucket for names in groups.values() for bucket in names]
    weights = [GROUPS[group] / max(1, len(names)) ** 0.5 for group, names in groups.items() for _ in names]
    return FeatureVector(np.asarray(buckets, np.int32), np.asarray(weights, np.float32))


def _last_sentence(text: str) -> str:
    """Return the last sentence of *text*, or the one before it if the last is very short."""
    cuts = [match.end() for match in _SENTENCE_END.finditer(text)]
    return text[cuts[-1] :] if cuts and len(text) - cuts[-1] > 3 else text


def _words(text: str) -> list[str]:
    return [_word(match.group()) for match in _TOKEN.finditer(text)]


def _word(token: str) -> str:
    """Return the form of a token that features are made of. Numbers keep only their length."""
    if token[0].isdigit():
        return f"#{min(len(token), 5)}"
    return token.casefold().replace("’", "'")


def _grams(words: Sequence[str], longest: int) -> Iterator[str]:
    """Yield the n-grams of one to *longest* words."""
    for size in range(1, longest + 1):
        for at in range(len(words) - size + 1):
            yield " ".join(words[at : at + size])


def _edges(start: Sequence[str], end: Sequence[str]) -> Iterator[str]:
    """Yield the first words, as n-grams that begin the sentence, and the last words."""
    for size in range(1, len(start) + 1):
        yield "^" + " ".join(start[:size])
    for size in range(1, len(end) + 1):
        yield " ".join(end[-size:]) + "$"


@lru_cache(maxsize=16384)
def _character_grams(word: str) -> tuple[int, ...]:
    """Return the buckets of the character n-grams of a word, with its bounds."""
    bounded = f"<{word[:24]}>"
    return tuple(_hash("c" + bounded[at : at + size]) for size in (3, 4, 5) for at in range(len(bounded) - size + 1))


def _shape(text: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the properties of a sentence that no n-gram shows."""
    stripped = text.rstrip()
    facts = {
        f"length{sum(len(words) > limit for limit in _LENGTHS)}": True,
        "asks": stripped.endswith(("?", "\uff1f")),
        "exclaims": stripped.endswith(("!", "\uff01")),
        "number": any(char.isdigit() for char in text),
        "money": bool(_MONEY.search(text)),
        "clock": bool(_CLOCK.search(text)),
        "code": bool(_CODE.search(text)),
        "capital": text[:1].isupper(),
        "full stop": stripped.endswith((".", "。")),
        "colon": stripped.endswith((":", "\uff1a")),
        "han": bool(_HAN.search(text)),
    }
    return (name for name, holds in facts.items() if holds)


def _relation(words: Sequence[str], earlier: Sequence[str], *, asked: bool) -> Iterator[str]:
    """Yield how a sentence is related to the last sentence of the turn before it."""
    shared = len(set(words) & {word for word in earlier if len(word) > 2 or _HAN.match(word)})
    number, old_number = (any(word[0] == "#" and word[1:].isdigit() for word in one) for one in (words, earlier))
    yield f"shared{min(shared, 3)}"
    yield "answers" if asked else "states after"
    if number and (asked or old_number):
        yield "number for question" if asked else "number for number"


def _hash_all(prefix: str, names: Iterable[str]) -> list[int]:
    return [_hash(prefix + name) for name in names]


def _hash(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & (BUCKETS - 1)
