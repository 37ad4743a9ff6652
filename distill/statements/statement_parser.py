"""Statements as comparable tokens: words, and the tokens that distinguish it from another statement.

Particulars are numbers with their units, days and dates, periods, names, negations and opposite words. Rules read all
of them, in English and Chinese. Chinese is compared character by character, because nothing here cuts it into words.
The relation of two statements is the business of ``distill.statements.contradiction``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from guard.lazy_regex import lazy_regex
from recall.text.normalise import normalise
from recall.text.stems import stem
from recall.text.word_tables import phrase_pattern, stop_words, word_table

from .time_keys import time_key

__all__ = ["Statement", "Token", "TokenKind", "are_opposites", "have_opposites", "parse_statement"]

TokenKind = Literal["word", "han", "name", "number", "label", "day", "date", "time", "period"]

_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
)
_UNITS = (
    r"%|percent\b|个?百分点|万元?|亿元?|元|美元|tokens?\b|lines?\b|ms\b|s\b|secs?\b|seconds?\b|minutes?\b|mins?\b|hours?\b|"
    r"days?\b|weeks?\b|months?\b|years?\b|[kKmMgGtT]i?[bB]\b|[kKmMbB]\b|USD\b|EUR\b|RMB\b|CNY\b"
)
_SPELLED = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred|"
    "thousand"
)
#: A letter or digit of a word. Chinese stands beside a Latin word without a space.
_LETTER = r"[^\W\u3400-\u4dbf\u4e00-\u9fff]"
_TOKEN = lazy_regex(
    r"(?P<code>`[^`\n]+`)"
    rf"|(?P<date>\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?\b|\d{{4}}年(?:\d{{1,2}}月)?(?:\d{{1,2}}[日号])?|"
    rf"\d{{1,2}}月(?:\d{{1,2}}[日号])?|\d{{1,2}}[号日](?![楼线任仓机门房馆院])|"
    rf"(?:[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])号(?![楼线任仓机门房馆院店桌])|[一二三四五六七八九十]+月(?:[一二三四五六七八九十]+[日号])?|"
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_MONTHS})\b(?:\s+\d{{4}})?|"
    rf"\b(?:{_MONTHS})\b\.?(?:\s+\d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,?\s+\d{{4}})?|\b\d{{1,2}}(?:st|nd|rd|th)\b)"
    r"|(?P<day>\b(?i:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)(?i:days?)\b|(?:周|星期|礼拜)[一二三四五六日天])"
    r"|(?P<time>\b\d{1,2}:\d{2}(?:\s?[aApP][mM]\b)?|\b\d{1,2}\s?[aApP][mM]\b|[\d一二三四五六七八九十]{1,3}点(?:半|[一三]刻)?)"
    r"|(?P<period>\b(?:[QH][1-4]|FY\s?\d{2,4})\b|第?[一二三四]季度|\b(?:19|20)\d{2}\b(?!\s?%))"
    rf"|(?P<number>(?<![A-Za-z_])[+-]?\s?[¥$€£]?\d+(?:[.,]\d+)*\s?(?:{_UNITS})?(?![A-Za-z_])|\b(?:{_SPELLED})\b|"
    r"[一二三四五六七八九十百千两]+[万亿千百]|[两二三四五六七八九十百]+(?=[个次天周月年倍小分人条家笔级步份轮片楼层岁块元公斤页句位台瓶杯张折米])|"
    r"[一五六七八九]折|一(?=[次片楼层岁](?!起|样|定)))"
    rf"|(?P<latin>[A-Za-z]{_LETTER}*(?:['’][a-z]+)?(?:[-_./:@#+]{_LETTER}+)*)"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff])",
)
#: Words before a number that is a label, not an amount.
_LABELLED = lazy_regex(
    r"(?:\b(?:builds?|steps?|phases?|weeks?|sprints?|rooms?|chapters?|tickets?|issues?|stages?|rounds?|teams?|versions?|"
    r"pages?|tables?|figures?|items?|options?|tiers?|levels?|milestones?|batch(?:es)?|lines?|PRs?)|#|第)\s*$",
    re.IGNORECASE,
)
_LANGUAGE = lazy_regex(r"[中英日法德韩俄](?:文|语)|汉语")
_NEGATIVE_HAN = lazy_regex(
    "(?:不(?![同仅错但断]|过(?![敏期年节])|一定)|没有?|(?<![特区级类])别(?!的|人)|勿|未(?!来)|(?<!毫)无(?!论|线)|禁止|停止|避免)(?:再|要)?"
)
_SENTENCE_START = lazy_regex(r"(?:^|[.!?:;]\s+|[\n。])[\s\"'“(]*$")
_VERB_NEXT = lazy_regex(r"^(?:\s*[\u4e00-\u9fff]|'s\b|\s+(?:is|was|has|had|will|and\s+[A-Z]|[a-z]{2,}ed)\b)")
#: First word of a text that may be a name or the first of two nouns ("Stock builds").
_MAY_BE_NAME = lazy_regex(r"^[\"'“(]*(?P<word>[A-Z][a-z]+)(?='s\b|\s+[a-z]+(?:ed|s)\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A word or a particular. *key* is the compared form. *start* and *end* are places in the statement's text."""

    kind: TokenKind
    key: str
    start: int
    end: int

    @property
    def weight(self) -> float:
        """Share of a statement. A Chinese character counts half a word."""
        return 0.5 * len(self.key) if self.kind == "han" else 1.0

    @property
    def particular(self) -> bool:
        """True if another token in its place makes another statement."""
        return self.kind not in {"word", "han"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A text and its tokens in order, without words that carry little. *negations* are counted and are no tokens.

    *directions* are the words that point from one thing to another ("before"), each with the word behind it. *opener*
    is the first word if that may be a name.
    """

    text: str
    tokens: tuple[Token, ...]
    negations: int
    directions: frozenset[tuple[str, str]] = frozenset()
    opener: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(token.key for token in self.tokens)

    @property
    def distinguishing_tokens(self) -> tuple[str, ...]:
        """Numbers, days, dates and periods: by kind, those of a kind in order."""
        found = (token for token in self.tokens if token.particular and token.kind != "name")
        return tuple(token.key for token in sorted(found, key=lambda token: token.kind))

    def names(self, among: Container[str] = ()) -> tuple[str, ...]:
        """Return the names in order, and the words that are *among* the names of another statement.

        A name that opens a sentence is not always told from a word.
        """
        return tuple(token.key for token in self.tokens if token.kind == "name" or token.key in among)

    @property
    def chinese(self) -> bool:
        """True if most tokens are Chinese. Their order makes the words, and an English model knows none of them."""
        return sum(token.kind == "han" for token in self.tokens) > len(self.tokens) / 2

    @property
    def weight(self) -> float:
        return sum(token.weight for token in self.tokens)


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> Statement:
    """Split *text* into tokens.

    >>> parse_statement("Deploy billing on Monday, not on Friday").keys
    ('deploi', 'bill', 'day:monday', 'day:friday')
    """
    plain = _without_emphasis(text)
    light = [match.span() for match in phrase_pattern("statement_light_phrases").finditer(plain)]
    negative = [match.span() for match in _NEGATIVE_HAN.finditer(plain)]
    tokens: list[Token] = []
    negations = len(negative)
    pointing: list[tuple[str, int]] = []
    for match in _TOKEN.finditer(plain):
        if match["han"] and any(a <= match.start() < b for a, b in (*light, *negative)) and not _language(plain, match):
            continue
        if match["latin"]:
            word = match["latin"].casefold().replace("’", "'")
            negations += word.split("'")[0] in word_table("negations") or word.endswith("n't")
            pointing += [(word, match.end())] * (word in word_table("direction_words"))
        tokens.extend(_token(match, plain))
    behind = ((word, next((token.key for token in tokens if token.start >= end), "")) for word, end in pointing)
    first = _MAY_BE_NAME.match(plain)
    opener = first["word"].casefold() if first else ""
    if opener in word_table("instruction_openers") or opener in stop_words("statement"):
        opener = ""
    return Statement(
        text=plain, tokens=tuple(tokens), negations=negations, directions=frozenset(behind),
        opener=stem(opener),
    )  # fmt: skip


def are_opposites(one: str, other: str) -> bool:
    """Return whether two keys are opposite words."""
    return other in _opposites().get(one, ())


def have_opposites(keys: AbstractSet[str], others: AbstractSet[str]) -> bool:
    """Return whether one of *keys* is the opposite of one of *others*."""
    table = _opposites()
    return any(not table[key].isdisjoint(others) for key in keys & table.keys())


@lru_cache(maxsize=1)
def _opposites() -> Mapping[str, AbstractSet[str]]:
    """Return the opposites of each key that has some."""
    found: dict[str, set[str]] = {}
    for pair in word_table("opposites"):
        one, other = (stem(word) if word.isascii() else word for word in pair.split("/"))
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


def _without_emphasis(text: str) -> str:
    """Return *text* normalised, without stars of emphasis and backslashes."""
    return re.sub(r"\*{1,3}|\\", "", normalise(text))


def _token(match: re.Match[str], text: str) -> Iterator[Token]:
    """Yield the token or tokens that *match* spells. A word that carries little has none."""
    kind = match.lastgroup or ""
    raw, start, end = match.group(), match.start(), match.end()
    if kind == "latin":
        yield from _latin(raw, start, text)
    elif kind == "han":
        language = _language(text, match)
        if language and language.start() == start:
            yield Token(kind="name", key=language.group(), start=start, end=language.end())
        elif not language:
            yield Token(kind="han", key=raw, start=start, end=end)
    elif kind == "code":
        yield Token(kind="name", key=raw.strip("`").casefold(), start=start, end=end)
    elif kind == "number":
        label = _LABELLED.search(text[:start]) is not None
        yield Token(kind="label" if label else "number", key=f"number:{_number(raw)}", start=start, end=end)
    else:
        key = time_key(kind, raw, text[max(0, start - 4) : start]) or _compact(raw)
        yield Token(kind=kind, key=f"{kind}:{key}", start=start, end=end)  # type: ignore[arg-type]


def _latin(raw: str, start: int, text: str) -> Iterator[Token]:
    word = re.sub(r"'s?$|'[a-z]+$", "", raw)
    if _is_name(word, start, text):
        yield Token(
            kind="name", key=stem(word) if word.isalpha() else word.casefold(), start=start, end=start + len(raw)
        )
        return
    at = start
    for part in re.split(r"(?<=\w)[-_./:@#+](?=\w)", word):
        plain = part.casefold()
        if plain not in stop_words("statement") and plain not in word_table("negations") and len(plain) > 1:
            yield Token(kind="word", key=stem(plain), start=at, end=at + len(part))
        at += len(part) + 1


def _is_name(word: str, start: int, text: str) -> bool:
    """Return whether a word has a capital inside a sentence, or a spelling that only names have."""
    if re.search(r"\d|_|/", word) or re.search(r"[a-z][A-Z]|[A-Z]{2}", word) or re.search(r"[a-z]\.[a-z]", word):
        return True
    if not word[0].isupper() or word == "I":
        return False
    if start and "\u3400" <= text[start - 1] <= "\u9fff":
        return True  # a word like any other in English, but a name amid Chinese ("用 Go 写")
    plain = word.casefold()
    if not _SENTENCE_START.search(text[:start]):
        return plain not in stop_words("statement")
    return (
        plain not in word_table("instruction_openers")
        and plain not in stop_words("statement")
        and bool(_VERB_NEXT.match(text[start + len(word) :]))
    )


def _language(text: str, match: re.Match[str]) -> re.Match[str] | None:
    """Return the match of a language name that contains the character, or None."""
    for at in (match.start(), match.start() - 1):
        found = _LANGUAGE.match(text, at) if at >= 0 else None
        if found and found.start() <= match.start() < found.end():
            return found
    return None


def _number(raw: str) -> str:
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", _compact(raw)).replace("percent", "%")
    return re.sub(r"(?<=[a-z]{3})s$", "", plain.removeprefix("+"))


def _compact(raw: str) -> str:
    return re.sub(r"\s+", "", raw).casefold().rstrip(".")
