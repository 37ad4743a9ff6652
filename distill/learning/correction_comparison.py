"""Compare the texts of corrections: what each calls right and wrong, and whether two of them teach the same.

Comparison is by rules over words, in English and Chinese, without a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from guard.lazy_regex import lazy_regex
from recall.text.stems import stem

from ..statements.sentences import narrowed
from ..statements.statement_parser import Statement, Token, are_opposites, parse_statement

__all__ = ["is_reversal", "same_lesson", "split_correction", "topic_words"]

#: Lowest share of the weight of two corrections that must be in both.
_MIN_SHARED_WEIGHT = 0.6
_INTRODUCTION = lazy_regex(
    r"^(?:(?:no|nope|wrong|sorry|wait|actually|correction|in fact|again|"
    r"(?:that|this|it)(?:['’]s| is) (?:wrong|not (?:right|correct|true))|you(?:['’]re| are) wrong|"
    r"又?不对|又?错了|更正|纠正一下|更正一下|数字不对|不准确)\s*[,.:;!。—–-]+\s*)+",
    re.IGNORECASE,
)
_CLAUSE = r"[^,;。]+?(?:[.,]\d[^,;。]*?)?"
#: Sentences that name both the right and the wrong value. Full-width punctuation was narrowed before.
_CONTRASTS = tuple(
    lazy_regex(pattern, re.IGNORECASE)
    for pattern in (
        rf"不是(?P<wrong>{_CLAUSE})[,、;]?\s*(?:而是|应该是|而|是)(?P<right>.+?)[。.!]*$",
        rf"(?P<right>.+?)[,、;]?\s*(?:而不是|而非|不是)(?P<wrong>{_CLAUSE})[。.!]*$",
        rf"(?P<right>.+?),?\s+(?:instead of|rather than|and not|not)\s+(?P<wrong>{_CLAUSE})(?:,? please)?\s*[.!]*$",
    )
)
#: Words with which the order of the other words carries the meaning.
_ORDER_WORDS = lazy_regex(
    r"\b(?:before|after|than|from|over|under|into|above|below)\b|[先再后前比从到由向给]", re.IGNORECASE
)
_WORD = lazy_regex(r"[A-Za-z]+")


@lru_cache(maxsize=4096)
def split_correction(text: str) -> tuple[str, str]:
    """Split a correction into the part it calls right and the part it calls wrong. The second may be empty.

    >>> split_correction("No, use pnpm, not npm.")
    ('use pnpm', 'npm')
    >>> split_correction("不对,不是按日期,而是按风险排序。")
    ('按风险排序', '按日期')
    """
    introduction = _INTRODUCTION.match(narrowed(text))
    sentence = text[introduction.end() :] if introduction and introduction.end() < len(text) else text
    for pattern in _CONTRASTS:
        match = pattern.search(narrowed(sentence))
        if match:
            before = sentence[: match.start()] if match.re.pattern.startswith("不是") else ""
            right, wrong = sentence[slice(*match.span("right"))], sentence[slice(*match.span("wrong"))]
            return f"{before}{right}".strip(" ,、;"), wrong.strip(" ,、;")
    return sentence.strip(), ""


def same_lesson(one: str, other: str) -> bool:
    """Return whether two corrections teach the same, perhaps in other words.

    Both must have the same numbers, dates, names and negation. One may have more words than the other, but the two must
    not differ in a word at the same place. Most words must be in both, and one of them must not be a number, because
    «it is 12» fits any topic.
    """
    right, wrong = split_correction(one)
    other_right, other_wrong = split_correction(other)
    if not _same_meaning(parse_statement(right), parse_statement(other_right)):
        return False
    return not wrong or not other_wrong or not is_reversal(parse_statement(wrong), parse_statement(other_right))


def is_reversal(wrong: Statement, right: Statement) -> bool:
    """Return whether the part that one correction calls wrong equals the part that another one calls right."""
    return bool(topic_words(wrong.tokens)) and set(wrong.keys) == set(right.keys)


def topic_words(tokens: Sequence[Token]) -> set[str]:
    """Return the words and names, without numbers and dates. Chinese counts as pairs of characters."""
    words = {token.key for token in tokens if token.kind in {"word", "name"}}
    han = [token for token in tokens if token.kind == "han"]
    pairs = pairwise(han)
    return words | {a.key + b.key for a, b in pairs if a.end == b.start}


def _same_meaning(one: Statement, other: Statement) -> bool:
    if set(one.distinguishing_tokens) != set(other.distinguishing_tokens) or one.negations % 2 != other.negations % 2:
        return False
    keys, other_keys = set(one.keys), set(other.keys)
    if not (keys <= other_keys or other_keys <= keys) or _have_opposites(one.text, other.text):
        return False
    if _ORDER_WORDS.search(f"{one.text} {other.text}"):
        common = keys & other_keys
        if [key for key in one.keys if key in common] != [key for key in other.keys if key in common]:
            return False
    return (
        bool(topic_words(one.tokens) & topic_words(other.tokens)) and _shared_weight(one, other) >= _MIN_SHARED_WEIGHT
    )


def _have_opposites(one: str, other: str) -> bool:
    """Return whether one text has a word and the other its opposite. Stop words count too."""
    words, other_words = ({stem(word) for word in _WORD.findall(text)} for text in (one, other))
    return any(
        are_opposites(a, b) or {a, b} == {"from", "to"} for a in words - other_words for b in other_words - words
    )


def _shared_weight(one: Statement, other: Statement) -> float:
    """Return the weight of the words in both statements divided by the weight of all their words."""
    weights = {token.key: token.weight for token in (*one.tokens, *other.tokens)}
    total = sum(weights.values())
    shared = sum(weight for key, weight in weights.items() if key in one.keys and key in other.keys)
    return shared / total if total else 0.0
