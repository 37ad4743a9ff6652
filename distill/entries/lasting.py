"""Recognise entries about the user's life that hold for years and do not age out.

Only what the user said counts. A linear model over the signs of the statement tells a standing fact ("I'm off on
Wednesdays") from news of a day ("the parcel came today"): tense, habit, possession, and whether it names a bond,
health or identity. Its weights are a file beside this module, written by ``python -m bench.training.lasting``. A wrong
yes keeps an entry that could leave, and a wrong no archives one that can be restored, so a yes is preferred.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np

from agent_home.documents.entry import Entry
from guard.lazy_regex import lazy_regex

from ..statements.dated_words import without_dates
from ..statements.standalone import split_speaker

__all__ = ["is_lasting", "lasting_chance", "lasting_signs"]

_WEIGHTS = "lasting_weights.json"
#: Least chance of a lasting fact.
_LEAST_CHANCE = 0.45
_MAX_CHARS = 400
_HAN = lazy_regex(r"[\u3400-\u9fff]")
_SPEAKER = lazy_regex(r"(?:User|用户)[:\uff1a]\s*")

#: Words of a person's bonds, health and identity, which are few in any language.
_BOND = (
    r"sons?|daughters?|child(?:ren)?|kids?|baby|twins|wife|husband|spouse|partner|fianc[eé]+|girlfriend|boyfriend|mother|"
    r"father|mom|mum|dad|parents?|sisters?|brothers?|siblings?|grand(?:ma|pa|mother|father|son|daughter|parents|kids)|"
    r"aunt|uncle|cousins?|nieces?|nephews?|in-laws?|dog|cat|puppy|kitten|pets?|horse|birthday|anniversary|born"
)
_HEALTH = (
    r"allerg(?:y|ies|ic)|intoleran(?:t|ce)|asthma|diabet(?:es|ic)|celiac|epilep\w+|migraines?|medication|diagnos\w+|"
    r"pregnan\w+|vegetarian|vegan|blood type|disab\w+|wheelchair|surgery|chronic|adhd|autis\w+|dyslexi\w+|pacemaker"
)
_IDENTITY = (
    r"my (?:full |first |last |middle )?name|pronouns|i live|we live|i(?:['’]m| am) from|i grew up|"
    r"i work\b(?! on\b)|i(?:['’]m| am) (?:(?:a|an) \w+|(?-i:[^\W\d_a-z])\w+)|"
    r"native language|mother tongue|citizen\w*|left-handed|colou?r-?blind"
)


def _compiled(table: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {name: lazy_regex(pattern, re.IGNORECASE) for name, pattern in table.items()}


#: Signs of an English statement.
_SIGNS = _compiled({
    "bond": rf"\b(?:{_BOND})\b",
    "health": rf"\b(?:{_HEALTH})\b",
    "identity": rf"\b(?:{_IDENTITY})\b",
    "past": r"\b(?:was|were|did|had|went|got|came|saw|met|took|made|said|told|bought|left|ran|won|gave|found|felt|paid|"
    r"sent|wrote|spoke|began|lost|ate|drove|flew|held|kept|sold|taught|thought|woke|fell|rang|broke|quit|put|\w{3,}ed)\b",
    "perfect": r"\b(?:have|has|\w+['’]ve|he's|she's) (?:just |been )?\w+(?:ed|en)\b|['’]ve\b",
    "moment": r"\b(?:today|tonight|now|yesterday|tomorrow|this (?:week|morning|afternoon|evening|weekend|month)|"
    r"last (?:night|week|weekend)|next (?:week|month)|at the moment|just|again|until|minutes?|hours?|before|twice|"
    r"once)\b",
    "progressive": r"\b(?:am|is|are) \w+ing\b|['’](?:m|s|re) \w+ing\b",
    "habit": r"\b(?:every|each|always|usually|never|only|except|most|often|\w+days|evenings|mornings|nights|"
    r"weekends|a (?:week|month|year|day)|daily|for .{1,12} years|since|because|so)\b",
    "first person, present": r"\b(?:i|we|she|he|my \w+) (?:don['’]t|can['’]t|(?!\w{2,}(?:ed|ing)\b)(?:have|own|keep|"
    r"use|live|work(?! on\b)|take|go|get|prefer|like|need|has)s?)\b|i['’]ve got",
    "am": r"\b(?:i|we|she|he)(?:['’]m|['’]re|['’]s| am| are| is) (?!\w+ing)\w",
    "am a": r"\b(?:i['’]m|i am) (?:a|an|the)\b",
    "my": r"\b(?:my|our)\b",
    "my thing is": r"\b(?:my|our) (?:\w+ ){1,2}(?:is|are|has|have|\w+s)\b",
    "opens with self": r"^(?:i|i['’]m|we)\b",
    "opens with a thing": r"^(?:the|it|they|someone)\b",
    "number": r"\d",
    "year": r"\b(?:19|20)\d\d\b|years",
    "weekday": r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b(?!s)",
    "works on": r"\bwork(?:ing|s)? on\b",
    "used to": r"\bused to\b",
    "does to me": r"\b(?:gives|makes) me\b",
})  # fmt: skip
#: Signs of a Chinese statement.
_CJK_SIGNS = _compiled({
    "health": "过敏|不耐受|哮喘|糖尿病|高血压|癫痫|偏头痛|慢性|怀孕|吃素|素食|血型|残疾|色盲|左撇子",
    "done": "了",
    "ends done": "了[。!\uff01]?$",
    "once": "过(?![来年夜日去敏])",
    "moment": "今天|今晚|昨|明天|现在|正在|刚|这周|下周|上周|这次|下午|早上|周末|分钟|小时|又|"
    "在(?:弄|写|找|试|比|看|做|跟)",
    "habit": "每|都|一般|总|从不|固定|习惯|休息|单|隔|年了|以前|一直|平时|业余",
    "is": "是|叫|姓|属",
    "lives": "住|在[^,\uff0c。]{1,8}(?:上班|工作|读|长大)|老家",
    "not": "不(?:会|能|吃|喝|沾|用|见|爱|喜欢)|没有|恐",
    "opens with self": "^[我咱俺]",
    "my people": "我(?:家|妈|爸|女|儿|老|男|外|姐|妹|哥|弟)|家里|我们",
    "has": "[有养开练骑用学跑]",
    "bond": "[妈爸爷奶婆]|女儿|闺女|儿子|老公|孩子|[狗猫]",
    "short": "^.{0,8}$",
    "number": "[\\d一二三四五六七八九十百]",
    "clock": "点",
    "ends of": "的[。]?$",
    "age": "岁|年",
    "born": "生日|出生|纪念日|结的?婚",
})  # fmt: skip
_OF_PERSON = frozenset(
    {"bond", "health", "identity", "my", "first person, present", "am", "am a", "does to me", "opens with self"}
)
#: Sections of facts. Lessons, decisions and threads have rules of their own.
_FACTS = frozenset({"RC"})


def is_lasting(entry: Entry) -> bool:
    """Return whether *entry* is a standing fact that the user told about their life.

    A fact with a day in ``Until`` ends on that day and is not lasting.
    """
    if entry.prefix not in _FACTS or entry.fields.get("Origin", "user") != "user" or entry.fields.get("Until"):
        return False
    return bool(entry.fields.get("About")) or lasting_chance(entry.text) >= _LEAST_CHANCE


@lru_cache(maxsize=4096)
def lasting_chance(text: str) -> float:
    """Return the chance that the statement *text* holds for years."""
    weights = _load_weights()
    return float(1 / (1 + np.exp(-sum(weights.get(sign, 0.0) for sign in lasting_signs(text)))))


def lasting_signs(text: str) -> frozenset[str]:
    """Return the names of the signs of the statement *text*, without its speaker and its computed dates."""
    said = without_dates(split_speaker(_SPEAKER.sub("", text[:_MAX_CHARS], count=1))[1]).strip()
    chinese = _HAN.search(said) is not None
    found = {name for name, sign in (_CJK_SIGNS if chinese else _SIGNS).items() if sign.search(said)}
    found |= {"bias", *(_cjk_combined(found, said) if chinese else _combined(found))}
    return frozenset(f"zh {name}" if chinese else name for name in found)


def _combined(found: set[str]) -> Iterator[str]:
    """Yield the signs that two of an English statement make together."""
    if not found & {"past", "perfect", "progressive"}:
        yield "present"
    if not found & _OF_PERSON:
        yield "of no person"
    if "past" in found and "habit" not in found:
        yield "past only"
    if "past" in found and found & {"health", "identity", "year"}:
        yield "past, of a life"


def _cjk_combined(found: set[str], said: str) -> Iterator[str]:
    """Yield the signs that two of a Chinese statement make together."""
    if not found & {"bond", "health", "opens with self", "my people", "born"} and not re.search("[我咱俺]", said):
        yield "of no person"


@cache
def _load_weights() -> Mapping[str, float]:
    stored: dict[str, float] = json.loads((files(__package__) / _WEIGHTS).read_text("utf-8"))
    return stored
