"""Labels and requests: what a speaker marks on purpose, in English and Chinese.

A label opens a line, a list or a heading and names the kind of what follows («结论:», "Decision:"). A request asks the
agent to remember («帮我记一下», "remember that ..."). Both are explicit, so they need no classifier to be believed. The
kind of a request comes from its words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from guard.lazy_regex import lazy_regex

from ..statements.sentences import is_question, narrowed

__all__ = ["KINDS", "ItemKind", "Label", "kind_of_request", "parse_label", "parse_request", "refers_back"]

ItemKind = Literal[
    "conclusion", "decision", "deliverable", "lesson", "root_cause", "correction", "preference", "open_thread",
    "next_step", "rejected", "fact",
]  # fmt: skip
#: In the order of the daily log.
KINDS: tuple[ItemKind, ...] = (
    "conclusion", "decision", "rejected", "correction", "root_cause", "lesson", "preference", "deliverable",
    "open_thread", "next_step", "fact",
)  # fmt: skip

_LABELS: tuple[tuple[ItemKind, str], ...] = (
    (
        "conclusion",
        r"(?:key |main |final |overall )?(?:conclusions?|takeaways?|findings?)|bottom line|tl;?dr|upshot|"  # noqa: ISC004
        r"(?:最终|初步|今日|昨日|主要|核心|更正后的?|修正后的?)?(?:结论|小结|总结|发现)",
    ),
    (
        "decision",
        r"(?:key |final )?decisions?(?: made)?|decided|agreed|(?:最终|会议|关键)?(?:决定|决策|决议)|拍板|定了",
    ),
    (
        "rejected",
        r"rejected(?: (?:approach|option|alternative|idea)(?:e?s)?)?|(?:approaches|options|alternatives) rejected|"  # noqa: ISC004
        r"ruled out|not chosen|(?:已)?(?:否决|放弃|排除|弃用)(?:的?(?:方案|选项|做法))?|未采用的?方案",
    ),
    ("root_cause", r"root causes?|根因|根本原因|问题根源"),
    ("lesson", r"lessons?(?: learn(?:ed|t))?|note to self|(?:经验)?教训|经验总结|复盘"),
    ("correction", r"corrections?|corrected|更正|纠正|勘误|订正"),
    ("preference", r"(?:standing |user )?preferences?|(?:我的|用户)?(?:个人|长期)?偏好"),
    (
        "open_thread",
        r"to-?dos?|open(?: questions?| threads?| items?| issues?| points?)?|still open|unresolved|"  # noqa: ISC004
        r"pending|tb[dc]|blockers?|reminders?|"
        r"待(?:确认|定|办|跟进|核实|解决|讨论)(?:事项|问题)?|未决(?:事项|问题)?|遗留(?:问题|事项)?|开放问题|未完成|提醒",
    ),
    (
        "next_step",
        r"next(?: steps?| actions?)?|action items?|follow-?ups?|"  # noqa: ISC004
        r"下一步(?:计划|行动|动作)?|后续(?:计划|步骤|动作|行动)?|行动项",
    ),
    (
        "deliverable",
        r"deliver(?:ed|ables?)|shipped|done|completed|finished|resolved|"  # noqa: ISC004
        r"交付(?:物|内容|成果)?|产出|已?完成|已交付|已?解决|搞定|办完",
    ),
    ("fact", r"remember(?: this)?|memo|(?:please )?(?:note for later|keep in mind)|请?(?:记住|牢记|记一下|备忘)"),
)
#: Words that also open ordinary sentences. Only a colon makes them labels.
_NEEDS_COLON = frozenset({
    "open", "next", "done", "pending", "completed", "agreed", "decided", "shipped", "delivered", "corrected",
    "unresolved", "rejected", "finished", "resolved", "remember", "remember this", "memo", "reminder", "reminders",
    "keep in mind", "please keep in mind", "note for later", "发现", "决定", "完成", "更正", "纠正", "后续", "下一步",
    "决策", "教训", "复盘", "待定", "总结", "待办", "否决", "放弃", "排除", "弃用", "搞定", "解决", "已解决",
    "办完", "未完成", "提醒", "记住", "牢记", "记一下", "备忘", "请记住", "请牢记", "请记一下",
})  # fmt: skip
_LABEL = lazy_regex(
    r"^[^\w]{0,3}\s*(?:" + "|".join(f"(?P<{kind}>{words})" for kind, words in _LABELS) + r")"
    r"(?:\s*\([^()]{0,40}\))?(?P<end>\s*:\s*|\s+[—–-]{1,2}\s+|\s*——\s*|\s*$)",
    re.IGNORECASE,
)
#: Words before a request, which add nothing.
_LEAD = (
    r"(?:(?:oh|ah|also|and|so|ok(?:ay)?|btw|by the way|hey|hi|one more thing|ps|p\.s\.?|actually|anyway|well|"
    r"another thing|before i forget|important)[\s,.:!—–-]+){0,3}"
)
_POLITE = (
    r"(?P<polite>(?:(?:can|could|will|would) (?:you|u) (?:please |pls |just )?|(?:please|pls|plz)[\s,]+(?:do )?|"
    r"i(?:['’]d| would) (?:like|love) (?:you|u) to |i (?:want|need) (?:you|u) to |(?:you|u) (?:should|must|need to) )?)"
)
_REMEMBER = (
    r"(?:always |just )?(?:remember|keep in mind|bear in mind|don['’]?t (?:you )?forget|do not forget|never forget|"
    r"make (?:a |yourself a )?(?:mental )?note|take (?:a )?note|jot (?:it |this )?down|write (?:it |this )?down|"
    r"memori[sz]e|(?:save|add|store|put)(?: this| that| it)? (?:to|in|into) (?:your |the )?(?:memory|notes))"
)
#: What joins a request to what it is about. "Remember the film?" and "remember when" have none of these.
_LINK = r"(?:\s+that\b|\s*[:,;—–]+|\s+-+\s|\s+(?=(?:to|my|our|i|i['’]\w+|we|we['’]\w+|me|us)\b))"
_REQUEST = lazy_regex(rf"^{_LEAD}{_POLITE}{_REMEMBER}(?P<link>{_LINK})?\s*(?P<rest>.*)$", re.IGNORECASE | re.DOTALL)
_RECOLLECTION = lazy_regex(
    r"^(?:when|how|what|who|where|why|which|if|whether|me|back|those|the (?:time|day|one))\b", re.IGNORECASE
)
_NOT_A_FACT = lazy_regex(r"^(?:that|this|it|these|those)?[\s.!,]*$", re.IGNORECASE)
_BACK = lazy_regex(r"\s*(?:that|this|it)?(?:[\s,]+(?:please|ok|for me|for later))*[\s.!,]*", re.IGNORECASE)
_REQUEST_ZH = lazy_regex(
    r"^(?:(?:另外|还有|对了|哦|好的?|那|顺便|嗯|重要)[\s,。!:]*){0,3}"
    r"(?P<polite>(?:请|麻烦|拜托|你|您|帮我|帮忙|给我|替我|务必|一定|要|也|再|先){0,4})"
    r"(?:记住|记一下|记下来?|记着|记好|记个事儿?|记一笔|备忘一下|备注一下|牢记|别忘了?|不要忘[记了]?|(?<=[请我你要])记得)"
    r"(?:了|哦|啊|哈|喔)?[\s:,。—-]*(?P<rest>.*)$",
    re.DOTALL,
)
#: A request behind the fact that it is about.
_SUFFIX = lazy_regex(
    r"[\s,.;:—–-]+(?:so[\s,]+|and[\s,]+)?(?:please[\s,]+)?(?:remember|keep in mind|make a note of|don['’]?t forget|"
    r"note|memori[sz]e|write down)\s+(?:that|this|it)"
    r"(?:[\s,]+(?:please|ok(?:ay)?|for (?:me|later|next time|the future)))*[.!\s]*$|"
    r"[\s,。;]+(?:请|麻烦|帮我|你|给我|要|先){0,3}(?:记住|记一下|记下来?|记着|记好)(?:这一?[点个]|了|吧|哦|哈|啊|喔){0,2}[。!\s]*$",
    re.IGNORECASE,
)
_HAN = lazy_regex(r"[\u3400-\u9fff]")
#: Characters of a sentence that are searched for a request. A longer one is a pasted text.
_MAX_REQUEST_CHARS = 600
_PREFERS = lazy_regex(
    r"^(?:always|never|do(?:n['’]t| not)|use|call me|address me|write|answer|reply|no )\b|"
    r"\bi(?:['’]d| would)? (?:\w+ )?(?:like|prefer|hate|love|want|dislike|can['’]?t stand)\b|"
    r"\bi don['’]t (?:like|want|eat|drink)\b|"
    r"\bmy (?:favou?rite|preferred|preference)\b|以后|一律|不要|^别|叫我|喜欢|讨厌|偏好|习惯|不吃|不喝|尽量",
    re.IGNORECASE,
)
_TO_DO = lazy_regex(
    r"^(?:call|e?mail|send|book|buy|renew|pay|pick|submit|ask|tell|check|order|cancel|finish|follow|schedule|remind|"
    r"bring|return|review|reply|get|take)\b|\b(?:tomorrow|tonight|deadline|due|appointment|next (?:week|month|\w+day)|"
    r"by (?:mon|tues|wednes|thurs|fri|satur|sun)day|this (?:week|\w+day))\b|"
    r"明天|后天|今晚|下周|下个?月|这周|本周|周[一二三四五六日天]|截止|之前要|提醒|预约|要交|要去|要买|要开",
    re.IGNORECASE,
)
_SETTLED = lazy_regex(
    r"\b(?:decided|agreed|we(?:['’]ll| will|['’]re going to)? (?:use|go with|stick with|chose|picked)|settled on|"
    r"going with)\b|决定|定了|说好了|商量好|选了|采用",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label that opens a line. *rest* is the text behind it, empty when a list follows.

    *asked*: the label asks to remember, and *kind* was read from the words behind it.
    """

    kind: ItemKind
    rest: str
    asked: bool = False


def parse_label(line: str) -> Label | None:
    """Return the label that *line* starts with, or ``None``.

    >>> parse_label("**结论**:MEAGS -12 %".replace("*", ""))
    Label(kind='conclusion', rest='MEAGS -12 %', asked=False)
    """
    match = _LABEL.match(narrowed(line))
    if match is None:
        return None
    kind = next(kind for kind, _ in _LABELS if match[kind] is not None)
    if match[kind].casefold() in _NEEDS_COLON and match["end"].strip() != ":":
        return None
    rest = line[match.end() :].strip()
    if kind == "fact":
        return Label(kind=kind_of_request(rest), rest=rest, asked=True)
    return Label(kind=kind, rest=rest)


def parse_request(sentence: str) -> Label | None:
    """Return what the user asks to remember in *sentence*, or ``None``. The text is quoted, without the request.

    >>> parse_request("Please remember that my son has a peanut allergy.")
    Label(kind='fact', rest='my son has a peanut allergy.', asked=True)
    >>> parse_request("Do you remember that film?") is None
    True
    """
    if len(sentence) > _MAX_REQUEST_CHARS:
        return None
    narrow = narrowed(sentence)
    rest = _requested(narrow)
    if rest is None:
        return None
    start, end = rest
    text = sentence[start:end].strip()
    if _NOT_A_FACT.match(text) or len(text) < _least_chars(text):
        return None
    return Label(kind=kind_of_request(text), rest=text, asked=True)


def refers_back(sentence: str) -> bool:
    """Return whether *sentence* only asks to remember what stands before it.

    >>> refers_back("Please remember that."), refers_back("帮我记一下。"), refers_back("Remember the milk.")
    (True, True, False)
    """
    if len(sentence) > 80:
        return False
    narrow = narrowed(sentence)
    english, chinese = _REQUEST.match(narrow), _REQUEST_ZH.match(narrow)
    if english:
        tail = narrow[english.start("link") if english["link"] else english.start("rest") :]
        return _BACK.fullmatch(tail) is not None
    return chinese is not None and re.fullmatch(r"[吧哦了啊哈这一点个。!\s]*", chinese["rest"]) is not None


def kind_of_request(text: str) -> ItemKind:
    """Return the kind of what somebody asks to remember. A plain statement is a fact."""
    head = narrowed(text)[:200]
    if _SETTLED.search(head):
        return "decision"
    if _PREFERS.search(head):
        return "preference"
    return "open_thread" if _TO_DO.search(head) else "fact"


def _requested(narrow: str) -> tuple[int, int] | None:
    """Return the range of what a sentence asks to remember, or ``None``."""
    english = _REQUEST.match(narrow)
    if english:
        polite = bool(english["polite"])
        if is_question(narrow) and not re.match(r"(?:can|could|will|would)\b", english["polite"], re.IGNORECASE):
            return None
        if (not polite and not english["link"]) or _RECOLLECTION.match(english["rest"]):
            return None
        start = english.start("rest")
        start += 3 if english["rest"][:3].casefold() == "to " else 0
        return start, len(narrow.rstrip(" ?"))
    chinese = _REQUEST_ZH.match(narrow)
    if chinese and not is_question(narrow):
        return chinese.start("rest"), len(narrow)
    suffix = _SUFFIX.search(narrow)
    if suffix and suffix.start() > 0 and not is_question(narrow[: suffix.start()]):
        return 0, suffix.start()
    return None


def _least_chars(text: str) -> int:
    return 3 if _HAN.search(text) else 6
