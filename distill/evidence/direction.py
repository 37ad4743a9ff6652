"""Tell which things a report says came and which went, and whether a sentence denies.

The cues are few and general: they only mark what a commit then has to confirm by its added and removed lines. A missed
cue costs a verification, and never makes one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from guard.lazy_regex import lazy_regex

from .wording import ReportUnit

__all__ = [
    "Direction",
    "adds",
    "claims_absence",
    "denies",
    "directions",
    "exchange",
    "is_report",
    "mends",
    "negative",
    "superseded_numbers",
    "takes_away",
]

#: ``old``: the report says that it went. ``new``: that it replaces something. ``present``: all else.
Direction = Literal["old", "new", "present"]

_REMOVES = lazy_regex(
    r"\b(?:remov|delet|drop|trim|disabl|uninstall|unpin)(?:ed|s|ping|ped|ing|med|es)?\b|\b(?:got|gets|"
    r"get) rid of\b|\bno more\b|"
    r"\b(?:took|takes|taken) out\b|去掉|去除|移除|删除|删掉|删了|拿掉|停用|禁用|弃用",
    re.IGNORECASE,
)
_GONE = lazy_regex(
    r"\b(?:is|are|was|were|has been|have been|got)\s+(?:now\s+|also\s+)*(?:gone|removed|dropped|deleted)\b|"
    r"\bno longer\b|"
    r"(?:n['’]t|\bnot)\b[^,;]{0,60}\b(?:any ?more|any longer)\b|\b(?:is|are)n['’]t used\b|"
    r"(?:已经?|被)(?:删|移除|去掉)|没有?了|不在了",
    re.IGNORECASE,
)
_NOT_USED = lazy_regex(
    r"(?:n['’]t|\bnot|\bno longer)\s+(?:\w+\s+){0,2}?(?:use|used|need|needs|tests?|tested|runs?|lists?|requires?)\b|"
    r"不再(?:使用|用|支持|依赖|需要|测试|走|列)",
    re.IGNORECASE,
)
_INSTEAD = lazy_regex(
    r"\b(?:instead of|rather than|in place of|in favou?r of)\b|,\s*not\b|而不是|代替|取代", re.IGNORECASE
)
_OLD_TO_NEW = lazy_regex(
    r"\b(?:turn|convert|chang|replac|swap|switch|migrat|mov|renam|transform|port)(?:ed|s|es|ped|d)?\b"
    r"(?P<old>[^,;]{1,100}?)\b(?:into|to|with|by|for)\b(?P<new>[^,;]{1,100})",
    re.IGNORECASE,
)
#: «Old is called New»: the new name is an identifier, because a function «is called» as well.
_CALLED = lazy_regex(
    r"(?P<old>[^,;]{1,80}?)\b(?:is|are)\s+(?:now\s+)?(?:called|named)\s+(?P<new>`?\w*[A-Z_]\w*`?)(?:\s+now\b|\s*[.,;]|\s*$)"
)
_FROM_TO = lazy_regex(r"\bfrom\s+(?P<old>\S{1,60})\s+to\s+(?P<new>\S{1,60})", re.IGNORECASE)
_OLD_TO_NEW_ZH = lazy_regex(
    r"(?P<old>[^,;。]{0,60}?)(?:换成|改成|改为|替换成|替换为|转成|转为|改用|升到|升级到|升级为|(?:重命名|改名)(?:为|成)|(?:移|移动|挪|搬|迁移|迁)到)(?P<new>[^,;。]{1,60})"
)
_ONLY_NUMBER = lazy_regex(r"\W*[vV]?\d[\w.]*\W*(?:了|版)?\W*")
_NUMBERS = lazy_regex(r"(?<![\w.])v?(\d[\d.]*\d|\d)\s*(?:→|->|=>|\bto\b)\s*v?(\d[\d.]*\d|\d)", re.IGNORECASE)
_STOPS = lazy_regex(
    r"[,;。:]|\.\s|\b(?:but|and|so|because|since|that|which|when|in|from|for|to)\b|并|且|,", re.IGNORECASE
)
_FAILS = lazy_regex(
    r"\b(?:fail|crash|break|broke|error|hang|raise|leak|bug|problem|warn|complain|exception)\w*|\black\w*|丢|崩溃|"
    r"报错|出错|失败|卡|泄漏|异常|缺",
    re.IGNORECASE,
)
_MENDS = lazy_regex(
    r"\b(?:fix|correct|repair|resolv|proper|right|again|work|prevent|avoid)\w*|修|解决|纠正|改对|正常|避免|防止",
    re.IGNORECASE,
)
_NEGATIVE = lazy_regex(
    r"\b(?:no longer|any ?more|gone|rid of|without|no|not|never|cannot|unneeded|unused|redundant|independent\w*|"
    r"instead|rather|"
    r"un(?:used|needed|necessary|required))\b|n['’]t\b|"
    r"\b(?:remov|delet|drop|disabl|trim|strip|stop|prevent|avoid|deprecat|revert|replac|swap|skip|ignor|clean|"
    r"unpin|reduc|less|"
    r"left out|leav\w* out|exclud|discard|forbid|reject|simplif|convert|renam|mov|switch|migrat|turn|chang)\w*|"
    r"不再|去掉|去除|移除|删|没有|没了|拿掉|不|无|停用|禁用|避免|防止|弃用|回滚|撤销|换成|改成|改为|替换|转成|减少|精简|清理",
    re.IGNORECASE,
)
#: A claim of absence, stronger than a cue that something changed.
_ABSENT = lazy_regex(
    r"\b(?:no longer|any ?more|gone|rid of|without|removed|removes|deleted|dropped|lost|trimmed|unpinned|disabled)\b|"
    r"\b(?:is|are|do|does|did)n['’]t\b|\b(?:is|are|does|do) not\b|"
    r"不再|去掉|去除|移除|删除|删掉|删了|没有了|没了|拿掉|停用|禁用",
    re.IGNORECASE,
)
#: Words of a commit's subject that take something away.
_TAKES_AWAY = lazy_regex(
    r"\bno longer\b|\b(?:remov|delet|drop|disabl|unpin)\w*|\bwithout\b|\bget rid\b|n['’]t\b|\bnot\b|"
    r"去掉|去除|移除|删除|不再|停用|禁用",
    re.IGNORECASE,
)
_ADDS = lazy_regex(
    r"\b(?:add|new|support|introduc|allow|implement|creat|enabl|includ|set ?up|restor|pin)(?!less)\w*|新增|添加|增加|"
    r"支持|补|实现|引入|加上|启用",
    re.IGNORECASE,
)
_PLANS = lazy_regex(
    r"\b(?:I['’]ll|I will|we['’]ll|we will|I(?:['’]m| am) going to|let me|let['’]s|should|could|would|might|"
    r"may want|shall|"
    r"need(?:s)? to|going to|plan(?:s|ned)? to|want(?:s)? (?:me )?to|you can(?! now)|can you|next step|next up|"
    r"todo:|if you|"
    r"remember to|try to|tomorrow|later (?:on|today)|not yet|yet to|in progress|working on|still (?:need|have|"
    r"missing|to)|"
    r"(?:^|[.,;]\s*|(?:could|would|can) you )please\b|I can|we can|we could|proposal|propose|suggest|consider|"
    r"recommend)\b|^\s*(?:next|then|todo|wip|plan|idea|suggestion)\b|"
    r"准备(?!好)|打算|计划|应该|应当|建议|下一步|接下来|稍后|之后再|以后再|等会|请(?!求)|帮我|如果|是否|要不要|将会|我会|我来|让我|待办|还没|尚未|"
    r"正在|需要(?:去|再|先|把|在)?(?:改|加|删|修|做|写|补|升)|可以考虑|想要|希望|再考虑|还要|要改|要加|要删",
    re.IGNORECASE,
)
_DENIES = lazy_regex(
    r"\b(?:did|have|has|had|was|were)(?: not|n['’]t)\s+(?:\w+\s+){0,2}?(?:touch|chang|modif|fix|add|remov|updat|"
    r"merg|commit|includ|"
    r"implement|delet|bump|test|creat)\w*|\bnever (?:touch|chang|add|remov|fix)\w*|"
    r"\bleft\b[^,;.]{0,40}\b(?:alone|as (?:it|they) (?:was|were|is|are)|untouched|unchanged)\b|"
    r"(?:没有?|并?未|没能|不曾)(?:去|再)?(?:改|动|修|加|删|提交|合并|更新|实现|完成|添加|移除)",
    re.IGNORECASE,
)
_ORDERS = lazy_regex(
    r"^\s*(?:add|remove|delete|fix|update|change|create|implement|bump|drop|rename|move|use|make|replace|"
    r"refactor|write|run|"
    r"check|ensure|see|try|do not|don['’]t|keep|note)\b(?!:)",
    re.IGNORECASE,
)


def is_report(sentence: str) -> bool:
    """Return whether the sentence may report finished work: no plan, order, advice or denial."""
    return not (_PLANS.search(sentence) or _ORDERS.search(sentence) or denies(sentence))


def denies(sentence: str) -> bool:
    """Return whether the sentence says that work was not done."""
    return _DENIES.search(sentence) is not None


def negative(text: str) -> bool:
    """Return whether *text* has any word of absence or exchange."""
    return _NEGATIVE.search(text) is not None


def claims_absence(text: str) -> bool:
    """Return whether *text* says that something is not there, and does not only say that a failure is over."""
    return any(not _FAILS.search(_clause(text, match.start(), match.end())) for match in _ABSENT.finditer(text))


def takes_away(subject: str) -> bool:
    """Return whether a commit's subject takes something away and adds nothing."""
    return _TAKES_AWAY.search(subject) is not None and not adds(subject) and not mends(subject)


def adds(text: str) -> bool:
    """Return whether *text* has a word of addition."""
    return _ADDS.search(text) is not None


def mends(text: str) -> bool:
    """Return whether *text* says that something works again."""
    return _MENDS.search(text) is not None


def directions(text: str, units: Sequence[ReportUnit]) -> list[Direction]:
    """Return the direction of each of *units* in *text*."""
    found: list[Direction] = ["present"] * len(units)

    def mark(start: int, end: int, direction: Direction) -> None:
        for index, unit in enumerate(units):
            if start <= unit.start and unit.end <= end:
                found[index] = direction

    for match in (*_REMOVES.finditer(text), *_NOT_USED.finditer(text)):
        stop = _STOPS.search(text, match.end() + 1)
        end = stop.start() if stop else len(text)
        if not _FAILS.search(text[match.end() : end]):
            mark(match.end(), end, "old")
            stop_and = re.compile(r"\s*(?:and|和|与|、)\s*").match(text, end)  # «doesn't test 2.6 and 3.3»
            if stop_and:
                following = _STOPS.search(text, stop_and.end())
                if all(
                    unit.kind == "number"
                    for unit in units
                    if stop_and.end() <= unit.start < (following.start() if following else len(text))
                ):
                    mark(stop_and.end(), following.start() if following else len(text), "old")
    for match in _GONE.finditer(text):
        clause = max(text.rfind(mark_, 0, match.start()) for mark_ in ",;。") + 1
        if not _FAILS.search(text[clause : match.end()]):
            mark(clause, match.end(), "old")
    for match in _INSTEAD.finditer(text):
        stop = re.compile(r"[,;。]").search(text, match.end())
        start = max(text.rfind(mark_, 0, match.start()) for mark_ in ",;。") + 1
        mark(start, match.start(), "new")
        mark(match.end(), stop.start() if stop else len(text), "old")
    for old, new in _exchanges(text):
        mark(*old, "old")
        mark(*new, "new")
    return found


def exchange(text: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return where *text* names the old and the new side of an exchange, or ``None`` when it names none."""
    for match in _INSTEAD.finditer(text):
        return (match.end(), len(text)), (0, match.start())
    return next(iter(_exchanges(text)), None)


def superseded_numbers(text: str) -> frozenset[str]:
    """Return the numbers of *text* that give way to others: 0.720 in «Update mypy 0.720 → 0.730».

    >>> sorted(superseded_numbers("Update mypy 0.720 -> 0.730"))
    ['0.720']
    """
    pairs = _NUMBERS.findall(text)
    return frozenset(old for old, _ in pairs) - frozenset(new for _, new in pairs)


def _exchanges(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    return [
        (match.span("old"), match.span("new"))
        for pattern in (_OLD_TO_NEW, _CALLED, _FROM_TO, _OLD_TO_NEW_ZH)
        for match in pattern.finditer(text)
        # «gin 升级到 1.9.1» names a thing and its new number.
        if not _ONLY_NUMBER.fullmatch(match["new"]) or re.search(r"\d", match["old"])
    ]


def _clause(text: str, start: int, end: int) -> str:
    left = max(text.rfind(mark, 0, start) for mark in ",;。") + 1
    rights = [at for mark in ",;。" if (at := text.find(mark, end)) >= 0]
    return text[left : min(rights, default=len(text))]
