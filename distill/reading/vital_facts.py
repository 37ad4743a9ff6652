"""Statements that no unlucky word may lose: allergies, chronic illness, names of people, and a form of address.

The reader learns from sentences, and a name that it never saw may cost a short one its entry. These few forms are plain
enough to need no chance. A question, a condition, a story or a wish for today is none of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from guard.lazy_regex import lazy_regex

from ..statements.pairs.pair_features import relative_spans
from ..statements.sentences import is_question, narrowed
from ..statements.statement_parser import parse_statement

__all__ = ["leaves_health_out", "vital_act"]

_MAX_CHARS = 300
_WHO = r"(?:\b(?i:I|we|he|she|they)|\b(?i:my|our|her|his)(?: [\w'’-]+){1,3}|\b[A-Z][\w'’-]+)"
_BE = r"(?:\s+am|\s+is|\s+are|['’]m|['’]s|['’]re)"
_HOW = r"(?:\s+(?:also|badly|severely|deathly|highly|very|really|both|all|still|a|an))*"
_ILL = r"(?:coeliac|celiac|diabetic|epileptic|asthmatic|(?:lactose|gluten|fructose)[- ]intolerant)"
#: Health of somebody named or owned.
_HEALTH = lazy_regex(
    rf"{_WHO}{_BE}{_HOW}\s+(?:allergic\s+to\s+\w|{_ILL}\b)"
    rf"|{_WHO}(?:['’]s\s+got|\s+(?:has|have|had always))\s+an?\s+(?:[\w-]+\s+){{0,3}}(?:allergy|intolerance)\b"
    r"|\b(?i:my|our)(?: [\w'’-]+){1,2} (?:can['’]?t|cannot) (?:have|eat|tolerate) "
    r"(?!(?:it|that|this|him|her|us|you|me|any|out|more)\b)[\w-]+(?: (?:or|and|nor) [\w-]+)?(?=[,.;!]|$)"
    r"|对[^,。;!?]{1,12}(?:严重)?过敏(?!性|原|吗|么)"
    r"|(?:我|爸|妈|儿|女|儿子|女儿|老婆|老公|爱人|孩子|小宝|[\u4e00-\u9fff]{2,3})(?:一直)?不能[吃喝碰][\u4e00-\u9fff]{1,8}(?=[,。;!]|$)"
    r"|(?:我|爸|妈|奶奶|爷爷|外婆|外公|儿子|女儿)(?:有|得了|查出了?)(?:[一二]型)?(?:糖尿病|哮喘|癫痫|乳糜泻|蚕豆病)",
)
_DIET = lazy_regex(rf"{_WHO}{_BE}{_HOW}\s+(?:vegan|vegetarian)\b|素食|吃素")
_CLAUSE_END = lazy_regex(r"[,.;!?\u3002\uff0c\uff1b\uff01]|\s(?:and|but)\s|$")
#: Two neighbouring Chinese characters. The second may be any. The first is none of the words that lead to the illness
#: in «对花生过敏», because they stand in many other sentences.
_TWO_HAN = lazy_regex(r"[^\W\x00-\u33ff对我有不能他她][^\W\x00-\u33ff]")
#: Name of somebody close.
_PERSON = lazy_regex(
    r"\b(?i:my) (?:boss|manager|wife|husband|partner|son|daughter|brother|sister|mother|father|mum|mom|dad|doctor|"
    r"landlord|landlady)(?:['’]s name)? is (?:called |named )?(?!Dr\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,2}(?=[,.;!]|$)"
)
_NAME = lazy_regex(
    r"(?:^|[,.;!] ?)(?i:(?:so|and|but|oh|please|just),? )*(?i:call) me [A-Z][\w'’-]+(?:,? please)?(?=[,.;!]|$)"
    r"|(?:^|[,。;!])(?:请|就|以后|你可以|大家都)*叫我(?!起|一声|去|来|过|吃|看|帮|做|别|不|等|先|回|怎)[\u4e00-\u9fffA-Za-z]{1,6}?"
    r"(?:就行|就好|吧|即可)?(?=[,。;!]|$)"
)
#: A condition, a story, somebody else's words, or a wish for the moment.
_NOT_MEANT = lazy_regex(
    r"\b(?:if|unless|imagine|suppose|pretend|hypothetical|story|novel|character|game|song|film|movie|poem|today|tonight|"
    r"for now|at the moment|translate|wrote|written|said|says|no longer|not any ?more|used to)\b"
    r"|如果|假如|要是|假设|小说|故事|角色|电影|歌词|翻译|今天|今晚|现在|暂时|以前|曾经|听说|据说|不再",
    re.IGNORECASE,
)


@lru_cache(maxsize=2048)
def vital_act(text: str) -> Literal["fact", "preference"] | None:
    """Return the act of a sentence of the user in one of the plain forms, else ``None``.

    >>> vital_act("Mia is allergic to nuts."), vital_act("Please call me Dan."), vital_act("我女儿对芒果过敏")
    ('fact', 'preference', 'fact')
    >>> vital_act("If Mia is allergic to nuts, what can I bake?")
    """
    if len(text) > _MAX_CHARS or is_question(text):
        return None
    narrow = narrowed(text)
    if _NOT_MEANT.search(narrow):
        return None
    if _HEALTH.search(narrow) or _PERSON.search(narrow):
        return "fact"
    return "preference" if _NAME.search(narrow) else None


def leaves_health_out(older: str, newer: str) -> bool:
    """Return whether *older* tells of an allergy, an illness or a diet, and *newer* names neither it nor its value.

    >>> leaves_health_out("My mum is vegetarian.", "My mum is on the night shift now.")
    True
    >>> leaves_health_out("I'm allergic to nuts.", "The test says I'm not allergic to nuts.")
    False
    """
    told = (match for pattern in (_HEALTH, _DIET) for match in pattern.finditer(older[:_MAX_CHARS]))
    return any(not _names_any(_clause_of(older, match), newer) for match in told)


def _clause_of(text: str, match: re.Match[str]) -> str:
    """Return the match up to the end of its clause."""
    end = _CLAUSE_END.search(text, match.end())
    return text[match.start() : end.start() if end else len(text)]


def _names_any(told: str, newer: str) -> bool:
    """Return whether *newer* has a word, or two neighbouring Chinese characters, of *told* besides the person."""
    spans = relative_spans(told)
    said = parse_statement(told)
    bare = "".join(" " if any(start <= at < end for start, end in spans) else sign for at, sign in enumerate(told))
    if any(bare[at : at + 2] in newer for at in range(len(bare) - 1) if _TWO_HAN.fullmatch(bare, at, at + 2)):
        return True
    known = set(parse_statement(newer).keys)
    return any(
        token.key in known and token.kind != "han" and not any(start <= token.start < end for start, end in spans)
        and not (token is said.tokens[0] and token.kind == "name") and token.key != said.opener
        for token in said.tokens
    )  # fmt: skip
