"""Terms of a short statement, by which two statements are related.

Terms are the stems of its words, its numbers and names, its Chinese characters and their pairs. Words and characters
of grammar are none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from guard.lazy_regex import lazy_regex
from recall.text.stems import stem
from recall.text.word_tables import stop_words

from ..statements.sentences import narrowed

__all__ = [
    "HAN_CHARACTER",
    "LIGHT_HAN",
    "MAX_CHARS",
    "is_related",
    "statement_terms",
    "term_of",
    "tokens_of",
]

#: Characters of a text that are read. An entry or a sentence is shorter.
MAX_CHARS = 400
_TOKEN = lazy_regex(r"[a-z]+(?:['’][a-z]+)?|\d+(?:[.,:]\d+)*|[\u3400-\u9fff]|[!?]", re.IGNORECASE)
HAN_CHARACTER = lazy_regex(r"[\u3400-\u9fff]")
_CONTRACTION = lazy_regex(r"'(?:s|re|ve|ll|d|m|t)$")
#: Chinese characters of grammar, which no two texts share by meaning.
LIGHT_HAN = frozenset(
    "的了在是我你他她它们这那也就都和与跟把被给吗呢吧啊呀么哦啦还又再已经没有不要去来到说好会能可以得地着过个一下上里面后前中对从让"
    "叫想做用今天昨明早晚午时候分钟小大很太真最更多少些点样种件事情怎什谁哪嘛您自己觉得知道感谢谢"
)
#: Least weight of shared terms, and least share of the older statement's terms, for a pair to be judged.
_LEAST_SHARED, _LEAST_SHARE = 0.7, 0.1


@lru_cache(maxsize=4096)
def statement_terms(text: str) -> Mapping[str, float]:
    """Return the terms of *text* with their weights: stems, Chinese characters and their pairs, names and numbers."""
    tokens = tokens_of(text)
    found: dict[str, float] = {}
    for place, token in enumerate(tokens):
        term = term_of(token)
        if term is None:
            continue
        marked = (token[0].isupper() and place > 0) or token[0].isdigit()
        weight = 0.5 if HAN_CHARACTER.match(token) else 1.3 if marked else 1.0
        found[term] = max(found.get(term, 0.0), weight)
    for first, second in pairwise(tokens):
        light = first in LIGHT_HAN and second in LIGHT_HAN
        if HAN_CHARACTER.match(first) and HAN_CHARACTER.match(second) and not light:
            found[first + second] = 0.7
    return found


@lru_cache(maxsize=4096)
def tokens_of(text: str) -> tuple[str, ...]:
    """Return the words, numbers, Chinese characters and marks of *text*."""
    return tuple(_TOKEN.findall(narrowed(text[:MAX_CHARS])))


@lru_cache(maxsize=16_384)
def term_of(token: str) -> str | None:
    """Return what a token is compared by, ``None`` for a light word or a mark."""
    if HAN_CHARACTER.match(token):
        return None if token in LIGHT_HAN else token
    lowered = token.lower().replace("’", "'")
    if lowered[0].isdigit():
        return lowered
    base = _CONTRACTION.sub("", lowered)
    if lowered in "!?" or base in stop_words("statement") or len(base) < 2:
        return None
    return stem(base)


def is_related(older: str, newer: str) -> bool:
    """Return whether two texts share enough that one can be about the other."""
    old, new = statement_terms(older), statement_terms(newer)
    shared = sum(min(old[term], new[term]) for term in old.keys() & new.keys())
    return shared >= _LEAST_SHARED and shared >= _LEAST_SHARE * sum(old.values())
