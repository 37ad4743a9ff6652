"""Recognise entries about the user's person, which hold for years and do not age out.

Only what the user said counts. A wrong yes keeps an entry that could leave, and a wrong no archives one that can be
restored, so the rule prefers a yes. It names bonds, health and identity, which are few words in any language.
"""

from __future__ import annotations

import re

from agent_home.documents.entry import Entry

__all__ = ["is_lasting"]

_BONDS = (
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
_CHINESE = (
    r"儿子|女儿|孩子|宝宝|老婆|老公|妻子|丈夫|爱人|男朋友|女朋友|未婚[夫妻]|父母|爸|妈|爷爷|奶奶|外公|外婆|姥姥|姥爷|哥哥|弟弟|"
    r"姐姐|妹妹|岳父|岳母|公公|婆婆|侄|外甥|家里的?[狗猫]|养了|宠物|生日|出生|纪念日|过敏|不耐受|哮喘|糖尿病|高血压|癫痫|偏头痛|"
    r"慢性|怀孕|手术|吃素|素食|血型|残疾|色盲|左撇子|我叫|我姓|我住在|我家住|我老家|我是[^,，。]{0,8}人|我在[^,，。]{1,16}(?:工作|上班)|母语"
)
_PERSON = re.compile(rf"\b(?:{_BONDS}|{_HEALTH}|{_IDENTITY})\b|{_CHINESE}", re.IGNORECASE)
#: Sections of facts. Lessons, decisions and threads have rules of their own.
_FACTS = frozenset({"RC"})


def is_lasting(entry: Entry) -> bool:
    """Return whether *entry* is a fact that the user told about themselves, their people or their health.

    A fact with a day in ``Until`` ends on that day and is not lasting.
    """
    if entry.prefix not in _FACTS or entry.fields.get("Origin", "user") != "user" or entry.fields.get("Until"):
        return False
    return bool(entry.fields.get("About")) or _PERSON.search(entry.text) is not None
