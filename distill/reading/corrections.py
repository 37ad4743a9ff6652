"""Explicit forms that need no trained reader: a correction with its contrast, and an approach that was given up.

The patterns are few and precise. Everything said in other words is the reader's business.
"""

from __future__ import annotations

import re
from itertools import islice

from guard.lazy_regex import lazy_regex

from ..statements.sentences import is_question, narrowed

__all__ = ["announces_correction", "corrects_value", "names_old_value", "states_correction", "states_rejection"]

_WRONG = r"wrong|incorrect|not (?:right|correct|true)"
_WRONG_ZH = (
    r"不对|错了|不准确|我?(?:刚才)?(?:说|写|记|打)错了|搞错了|弄错了|你?(?:搞|弄|说|写|算|记)错了|数字(?:不对|错了|有误)|"
    r"这(?:个|里)?(?:数字|数据)?(?:不对|错了|有误)|纠正一下|更正一下"
)
#: Requires a number, code or name before the next punctuation mark.
_VALUE = r"(?=[^,.;。]*(?-i:\d|`|[A-Z]{2,}|[A-Z][a-z]+[A-Z]))"
_ORDERS = (
    r"use|write|put|show|give|call|send|include|add|answer|reply|respond|start|end|ask|tell|run|check|format|quote|cite|"
    r"commit|push|delete|remove|change|keep|list|mention|share|store|save|translate|round|return|make|touch|skip|assume"
)
_CORRECTION = lazy_regex(
    "|".join((
        (rf"^(?:no|nope|{_WRONG}|not quite|that(?:['’]s| is) (?:{_WRONG})|you(?:['’]re| are) wrong|"
        r"you got (?:it|that) wrong)\b\s*[,.:;—–-]+\s*(?:it|that|this|the|they|we)\b.*"
        r"\b(?:is|['’]s|are|was|were|should)\b"),
        (r"^(?:no|nope|wrong|sorry|wait|hold on|correction)\b[,.:;—–-].{0,60}\b(?:it['’]?s|is|are|was|were|should be)\b"
        r".{0,60}(?:,? not\b|\binstead of\b|\brather than\b)"),
        (r"^(?:actually|in fact)\b.{0,100}(?:,? (?:and )?not (?!sure|only|just|really|that|too|a fan|bad)\w|"
        r"\binstead of\b|\brather than\b)"),
        r"\bI (?:misspoke|mistyped)\b|\bI was wrong (?:about|on)\b|\bI meant\b.{1,60}\bnot\b",
        r"\bshould (?:have )?(?:read|said)\b.{1,60}\bnot\b",
        (rf"\b(?:is|are|was|were|it['’]s|that['’]s|should be)\s+{_VALUE}[^,;]{{1,40}},\s*not\s+(?!just|only){_VALUE}"
        r"[^,;]{1,40}$"),
        (rf"^(?:no|nope|wrong|that['’]s (?:{_WRONG}))[,.:;—–-]+\s*(?:please\s+)?(?:it|that|this|the|they|we|you|"
        rf"{_ORDERS}|sort|order|group|take|pick|deploy)\b.{{1,80}}"
        r"(?:, (?:and )?not (?!sure|only|just|really|that|too)\w|\binstead of\b|\brather than\b)"),
        rf"^(?:又?(?:{_WRONG_ZH})|我?(?:要|来)?(?:纠正|更正))",
        r"(?<![要还是可又])不是(?!因为|说|我|不|很|那么|这么|特别|太|吗)[^,。;]{1,40}[,、;]\s*(?:而|应该)*是(?!不是|否|吗)",
        r"(?<![要还是可又])不是(?!因为|说|不|很)[^,。;]{1,40}而是",
        r"应该是[^,。;]{1,40},?\s*(?:而不是|不是)",
    )),
    re.IGNORECASE,
)  # fmt: skip
_REJECTION = lazy_regex(
    "|".join((
        (r"\b(?:we|I|the team)(?:['’]ve| have| has)?\s+(?:already |finally |also |just )?"
        r"(?:rejected|ruled out|discarded|abandoned|gave up on|given up on|dropped the idea of)\b"),
        (r"\b(?:was|were|is|are|has been|have been) (?:rejected|ruled out|discarded|abandoned)\b"
        r"(?! by (?:the )?(?:server|guard|linter|compiler|api)\b)"),
        (r"\b(?:we|I)(?:['’]ve| have)? (?:also |already |first )?tried\b.{2,80}\b(?:but|and)\b.{0,40}"
        r"(?:did ?n['’]t (?:work|help|scale|fix)|failed|made (?:it|things) worse|"
        r"was (?:far |much )?too (?:slow|complex|expensive))"),
        (r"(?:我们?|咱们|团队|方案|已经?|最终|最后)[^,。;]{0,16}(?:否决|放弃|排除|弃用)了|"
        r"(?:方案|做法|办法|思路|路线)[^,。;]{0,12}(?:行不通|走不通|不可行|被否)|试过[^。;]{1,40}(?:不行|没用|失败|太慢|行不通)"),
    )),
    re.IGNORECASE,
)  # fmt: skip
_BARE = lazy_regex(
    rf"^(?:no|nope|{_WRONG}|not quite|that(?:['’]s| is) (?:{_WRONG})|correction|actually|{_WRONG_ZH})[\s,.:;!—–。-]*$",
    re.IGNORECASE,
)
_STATES = lazy_regex(
    r"\b(?:it|that|this|the|they)\b.{0,60}\b(?:is|are|was|were|should)\b|\b(?:it|that)['’]s\b|\d", re.IGNORECASE
)
_CONTRAST = lazy_regex(r"\bnot\b|\binstead of\b|\brather than\b|不是|而不是|并非|从.{1,20}改[为成]", re.IGNORECASE)


#: Opens an answer that denies what stands before it.
_DENIES = lazy_regex(r"(?:no|nope|wrong|不|不对|错了?)[,.:;!。—–-]", re.IGNORECASE)
#: A number and its unit. Only the first quantities of a turn are read.
_QUANTITY = lazy_regex(r"(?P<number>\d+(?:[.,]\d+)*) ?(?P<unit>%|[^\W\d_]{1,12})")
_MAX_QUANTITIES = 20
#: Characters of a sentence that are read. A text without full stops is no sentence, and the patterns look far ahead.
_MOST_CHARS = 2_000


def announces_correction(sentence: str, following: str) -> bool:
    """Return whether *sentence* only announces a correction («不对。») that *following* then makes."""
    if _BARE.match(narrowed(sentence)) is None or is_question(following):
        return False
    return re.search(r"[一-鿿]", following) is not None or _STATES.search(following) is not None


def states_correction(sentence: str) -> bool:
    """Return whether *sentence* says in so many words that something is wrong and what is right."""
    return _CORRECTION.search(narrowed(sentence[:_MOST_CHARS])) is not None


def corrects_value(sentence: str, previous: str) -> bool:
    """Return whether *sentence* denies the turn *previous* and gives one of its quantities another number.

    >>> corrects_value("No, it takes 9 minutes.", "The test suite takes 12 minutes.")
    True
    """
    if _DENIES.match(narrowed(sentence)) is None:
        return False
    said, own = _quantities(previous), _quantities(sentence)
    return any(unit in said and not numbers & said[unit] for unit, numbers in own.items())


def _quantities(text: str) -> dict[str, set[str]]:
    """Return the numbers in *text* by their unit, Chinese units by their first character."""
    found: dict[str, set[str]] = {}
    for match in islice(_QUANTITY.finditer(narrowed(text)), _MAX_QUANTITIES):
        unit = match["unit"].casefold()
        found.setdefault(unit if unit.isascii() else unit[0], set()).add(match["number"])
    return found


def states_rejection(sentence: str) -> bool:
    """Return whether *sentence* says in so many words that an approach was given up."""
    return _REJECTION.search(narrowed(sentence[:_MOST_CHARS])) is not None


def names_old_value(sentence: str) -> bool:
    """Return whether a correction names the value that it replaces."""
    return _CONTRAST.search(sentence) is not None
