"""Cues, Chinese and English, that classify a sentence as a decision, a lesson, a correction and so on.

A cue is a phrase inside a sentence. Cues prefer precision. A sentence without one stays in the transcript, where recall
finds it. Questions and conditions have no kind.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ..evidence.claims import is_completed_work
from ..reading.labels import ItemKind
from ..statements.sentences import is_question, narrowed

__all__ = ["announces_correction", "classify_sentence", "names_old_value"]

_CONDITION = re.compile(
    r"^(?:and |but |so )?(?:if|when|whenever|unless|suppose|imagine|should you|in case|depending|whether|once|before|"
    r"after)\b|^(?:如果|要是|假如|假设|万一|若|当|一旦|除非)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Cue:
    kind: ItemKind
    pattern: re.Pattern[str]
    roles: Collection[str] = ("user", "assistant")


def _cue(kind: ItemKind, *patterns: str, roles: Collection[str] = ("user", "assistant")) -> _Cue:
    return _Cue(kind, re.compile("|".join(patterns), re.IGNORECASE), roles)


_USER = ("user",)
#: Requires a number, code or name before the next punctuation mark.
_VALUE = r"(?=[^,.;。]*(?-i:\d|`|[A-Z]{2,}|[A-Z][a-z]+[A-Z]))"
_ORDERS = (
    r"use|write|put|show|give|call|send|include|add|answer|reply|respond|start|end|ask|tell|run|check|format|quote|cite|"
    r"commit|push|delete|remove|change|keep|list|mention|share|store|save|translate|round|return|make|touch|skip|assume"
)
_WRONG = r"wrong|incorrect|not (?:right|correct|true)"
_WRONG_ZH = (
    r"不对|错了|不准确|我?(?:刚才)?(?:说|写|记|打)错了|搞错了|弄错了|你?(?:搞|弄|说|写|算|记)错了|数字(?:不对|错了|有误)|"
    r"这(?:个|里)?(?:数字|数据)?(?:不对|错了|有误)|纠正一下|更正一下"
)
_OURS = r"answers?|replies|responses?|reports?|summaries|code|emails?|tables?|numbers|charts"
_SETTLED = r"确认|确定|定下|定论|决定|解决|核实|落实|跟进|回复|批复|搞清|搞定"
#: In order of precedence: the first match names the kind. Sentences have narrow punctuation.
_CUES: tuple[_Cue, ...] = (
    _cue(
        "correction",
        rf"^(?:no|nope|{_WRONG}|not quite|that(?:['’]s| is) (?:{_WRONG})|you(?:['’]re| are) wrong|"
        r"you got (?:it|that) wrong)\b\s*[,.:;—–-]+\s*(?:it|that|this|the|they|we)\b.*"
        r"\b(?:is|['’]s|are|was|were|should)\b",
        r"^(?:no|nope|wrong|sorry|wait|hold on|correction)\b[,.:;—–-].{0,60}\b(?:it['’]?s|is|are|was|were|should be)\b"
        r".{0,60}(?:,? not\b|\binstead of\b|\brather than\b)",
        r"^(?:actually|in fact)\b.{0,100}(?:,? (?:and )?not (?!sure|only|just|really|that|too|a fan|bad)\w|"
        r"\binstead of\b|\brather than\b)",
        r"\bI (?:misspoke|mistyped)\b|\bI was wrong (?:about|on)\b|\bI meant\b.{1,60}\bnot\b",
        r"\bshould (?:have )?(?:read|said)\b.{1,60}\bnot\b",
        rf"\b(?:is|are|was|were|it['’]s|that['’]s|should be)\s+{_VALUE}[^,;]{{1,40}},\s*not\s+(?!just|only){_VALUE}"
        r"[^,;]{1,40}$",
        rf"^(?:no|nope|wrong|that['’]s (?:{_WRONG}))[,.:;—–-]+\s*(?:please\s+)?(?:it|that|this|the|they|we|you|"
        rf"{_ORDERS}|sort|order|group|take|pick|deploy)\b.{{1,80}}"
        r"(?:, (?:and )?not (?!sure|only|just|really|that|too)\w|\binstead of\b|\brather than\b)",
        rf"^(?:又?(?:{_WRONG_ZH})|我?(?:要|来)?(?:纠正|更正))",
        r"(?<![要还是可又])不是(?!因为|说|我|不|很|那么|这么|特别|太|吗)[^,。;]{1,40}[,、;]\s*(?:而|应该)*是(?!不是|否|吗)",
        r"(?<![要还是可又])不是(?!因为|说|不|很)[^,。;]{1,40}而是",
        r"应该是[^,。;]{1,40},?\s*(?:而不是|不是)",
        roles=_USER,
    ),
    _cue(
        "rejected",
        r"\b(?:we|I|the team)(?:['’]ve| have| has)?\s+(?:already |finally |also |just )?"
        r"(?:rejected|ruled out|discarded|abandoned|gave up on|given up on|dropped the idea of)\b",
        r"\b(?:was|were|is|are|has been|have been) (?:rejected|ruled out|discarded|abandoned)\b"
        r"(?! by (?:the )?(?:server|guard|linter|compiler|api)\b)",
        r"\b(?:we|I)(?:['’]ve| have)? (?:also |already |first )?tried\b.{2,80}\b(?:but|and)\b.{0,40}"
        r"(?:did ?n['’]t (?:work|help|scale|fix)|failed|made (?:it|things) worse|"
        r"was (?:far |much )?too (?:slow|complex|expensive))",
        r"(?:我们?|咱们|团队|方案|已经?|最终|最后)[^,。;]{0,16}(?:否决|放弃|排除|弃用)了|"
        r"(?:方案|做法|办法|思路|路线)[^,。;]{0,12}(?:行不通|走不通|不可行|被否)|试过[^。;]{1,40}(?:不行|没用|失败|太慢|行不通)",
    ),
    _cue(
        "decision",
        r"\b(?:we|the team|both sides|leadership|management)(?:['’]ve| have| has)?\s+"
        r"(?:just |finally |now |all |both |also |already )?(?:decided|agreed|chosen|settled|opted)\s+"
        r"(?:to|on|that|against|for|not)\b",
        r"\blet['’]s\s+(?:go|stick|settle)\s+(?:with|on|for)\b(?! (?:it|an? example|that)\b)",
        r"\bwe(?:['’]ll| will|['’]re going to| are going to)\s+(?:go|stick)\s+with\b",
        r"\b(?:it (?:is|was)|it['’]s|has been|been) (?:decided|agreed) (?:to|that|on)\b",
        r"\b(?:my|our|the) (?:final )?decision is\b",
        r"(?:^|[,。;]|我们?|咱们|大家|团队|会上|最终|最后|已经|已|一致|就|现在|于是|所以)\s*"
        r"(?:(?:今天|刚刚|刚才|一致|都|也|就|先)\s*)?决定(?!权|性|不了|因素|于|是否|要不要|怎么|吗|了吗)",
        r"就这么(?:定|办)|就按.{1,16}(?:办|来|执行|走)|拍板|敲定(?!前|之前)|一致同意|最终(?:选择?|采用|方案是)",
        r"(?:我们|咱们|那就|就)(?:先)?(?:采用|选用|选择|选)(?!什么|哪)",
    ),
    _cue(
        "decision",
        r"\bI(?:['’]ve| have)?\s+(?:just |finally |now )?decided\s+(?:to|on|that|against|not)\b",
        r"\bI(?:['’]ll| will|['’]m going to| am going to)\s+(?:go|stick)\s+with\b",
        roles=_USER,
    ),
    _cue(
        "root_cause",
        r"\broot cause\b.{0,40}\b(?:is|was|were|turned out|lies)\b",
        r"(?:根因|根本原因|问题根源)[^,。]{0,16}(?:是|在于|就是|为)|问题出在|罪魁祸首",
    ),
    _cue(
        "lesson",
        r"\blessons? (?:learn(?:ed|t)|here|is|was)\b|\bnote to self\b",
        r"\blearn(?:ed|t) (?:it |that |this )?the hard way\b",
        r"\bnext time,? (?:we|you|let['’]s)\b.{0,8}(?:should|must|need|will|['’]ll)\b",
        r"\bwe (?:should|must|need to) (?:always|never)\b",
        r"教训(?:是|就是|:)|吸取.{0,8}教训|踩(?:了|过|的).{0,8}坑|经验(?:是|就是)",
        r"下次(?:要|记得|应该|一定|必须|先|不要|别)",
    ),
    _cue(
        "preference",
        r"\bI(?:['’]d| would)?\s+(?:(?:strongly|really|generally|usually|always|much|also)\s+)?prefer\b",
        r"\bmy preference is\b|\bfrom now on\b|\bfor future (?:reference|sessions|answers)\b",
        rf"^(?:please,?\s+|and\s+|so\s+)?(?:always|never|do(?:n['’]t| not) ever)\s+(?:{_ORDERS})\b",
        r"\bplease (?:always|never)\b",
        rf"\bI (?:like|want|need) (?:my|all|all my|your|the) (?:\w+ ){{0,2}}(?:{_OURS})\b.{{1,60}}",
        r"以后[^,。;]{0,12}(?:都|一律|默认)|以后(?:请|不要|别|每次|所有|的?(?:回答|回复|报告|代码|数字|总结))",
        r"今后(?:都|请|一律|不要|别)|从现在(?:开始|起)",
        r"我(?:个人)?(?:更|比较|一向|一直)?(?:偏好|倾向于?|习惯用|更喜欢|喜欢你)",
        r"(?:请|麻烦)(?:你)?(?:始终|一律|每次都|总是|务必每次)|永远(?:不要|别)|^(?:一律|默认)(?:用|使用|不|按)|记住[:,]",
        roles=_USER,
    ),
    _cue(
        "open_thread",
        r"\b(?:still|remains?|left) (?:open|unresolved|unclear|unconfirmed|undecided|pending|outstanding|"
        r"to be (?:confirmed|decided|done))\b",
        r"\b(?:needs? to be|yet to be|is to be|are to be|to be) (?:confirmed|determined|clarified)\b|\bTB[DC]\b",
        r"\bwe still (?:need|have) to\b",
        r"\b(?:we|I) (?:have|has|had)n['’]t (?:yet )?(?:decided|confirmed|resolved|verified)\b",
        r"\bblocked (?:on|by)\b|\bopen (?:question|thread|item)\b|^(?:\[ \]\s*)?TODO\b",
        r"\bwaiting (?:on|for) .{1,40}\b(?:confirm|confirmation|approve|approval|sign[- ]?off|reply|feedback)\b",
        r"待(?:确认|定(?!制|位)|办|跟进|核实|讨论|解决|回复|补充|批)|悬而未决|没有?定论",
        rf"(?:还|尚|仍|暂)(?:没有?|未|待|需|需要|要)(?:最终)?(?:{_SETTLED})|需要(?:再|进一步)?(?:确认|核实|跟进)",
        r"等.{1,12}(?:确认|批复|审批|回复)(?:后|之后|再|。|$)",
    ),
    _cue(
        "next_step",
        r"\bnext steps? (?:is|are|would be|will be)\b|\baction items?\b",
        r"^(?:下一步|接下来)(?:[,是:]|就是|我们?|要|需要|先|由)|^后续(?:要|需要|计划|由|我们)",
    ),
    _cue(
        "conclusion",
        r"\b(?:in conclusion|to conclude|we (?:can )?conclude|(?:the|our|my) conclusion (?:is|was)|"
        r"the (?:upshot|bottom line) is|the (?:key |main )?takeaway (?:is|here))\b",
        r"\bthe (?:biggest|main|largest|highest|key|primary) (?:\w+ )?"
        r"(?:gap|risk|driver|cause|reason|blocker|bottleneck|shortfall)s?\b.{0,40}\b(?:is|are|was|were|comes? from)\b",
        r"结论(?:是|就是|为)|^综上|^总的来[说看]|由此可见",
        r"(?:主要|核心|最大|首要)的?(?:原因|问题|风险|缺口|差距|gap|driver|瓶颈)[^,。]{0,12}(?:是|在于|来自|在|:)",
        r"(?:缺口|差距|gap)\s*(?:主要)?(?:来自|在于)",
    ),
)
#: Advice, wishes and instructions: a figure in them is no fact.
_ADVICE = re.compile(
    r"\b(?:should|could|would|can|may|might|will|aim|ensure|consider|suppose|example|e\.g|trying|hope|want|trouble|"
    r"understand|you|your|let['’]s)\b|比如|例如|假设|可以|应该|建议|希望|你的?",
    re.IGNORECASE,
)
_MAX_FACT_CHARS = 200
#: A business figure: money with a sign or unit, or a percentage. "100 %" is a manner of speaking.
_FIGURE = re.compile(
    r"(?:[¥$€£]\s?\d|(?<!\b10)\d\s?(?:%|percent\b|个?百分点|万元?|亿元?|(?:USD|RMB|CNY|EUR|美元|人民币)\b))|"
    r"[+−-]\s?\d+(?:\.\d+)?\s?%"
)
_BARE = re.compile(
    rf"^(?:no|nope|{_WRONG}|not quite|that(?:['’]s| is) (?:{_WRONG})|correction|actually|{_WRONG_ZH})[\s,.:;!—–。-]*$",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:it|that|this|the|they)\b.{0,60}\b(?:is|are|was|were|should)\b|\b(?:it|that)['’]s\b|\d", re.IGNORECASE
)
_CONTRAST = re.compile(r"\bnot\b|\binstead of\b|\brather than\b|不是|而不是|并非|从.{1,20}改[为成]", re.IGNORECASE)


def classify_sentence(sentence: str, role: str) -> ItemKind | None:
    """Return the kind of a sentence without a label by its strongest cue, ``None`` for most sentences."""
    narrow = narrowed(sentence)
    if is_question(narrow) or _CONDITION.match(narrow):
        return None
    for cue in _CUES:
        if role in cue.roles and cue.pattern.search(narrow):
            return cue.kind
    if is_completed_work(narrow, role):
        return "deliverable"
    return "fact" if _states_figure(narrow) else None


def announces_correction(sentence: str, following: str) -> bool:
    """Return whether *sentence* only announces a correction («不对。») that *following* then makes."""
    if _BARE.match(narrowed(sentence)) is None or is_question(following):
        return False
    return re.search(r"[一-鿿]", following) is not None or _STATES.search(following) is not None


def names_old_value(sentence: str) -> bool:
    """Return whether a correction names the value that it replaces."""
    return _CONTRAST.search(sentence) is not None


def _states_figure(sentence: str) -> bool:
    prose = re.sub(r"`[^`]*`", " ", sentence)
    return len(prose) <= _MAX_FACT_CHARS and _FIGURE.search(prose) is not None and _ADVICE.search(prose) is None
