"""Statements that no unlucky word may lose: allergies, chronic illness, names of people, and a form of address.

The reader learns from sentences, and a name that it never saw may cost a short one its entry. These few forms are plain
enough to need no chance. A question, a condition, a story or a wish for today is none of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from ..statements.sentences import is_question, narrowed

__all__ = ["vital_act"]

_MAX_CHARS = 300
_WHO = r"(?:\b(?i:I|we|he|she|they)|\b(?i:my|our|her|his)(?: [\w'’-]+){1,3}|\b[A-Z][\w'’-]+)"
_BE = r"(?:\s+am|\s+is|\s+are|['’]m|['’]s|['’]re)"
_HOW = r"(?:\s+(?:also|badly|severely|deathly|highly|very|really|both|all|still|a|an))*"
_ILL = r"(?:coeliac|celiac|diabetic|epileptic|asthmatic|(?:lactose|gluten|fructose)[- ]intolerant)"
#: Health of somebody named or owned.
_HEALTH = re.compile(
    rf"{_WHO}{_BE}{_HOW}\s+(?:allergic\s+to\s+\w|{_ILL}\b)"
    rf"|{_WHO}(?:['’]s\s+got|\s+(?:has|have|had always))\s+an?\s+(?:[\w-]+\s+){{0,3}}(?:allergy|intolerance)\b"
    r"|\b(?i:my|our)(?: [\w'’-]+){1,2} (?:can['’]?t|cannot) (?:have|eat|tolerate) "
    r"(?!(?:it|that|this|him|her|us|you|me|any|out|more)\b)[\w-]+(?: (?:or|and|nor) [\w-]+)?(?=[,.;!]|$)"
    r"|对[^,。;!?]{1,12}(?:严重)?过敏(?!性|原|吗|么)"
    r"|(?:我|爸|妈|儿|女|儿子|女儿|老婆|老公|爱人|孩子|小宝|[\u4e00-\u9fff]{2,3})(?:一直)?不能[吃喝碰][\u4e00-\u9fff]{1,8}(?=[,。;!]|$)"
    r"|(?:我|爸|妈|奶奶|爷爷|外婆|外公|儿子|女儿)(?:有|得了|查出了?)(?:[一二]型)?(?:糖尿病|哮喘|癫痫|乳糜泻|蚕豆病)",
)
#: Name of somebody close.
_PERSON = re.compile(
    r"\b(?i:my) (?:boss|manager|wife|husband|partner|son|daughter|brother|sister|mother|father|mum|mom|dad|doctor|"
    r"landlord|landlady)(?:['’]s name)? is (?:called |named )?(?!Dr\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,2}(?=[,.;!]|$)"
)
_NAME = re.compile(
    r"(?:^|[,.;!] ?)(?i:(?:so|and|but|oh|please|just),? )*(?i:call) me [A-Z][\w'’-]+(?:,? please)?(?=[,.;!]|$)"
    r"|(?:^|[,。;!])(?:请|就|以后|你可以|大家都)*叫我(?!起|一声|去|来|过|吃|看|帮|做|别|不|等|先|回|怎)[\u4e00-\u9fffA-Za-z]{1,6}?"
    r"(?:就行|就好|吧|即可)?(?=[,。;!]|$)"
)
#: A condition, a story, somebody else's words, or a wish for the moment.
_NOT_MEANT = re.compile(
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
