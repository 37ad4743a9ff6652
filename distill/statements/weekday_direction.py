"""Direction of a bare weekday: the one before or the one after the day on which it was said.

"Ship the crate on Thursday" looks forward, "the crate left on Thursday" back, and "I'm off on Thursday" names no day.
So does what recurs: "choir practice moved to Wednesday", "the rent is due on the 1st". A linear model tells them apart
by the signs of the sentence (tense, habit, a request, a change of plan, where the weekday stands) and by its words, in
Chinese by characters and pairs of them. Its weights are a file beside this module, written by
``python -m bench.training.weekdays``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np

from guard.lazy_regex import lazy_regex

__all__ = ["DIRECTIONS", "direction_of", "direction_scores", "signs_of"]

#: Directions in the order of their weights: after the day on which it was said, before it, neither.
DIRECTIONS = ("forward", "back", "none")
_WEIGHTS = "data/weekday_weights.json"
#: Least chance of a direction that dates a weekday. A wrong date is worse than none.
_LEAST_CHANCE = 0.7
#: Characters on either side of the weekday that are read.
_MAX_CHARS = 160

_HAN = lazy_regex(r"[\u3400-\u9fff]")
_WORD = lazy_regex(r"[a-z]+(?:['’][a-z]+)?")
_SENTENCE_END = lazy_regex(r"[.;!?。；！？]")
_CJK_CLAUSE_END = lazy_regex(r"[,，、。；！？]")
#: A comma before a clause with a subject of its own: "my nephew is having it, he shook hands on Saturday".
_NEW_CLAUSE = lazy_regex(r",\s+(?=(?:i|he|she|we|they)\s)", re.IGNORECASE)
_WEEKDAY = r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SUBJECT = r"(?:i|we|he|she|they|it|my|our|his|her|their|the|a|an|that|this|there|in|on|at|since|if|one|as|\w+['’]\w+)$"
_CHANGED = r"\b(?:moved|pushed|shifted|postponed|rescheduled|cancelled|canceled|changed|off)\b"


def _compiled(table: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: lazy_regex(pattern, re.IGNORECASE) for name, pattern in table.items()}


#: Signs of either side of the weekday in English, within its sentence.
_SIDE_SIGNS = _compiled({
    "past": r"\b(?:was|were|did|had|went|(?<!['’]ve )(?<!have )(?<!['’]s )got|"
    r"came|saw|met|took|made|said|told|bought|left|ran|won|gave|found|felt|paid|"
    r"sent|wrote|spoke|began|lost|ate|drove|flew|held|kept|read|sold|taught|thought|woke|been|yesterday|fell|rang|broke|"
    r"quit|put|shook|\w{3,}ed)\b",
    "ahead": r"\b(?:will|won't|going to|gonna|gotta|need|needs|must|have to|has to|should|let's|due|tomorrow|remind|"
    r"remember|don't forget|deadline)\b|'ll\b",
    "reported": r"\b(?:told|said|says|thought|supposed|going to call|planned|if|when|would)\b",
    "third person": r"\b(?!is\b|was\b|has\b|this\b|his\b|us\b|as\b|its\b|yes\b)[a-z]{2,}s\b",
})  # fmt: skip
_BEFORE_SIGNS = _compiled({
    "is": r"\b(?:is|are)\b|'s\b",
    "to": r"\bto $",
    "from": r"\b(?:from|instead of|than) $",
    "article": r"\b(?:a|an|one|that|the|some) $",
    "on": r"\bon $",
    "no preposition": r"\S(?<!\bon)(?<!\bby)(?<!\buntil)(?<!\bbefore)(?<!\bto)(?<!\bsince)(?<!\bfrom)(?<!\bthe)(?<!\ba)"
    r"(?<!\bone)(?<!\bthat)(?<!\bfor) *$",
    "opens": r"^\s*(?:on )?$",
    "since": r"\bsince $",
    "person": r"^\s*(?:i|we|he|she|they)\s",
})  # fmt: skip
_AFTER_SIGNS = _compiled({
    "is after": r" (?:is|are)\b",
    "owns": r"['’]s",
    "ends": r"\W*$",
    "part of such days": " (?:morning|afternoon|evening|night)s",
    "time": r",? (?:at|\d|morning|afternoon|evening|night|noon)",
    "goes on": rf" (?:and|to|through|or)\b|,? {_WEEKDAY}",
    "owns, changed": rf"['’]s.*{_CHANGED}",
})  # fmt: skip
_SENTENCE_SIGNS = _compiled({
    "progressive": r"\b(?:is|are|am|'s|'re|'m) \w+ing\b|(?:'s|'re|'m) \w+ing\b",
    "has": r"\b(?:I|we|she|he|they)(?:'ve| have|'s) (?:got )?(?:an?|my|the|to)\b",
    "habit": r"\b(?:always|usually|never|every|each|only|except|any|often|most|closed|open|opens|day off|free day|"
    r"back then|as a|by default|off)\b",
    "not": r"\b(?:not|never|no|don't|doesn't)\b",
    "first person is": r"^\s*(?:i'm|we're)",
    "changed": _CHANGED,
    "two parts": r",|\band\b|\bbut\b|\bso\b",
    "asks": r"^\s*(?:can|could|would|will|are|shall)\b",
    "finite be": r"\b(?:is|are|am)\b|'[sm]\b|'re\b",
})  # fmt: skip
#: Signs of a Chinese sentence: of the clause of the weekday before and after it, and of what follows that clause.
_CJK_SIGNS = _compiled({
    "done": "了|(?<!有)没|过(?![来去得八九十百生])|昨|刚才|的时候",
    "ahead": "[才再要会得将等]|开始|打算|准备|安排|约|之前|截止|记得|提醒|别忘|复查|见|交|到期|可以|能",
    "habit": "[每都逢]|别(?!忘)|一般|通常|总|休息|固定|从不|习惯|[以往今]后|例会|周会|站会|值班|规矩|雷打不动|在家|不",
})  # fmt: skip
_CJK_BEFORE_SIGNS = _compiled({
    "changed before": "改|挪|推迟|延|提前|取消|换|签",
    "to": "[到至成在]$",
    "from": "从$|把$|原定$|除了$|本来",
    "opens": r"^\s*$",
    "self": "(?:我|我们)$",
    "told": "要是|如果|本来|原|那个|有个|说",
})  # fmt: skip
_CJK_AFTER_SIGNS = _compiled({
    "changed": ".*(?:改|挪|推迟|延|提前|取消|换|签)",
    "ends done": ".*[了过]$",
    "done inside": r".*(?:[了过](?!$)|[\u3400-\u9fff]过)",
    "of": r".*[\u3400-\u9fff]的[\u3400-\u9fff]",
    "owns": "的",
    "ends": "$",
    "short": ".{0,4}$",
    "clock": ".{0,3}[点半早上午晚]",
})  # fmt: skip


@lru_cache(maxsize=1024)
def direction_of(before: str, after: str) -> str:
    """Return ``forward``, ``back`` or ``none`` for a weekday between the texts *before* and *after* it.

    >>> direction_of("Ship the crate on ", "."), direction_of("It left on ", "."), direction_of("I'm off on ", "")
    ('forward', 'back', 'none')
    """
    scores = direction_scores(before, after)
    best = int(np.argmax(scores))
    return DIRECTIONS[best] if scores[best] >= _LEAST_CHANCE else "none"


def direction_scores(before: str, after: str) -> list[float]:
    """Return the chance of each of :data:`DIRECTIONS`."""
    weights = _load_weights()
    sums = np.sum([weights[sign] for sign in signs_of(before, after) if sign in weights] or [[0.0] * 3], axis=0)
    chances = np.exp(sums - sums.max())
    return [float(chance) for chance in chances / chances.sum()]


def signs_of(before: str, after: str) -> frozenset[str]:
    """Return the names of the signs around a weekday."""
    head = _SENTENCE_END.split(before[-_MAX_CHARS:])[-1]
    tail = after[:_MAX_CHARS]
    end = _SENTENCE_END.search(tail)
    body, asks = tail[: end.start()] if end else tail, after[:_MAX_CHARS].rstrip().endswith(("?", "\uff1f"))
    chinese = _HAN.search(head + body) is not None
    head = head if chinese else _NEW_CLAUSE.split(head)[-1]
    found = set(_cjk_signs(head, body) if chinese else _english_signs(head, body))
    found |= {"question"} if asks else set()
    found |= set(_cjk_words(head, body) if chinese else _english_words(head, body))
    return frozenset(f"zh {sign}" if chinese else sign for sign in found | {"bias"})


def _english_words(head: str, tail: str) -> Iterator[str]:
    """Yield the words of the sentence, without the ending of a plural."""
    for word in _WORD.findall(f"{head} {tail}".lower()):
        yield f"word {word[:-1] if len(word) > 3 and word.endswith('s') else word}"


def _cjk_words(head: str, tail: str) -> Iterator[str]:
    """Yield the characters of the weekday's clause and their pairs."""
    for part in (_CJK_CLAUSE_END.split(head)[-1], _CJK_CLAUSE_END.split(tail)[0]):
        said = "".join(_HAN.findall(part))
        yield from (f"word {said[place : place + size]}" for size in (1, 2) for place in range(len(said) - size + 1))


def _english_signs(head: str, tail: str) -> Iterator[str]:
    sentence = f"{head}DAY{tail}"
    own = {f"{name} before" for name, sign in _SIDE_SIGNS.items() if sign.search(head)}
    own |= {f"{name} after" for name, sign in _SIDE_SIGNS.items() if sign.search(tail)}
    own |= {name for name, sign in _BEFORE_SIGNS.items() if sign.search(head)}
    own |= {name for name, sign in _AFTER_SIGNS.items() if sign.match(tail)}
    own |= {name for name, sign in _SENTENCE_SIGNS.items() if sign.search(sentence)}
    yield from own
    past, ahead = own & {"past before", "past after"}, own & {"ahead before", "ahead after", "progressive"}
    if "past before" in own and "to" in own:
        yield "past, to"
    if past and ahead:
        yield "past and ahead"
    if {"opens", "is after"} <= own:
        yield "opens, is after"
    if {"is", "no preposition", "ends"} <= own:
        yield "is, ends"
    if past and "time" in own:
        yield "past, time"
    if not past and not ahead and "finite be" not in own:
        yield "no verb"
    first = head.split()[:1]
    if first and not re.match(_SUBJECT, first[0], re.IGNORECASE) and not own & {"past before", "third person before"}:
        yield "imperative"
    if re.search(_WEEKDAY, head + tail, re.IGNORECASE):
        yield "another weekday"


def _cjk_signs(head: str, tail: str) -> Iterator[str]:
    end = _CJK_CLAUSE_END.search(tail)
    clause, rest = (tail[: end.start()], tail[end.start() :]) if end else (tail, "")
    before = _CJK_CLAUSE_END.split(head)[-1]
    inside = {name for name, sign in _CJK_SIGNS.items() if sign.search(clause)}
    yield from inside
    yield from (f"{name} before" for name, sign in _CJK_SIGNS.items() if sign.search(before))
    yield from (f"{name} later" for name, sign in _CJK_SIGNS.items() if sign.search(rest))
    yield from (name for name, sign in _CJK_BEFORE_SIGNS.items() if sign.search(before))
    yield from (name for name, sign in _CJK_AFTER_SIGNS.items() if sign.match(clause))
    if {"done", "ahead"} <= inside:
        yield "done and ahead"
    if not inside:
        yield "no sign"
    if clause.startswith("的") and _CJK_AFTER_SIGNS["changed"].match(clause):
        yield "owns, changed"
    if re.search("(?:周|星期|礼拜)[一二三四五六日天]", head + tail):
        yield "another weekday"
    if "吗" in tail:
        yield "question"


@cache
def _load_weights() -> Mapping[str, list[float]]:
    stored: dict[str, list[float]] = json.loads((files(__package__) / _WEIGHTS).read_text("utf-8"))
    return stored
