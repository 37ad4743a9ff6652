"""Features of a sentence for the classifier: hashed n-grams of the sentence, of the turn before it, and its shape.

Latin words yield word n-grams and character n-grams. Every Chinese character is a word of its own, so that word n-grams
are its character n-grams. The features of one group share one unit of weight, whatever their number, so a long sentence
does not outweigh its shape. Only the first characters of a sentence and the last ones of the turn before it are read,
so the cost of a sentence has a limit.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["BUCKETS", "GROUPS", "FeatureVector", "extract_features"]

#: Number of hash buckets. A power of two.
BUCKETS = 1 << 16
#: Characters that are read of a sentence, from its start, and of the turn before it, up to its end.
_MAX_CHARS, _MAX_PREVIOUS_CHARS = 320, 160
#: Weight of each group of features, chosen by cross-validation.
GROUPS: dict[str, float] = {
    "words": 1.0, "characters": 1.0, "edges": 0.7, "role": 0.7, "previous": 0.8, "pair": 0.3, "shape": 0.7,
}  # fmt: skip

_TOKEN = re.compile(r"[a-z]+(?:['’][a-z]+)?|\d+(?:[.,:]\d+)*|[\u3400-\u9fff]|[^\s\w]|[^\W\d_]+", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。！？\n]+\s*(?=\S)")
_HAN = re.compile(r"[\u3400-\u9fff]")
_CODE = re.compile(r"`|\w+\(\)|\w+\.(?:py|ts|js|md|toml|yaml|json|sql|go|rs)\b|--\w+")
_MONEY = re.compile(r"[$€£¥]|\d\s?(?:%|k\b|元|万|块|euros?\b|bucks\b)", re.IGNORECASE)
_CLOCK = re.compile(r"\d:\d\d|\d\s?(?:am|pm)\b|\d点|\d{4}-\d\d|\d(?:st|nd|rd|th)\b|\d[月号日]", re.IGNORECASE)
#: Lengths at which a sentence counts as one step longer.
_LENGTHS = (3, 6, 10, 15, 25, 40, 80)


@dataclass(frozen=True, slots=True)
class FeatureVector:
    """Sparse features: *buckets* may repeat, and *values* belong to them one by one."""

    buckets: NDArray[np.int32]
    values: NDArray[np.float32]


def extract_features(text: str, previous: str = "", role: str = "user") -> FeatureVector:
    """Extract the features of a sentence.

    Args:
        text: one sentence, as it was written.
        previous: the turn of the other speaker before it, empty for the first turn.
        role: ``user`` or ``assistant``.
    """
    buckets: list[int] = []
    values: list[float] = []
    for group, names in feature_names(text, previous, role).items():
        value = GROUPS[group] / max(1, len(names)) ** 0.5
        buckets.extend(names)
        values.extend([value] * len(names))
    return FeatureVector(np.asarray(buckets, np.int32), np.asarray(values, np.float32))


def feature_names(text: str, previous: str, role: str) -> dict[str, list[int]]:
    """Return the buckets of each group's features."""
    words = _words(text[:_MAX_CHARS])
    before = _last_sentence(previous[-_MAX_PREVIOUS_CHARS:])
    earlier = _words(before)
    asked = before.rstrip().endswith(("?", "\uff1f", "吗", "呢"))
    start, end = words[:3], words[-2:]
    return {
        "words": _hash_all("w", _grams(words, 3)),
        "characters": [bucket for word in words if len(word) > 2 for bucket in _character_grams(word)],
        "edges": _hash_all("e", _edges(start, end)),
        "role": _hash_all(f"r{role}", [*words, *_edges(start, end)]),
        "previous": _hash_all("p", [*_grams(earlier, 2), *(f"^{edge}" for edge in _edges(earlier[:2], []))]),
        "pair": _hash_all(
            "x", [f"{first}|{other}" for first in [*earlier[:2], f"?{asked}"] for other in [*words[:4], *end]]
        ),
        "shape": _hash_all("s", _shape(text[:_MAX_CHARS], words, earlier, before, asked=asked, role=role)),
    }


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


def _shape(
    text: str, words: Sequence[str], earlier: Sequence[str], before: str, *, asked: bool, role: str
) -> Iterator[str]:
    """Yield the properties of a sentence that no n-gram shows, each alone and with the role."""
    numbers = {word for word in text.split() if any(char.isdigit() for char in word)}
    old_numbers = any(char.isdigit() for char in before)
    shared = len(set(words) & {word for word in earlier if len(word) > 2 or _HAN.match(word)})
    length = sum(len(words) > limit for limit in _LENGTHS)
    asks = text.rstrip().endswith(("?", "\uff1f"))
    facts = {
        f"length{length}": True,
        "asks": asks,
        "exclaims": text.rstrip().endswith(("!", "\uff01")),
        "number": bool(numbers),
        "money": bool(_MONEY.search(text)),
        "clock": bool(_CLOCK.search(text)),
        "code": bool(_CODE.search(text)),
        "capital": text[:1].isupper(),
        "full stop": text.rstrip().endswith((".", "。")),
        "colon": text.rstrip().endswith((":", "\uff1a")),
        "han": bool(_HAN.search(text)),
        f"shared{min(shared, 3)}": True,
        "answers": asked,
        "states after": bool(earlier) and not asked,
        "opens": not earlier,
        "number for number": bool(numbers) and old_numbers and not asked,
        "number for question": bool(numbers) and asked,
    }
    for name, holds in facts.items():
        if holds:
            yield name
            yield f"{name}/{role}"
            yield f"{name}/{'asked' if asked else 'told' if earlier else 'first'}"


def _hash_all(prefix: str, names: Iterable[str]) -> list[int]:
    return [_hash(prefix + name) for name in names]


def _hash(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & (BUCKETS - 1)
