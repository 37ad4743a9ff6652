"""Changes of home and work that share no word with what they end: "I live in Ghent", "I moved to Antwerp last month".

A person has one home and mostly one employer. So a sentence that tells of another one ends the older statement about
the same person. Only plain forms count, and a stay for a while ends nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from guard.lazy_regex import lazy_regex

from .sentences import narrowed

__all__ = ["LifeFact", "ends_life_fact", "life_fact"]

_MAX_CHARS = 300
_WHO = r"(?:^|[,;.!] |\band )(?P<who>I|we|[A-Z][a-z]+|(?:[Mm]y|[Oo]ur) [a-z]+)"
_PLACE = r"(?P<what>(?:the )?[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,2})"
_ALREADY = r"(?:(?:['’]ve| have|['’]s| has)?(?: just| recently| finally| now| already)?)"
_WHO_ZH = r"(?:^|[,。;])(?P<who>我们?|我?[爸妈姐哥弟妹](?:[爸妈姐哥弟妹])?|我?爸妈|[\u4e00-\u9fff]{2,3}?)"
_PLACE_ZH = r"(?P<what>[\u4e00-\u9fffA-Za-z]{2,8}?)"
_NOW, _NOW_ZH = r"(?:still |now |currently )?", "(?:现在|目前|一直|还)?"
_SINCE_ZH = "(?:已经|刚|上个?[月周]|去年|前[天阵]子?)*"
_STARTED = (
    r"(?:started (?:work |working |a (?:new )?job )?(?:at|with|for)|joined|got (?:a|my) (?:new )?job (?:at|with))"
)
_AS = r"(?:as an? [a-z ]{2,30} )?"
#: Forms of a fact by what it is about: how it stands, and how it changes.
_FORMS: tuple[tuple[str, bool, re.Pattern[str]], ...] = tuple(
    (about, changes, lazy_regex(pattern))
    for about, changes, pattern in (
        ("home", False, rf"{_WHO}(?:['’]m| am| are| is)? {_NOW}liv(?:e|es|ing) in {_PLACE}"),
        ("home", True, rf"{_WHO}{_ALREADY} moved (?:back |over )?to {_PLACE}"),
        ("home", False, rf"{_WHO_ZH}{_NOW_ZH}住在?{_PLACE_ZH}(?=[,。;!]|$)"),
        ("home", True, rf"{_WHO_ZH}{_SINCE_ZH}搬(?:家)?[到去来]了?{_PLACE_ZH}(?=了|来|[,。;!]|$)"),
        ("work", False, rf"{_WHO}(?:['’]m| am| is)? {_NOW}work(?:s|ing)? {_AS}(?:at|for) {_PLACE}"),
        ("work", True, rf"{_WHO}{_ALREADY} {_STARTED} {_PLACE}"),
        ("work", False, rf"{_WHO_ZH}{_NOW_ZH}在{_PLACE_ZH}(?:上班|工作|做事)"),
        ("work", True, rf"{_WHO_ZH}{_SINCE_ZH}(?:跳槽|换工作|入职)[了到去,]*{_PLACE_ZH}(?=了|[,。;!]|$)"),
    )
)
#: A stay, a visit, a plan or a wish is no change.
_PASSING = lazy_regex(
    r"\bfor (?:a|the|two|three|some|now|\d)|\btemporar|\buntil\b|\bif\b|\bnever\b|暂时|临时|几天|短期|如果|要是|打算|想"
)
_KIN = {
    "mom": "mum",
    "mother": "mum",
    "father": "dad",
    "妈妈": "妈",
    "爸爸": "爸",
    "姐姐": "姐",
    "哥哥": "哥",
    "弟弟": "弟",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeFact:
    """Home or employer *what* of the person *who*. *changes*: the sentence tells that it is a new one."""

    about: str
    who: str
    what: str
    changes: bool


@lru_cache(maxsize=4096)
def life_fact(text: str) -> LifeFact | None:
    """Return the home or work that *text* names, or ``None`` for most texts."""
    narrow = narrowed(text[:_MAX_CHARS])
    if _PASSING.search(narrow):
        return None
    for about, changes, form in _FORMS:
        match = form.search(narrow)
        if match:
            return LifeFact(about=about, who=_person(match["who"]), what=match["what"], changes=changes)
    return None


def ends_life_fact(older: str, newer: str) -> bool:
    """Return whether *newer* says that the home or work that *older* names is another one now.

    >>> ends_life_fact("I live in Ghent.", "I moved to Antwerp last month.")
    True
    >>> ends_life_fact("I live in Ghent.", "I moved to Antwerp for two weeks.")
    False
    """
    was, now = life_fact(older), life_fact(newer)
    if was is None or now is None or not now.changes or (was.about, was.who) != (now.about, now.who):
        return False
    return was.what not in now.what and now.what not in was.what


def _person(words: str) -> str:
    """Return the person that a subject names. The user is one with the household."""
    bare = re.sub(r"^(?:my |our |我(?=.))", "", words.casefold()).removeprefix("们")
    return "" if bare in {"i", "we", "我"} or words == "我们" else _KIN.get(bare, bare)
