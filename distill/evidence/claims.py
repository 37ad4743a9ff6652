"""Parse a sentence into a claim about work that git can confirm.

A claim names commits, files, symbols or versions, or says that something was done. Each named thing is one assertion
with its own action, so a half-true sentence does not pass for a true one. Plans, requests and questions claim nothing.
``distill.evidence.checking`` decides whether a claim holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from guard.lazy_regex import lazy_regex
from recall.text.stems import stem
from recall.text.word_tables import stop_words

from ..statements.names import Name, NameKind, commits_in, names_in, prose_of
from ..statements.sentences import is_question, narrowed

__all__ = [
    "Action",
    "Assertion",
    "Claim",
    "content_pairs",
    "content_words",
    "is_completed_work",
    "lasting_symbols",
    "parse_claim",
    "reports_push",
]

Action = Literal["added", "removed", "changed", "fixed", "renamed", "reverted", "none"]

#: Patterns for each action: English verbs in reporting forms, in the third person, and Chinese verbs. Reporting forms
#: are past tense and participle, because "add" alone is a plan or an order. The third person counts only for a commit
#: («3f9c2e1 adds a retry»). Elsewhere it describes how code works.
_VERBS: tuple[tuple[Action, str, str, str], ...] = (
    (
        "added",
        r"added|created|implemented|introduced|wrote|written|built|generated|shipped|released|tagged|published",
        "adds|creates|implements|introduces",
        "新增|添加|增加|加上|加了|加入|创建|新建|实现|写好|写了|引入|发布|生成",
    ),
    (
        "removed",
        r"removed|deleted|dropped|got rid of|no longer exists?|(?:is|are) (?:now )?gone",
        "removes|deletes|drops",
        "删除|移除|删掉|删了|去掉|去除|不存在了|不在了",
    ),
    (
        "changed",
        r"changed|updated|modified|refactored|rewrote|rewritten|edited|migrated|bumped|replaced|merged|extended|committed|"  # noqa: ISC004
        r"pushed|landed|completed|finished",
        "changes|updates|modifies|refactors|rewrites|migrates|bumps|replaces|extends",
        "更新|修改|改了|改成|改为|重构|重写|调整|迁移|升级|替换|合并|提交|推送|完成",
    ),
    ("fixed", r"fixed|resolved|repaired|patched|corrected", "fixes|resolves", "修复|修好|解决|修正"),
    ("renamed", r"renamed|moved", "renames|moves", "重命名|改名|移动到|移到"),
    ("reverted", r"reverted|rolled back|backed out|undid", "reverts", "回滚|撤销|还原"),
)
#: Of these verbs, the ones that say that a remote has the work. 推送 is also a message to a device.
_PUSH = lazy_regex(r"pushed|推送(?!通知|消息|提醒|服务|功能|接口|模块|渠道)", re.IGNORECASE)
_REPORTING, _BY_COMMIT = (
    [
        (action, lazy_regex(pattern, re.IGNORECASE))
        for action, past, present, chinese in _VERBS
        for pattern in ((rf"\b(?:{past})\b", chinese) if reporting else (rf"\b(?:{present})\b",))
    ]
    for reporting in (True, False)
)
#: Characters before a verb that can make it a plan, a description or a denial. No such wording is longer.
_BEFORE_CHARS = 200
#: Words before a verb that only describes: «an updated version», «are created when».
_DESCRIBES = lazy_regex(
    r"\b(?:an?|the|your|my|our|this|these|those|any|each|every|newly|recently|has|get|gets|is|are|being|be)\s+$",
    re.IGNORECASE,
)
_PLANNED = lazy_regex(
    r"(?:\b(?:will|shall|should|must|could|would|can|may|might|needs?|going|want|wants|plan|plans|let'?s|have|has|if|when|"
    r"once|until|before|after)\s+(?:to\s+|not\s+)*(?:be|get|being)\s+(?:\w+\s+)?|\bto be (?:\w+ )?|\b(?:being|be) |"
    r"\b(?:if|once|when|until|before|unless)\b[^,;]{0,60})$",
    re.IGNORECASE,
)
_PLANNED_ZH = lazy_regex(
    r"(?:要|将(?!`|\s*`|[^,。;]{1,40}$)|会|准备|计划|打算|应该|应当|可以|需要|需|待|请|帮我|记得|建议|想|能|如果|等到|正在|是否|"
    r"下一步|再|去|不要|别|必须|希望|让我|我来)[^,。;了已]{0,8}$"
)
_NEGATED = lazy_regex(r"(?:\b(?:not|never|cannot|without|neither)|n['’]t)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
_NEGATED_ZH = lazy_regex(r"(?:没有?|并?未|尚未|不是|并非|不)[^,。;]{0,4}$")
_DONE_ZH = lazy_regex(r"了|已|完|好|掉")

_NEXT_TO = lazy_regex(r"了?\W{0,3}(?:the\s+)?(?:commit|提交)?\W{0,3}", re.IGNORECASE)
#: Words in front of a name when the action is at or about the named thing, and not on it.
_PLACE = lazy_regex(
    r"(?:\b(?:to|in|into|from|inside|of|at|on|within|under|for|about|against|around|behind)\s+(?:the\s+)?"
    r"(?:(?:file|module|class|function|method|script|helper)\s+)?|在|到|从|里的|往|给|为|对|向|针对|关于)\s*`?$",
    re.IGNORECASE,
)
#: Words behind a name when the action is on a part of it, or on a list that contains it.
_ASIDE = lazy_regex(
    r"^`?(?:['’]s\b|\s+(?:(?!(?:and|or|plus|with|including|but|so|which|that|because|since|as|after|before|when|while|"
    r"for|to|in|of|on|from|was|were|is|are|has|have)\b)[a-z]+\s+){0,2}?(?:calls?|usages?|uses?|imports?|references?|parameters?|params?|arguments?|"
    r"args?|flags?|options?|checks?|tests?|docs?|docstrings?|entry|entries|lines?|hooks?|warnings?|errors?|logs?|"
    r"logging|support|stubs?|mocks?|fixtures?|comments?|bugs?|crash(?:es)?|section|workaround|alias(?:es)?)\b|"
    r"\s+(?:to|into|from|off)\s+(?:the|our|my|your|this|that|a|an|its|all)\s+"
    r"(?!(?:\w+\s+)?(?:repo|repository|project|package|codebase|code|tree|main|master|branch|disk|app|folder|directory)\b)|"
    r"\s*(?:中|里面?|内|上|下|处|的(?!是)))",
    re.IGNORECASE,
)
_NEW_CLAUSE = lazy_regex(r":(?=[\s`\u4e00-\u9fff]|$)|[;。—–]")
_LIST = lazy_regex(r"(?:[\s`*,、&]|\b(?:and|or|both)\b|[和与及])*", re.IGNORECASE)
#: Most characters between a name and the preposition that governs it.
_NEAR_CHARS = 40
_SAME_CLAUSE = lazy_regex(r"[^。;]{0,20}$")
_AFTER = lazy_regex(
    r"^`?\s*(?:(?:file|module|function|class|helper|script|method|文件|模块|函数|类|脚本|方法)\s*)?"
    r"(?:(?:was|were|is|are|has been|have been|had been|got|now|already|also|both|all)\s+|"
    r"已经|已|被|都|也|给|从[^,。]{0,12}?)*$",
    re.IGNORECASE,
)
_TARGET = lazy_regex(
    r"^`?\s*(?:(?:was|is|has been)\s+(?:renamed|moved)\s+)?(?:to|into|as|->|→|(?:重命名|改名)[为成]|移到|移动到|为|成)"
    r"\s*`?$",
    re.IGNORECASE,
)
#: Words about something that goes away, and words of work on something that stays.
_LEAVES = (
    r"\b(?:remov|delet|drop|replac|renam|migrat|deprecat|retir|revert|eliminat|inlin)[a-z]*|"
    r"\b(?:rid of|instead of|in place of|away from|no longer|without|obsolete|unused|gone)\b"
)
_LEAVES_ZH = "删|移除|去掉|去除|替换|替代|取代|迁移|重命名|改名|改成|改为|弃用|废弃|不再|回滚|撤销|还原|不存在|不在了"
_STAYS = r"\b(?:fixed|added|created|implemented|introduced|updated|corrected|repaired|extended)\b|修复|新增|添加|实现"
_WORK_NOUN = lazy_regex(
    r"\b(?:scripts?|tests?|functions?|modules?|class(?:es)?|methods?|endpoints?|configs?|configuration|pipelines?|"
    r"reports?|docs?|documentation|readme|branch(?:es)?|pull requests?|PRs?|commits?|patch(?:es)?|migrations?|"
    r"schemas?|tables?|dashboards?|spreadsheets?|slides|decks?|bugs?|regressions?|builds?|dependenc(?:y|ies)|parser|"
    r"index|API|CLI|workflows?|jobs?)\b|"
    r"脚本|测试|函数|模块|接口|配置|报告|文档|分支|补丁|表格|看板|缺陷|漏洞|代码|依赖|流水线|索引|幻灯片",
    re.IGNORECASE,
)
_FIRST_PERSON = lazy_regex(
    r"^(?:ok(?:ay)?[,.]\s*|done[,.:!]\s*|great[,.!]\s*|all set[,.:]\s*|好的?[,。]\s*|完成[,。]\s*)*"
    r"(?:(?:i|we)(?:\s*['’]ve|\s+have)?\s+(?:now\s+|also\s+|just\s+|already\s+)*)?$",
    re.IGNORECASE,
)
_DATE = lazy_regex(r"\d{4}-\d{2}-\d{2}|\b\d{1,2}:\d{2}\b")
_WORD = lazy_regex(r"[A-Za-z][A-Za-z0-9]*(?:['’-][A-Za-z0-9]+)*|\d+(?:\.\d+)*", re.ASCII)
_COMMON_ZH = lazy_regex(
    "|".join(chinese for *_, chinese in _VERBS)
    + "|已经|现在|问题|代码|文件|功能|模块|项目|系统|相关|一些|几个|若干|全部|所有|主干|版本|优化|改进"
    "|[了的是在到为把将被给已并和与及里上下个这那]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """One thing that a claim names, and the action on it.

    *place* is the file of a symbol and *target* the new name in a rename. Both are empty when the claim does not name
    them. *aside* means that something was added to the thing or removed from it, and not the thing itself.
    """

    kind: NameKind
    subject: str
    action: Action
    negated: bool = False
    aside: bool = False
    place: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence about work.

    *commits* are hexadecimal, in order, and *strict* says that the sentence calls them commits. *reverted* are the
    commits that were reverted. *action* is that of the first reporting verb. *words* are the content words besides
    the names.
    """

    text: str
    action: Action
    negated: bool = False
    commits: tuple[str, ...] = ()
    strict: bool = False
    reverted: tuple[str, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verb:
    action: Action
    start: int
    end: int
    negated: bool


def parse_claim(text: str, role: str = "assistant") -> Claim | None:
    """Parse one sentence, and return ``None`` when git could confirm nothing in it.

    *role* matters for Chinese, where «删除 a.py» is an order from a user and a report from an assistant.

    >>> parse_claim("Removed `old_parser.py` in commit 3f9c2e1.").assertions[0].action
    'removed'
    """
    if is_question(text):
        return None
    prose = prose_of(text)
    commits, strict = commits_in(prose)
    verbs = _verbs(prose, role)
    if not verbs and not commits:
        return None
    subjects = names_in(prose)
    assertions = tuple(_assertions(prose, subjects, verbs)) if verbs else ()
    first = verbs[0] if verbs else None
    words = content_words(_beyond_names(prose, subjects, commits))
    says_enough = len(words) >= 3 or len(content_pairs(prose)) >= 6
    if not commits and not assertions and not (says_enough and _reports_own_work(prose, verbs)):
        return None
    return Claim(
        text=text,
        action=first.action if first else "none",
        negated=bool(first and first.negated),
        commits=commits,
        strict=strict,
        reverted=tuple(_reverted(prose, commits, verbs)),
        assertions=assertions,
        words=words,
    )


def is_completed_work(sentence: str, role: str = "assistant") -> bool:
    """Return whether the sentence reports finished work: a reporting verb, and an object of work."""
    if is_question(sentence):
        return False
    sentence = narrowed(sentence)
    verbs = [verb for verb in _verbs(sentence, role) if not verb.negated]
    if not verbs:
        return False
    if commits_in(sentence)[0] or names_in(sentence):
        return True
    return _reports_own_work(sentence, verbs) and _WORK_NOUN.search(sentence) is not None


def reports_push(sentence: str) -> bool:
    """Return whether the sentence reports that work was pushed to a remote.

    >>> [reports_push(text) for text in ("Pushed commit 3f9c2e1.", "Fixed the pager, not pushed yet.")]
    [True, False]
    """
    prose = prose_of(sentence)
    return any(_PUSH.match(prose, verb.start) and not verb.negated for verb in _verbs(prose, "assistant"))


def lasting_symbols(claims: Sequence[Claim]) -> list[str]:
    """Return the symbols that *claims* report work on, in order, except those that a claim may say were removed."""
    symbols = [(claim, item) for claim in claims for item in claim.assertions if item.kind == "symbol"]
    removed = {
        item.subject
        for claim, item in symbols
        if item.negated or item.action in {"removed", "renamed", "reverted"} or _is_removed(item.subject, claim.text)
    }
    return [symbol for symbol in dict.fromkeys(item.subject for _, item in symbols) if symbol not in removed]


def _is_removed(symbol: str, text: str) -> bool:
    """Return whether words of removal stand before *symbol* or right behind it: «replaced all calls of a_b()»."""
    name = rf"(?<![A-Za-z0-9_]){re.escape(symbol)}(?![A-Za-z0-9_])"
    before = rf"(?:{_LEAVES}|{_LEAVES_ZH})(?:(?!{_STAYS})[^;;。]){{0,60}}?{name}"
    passive = r"(?:(?:was|were|is|are|has|have|had|been|be|being|got|now|then|already|also|finally|to|will|should)\s+)+"
    behind = rf"{name}[`()\s]*(?:{passive}(?:{_LEAVES})|[^,,;;。]{{0,8}}(?:{_LEAVES_ZH}))"
    return re.search(f"{before}|{behind}", text, re.IGNORECASE) is not None


def content_words(text: str) -> tuple[str, ...]:
    """Return the distinct content words of *text* in order, stemmed and in lower case. Numbers stay whole."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        if word not in stop_words("report") and (len(word) > 2 or word[0].isdigit()):
            found.setdefault(stem(word))
    return tuple(found)


def content_pairs(text: str) -> set[str]:
    """Return the overlapping pairs of Chinese characters in *text*, none across a common word of reports."""
    runs = re.findall(r"[\u4e00-\u9fff]{2,}", _COMMON_ZH.sub(" ", text))
    return {run[at : at + 2] for run in runs for at in range(len(run) - 1)}


def _reports_own_work(text: str, verbs: list[_Verb]) -> bool:
    """Return whether speakers report their own work: a verb comes first, or a Chinese sentence has 了 or 已."""
    chinese = any("\u4e00" <= text[verb.start] <= "\u9fff" for verb in verbs) and _DONE_ZH.search(text) is not None
    return chinese or any(_FIRST_PERSON.match(text[: verb.start]) for verb in verbs)


def _reverted(text: str, commits: Sequence[str], verbs: Sequence[_Verb]) -> Iterator[str]:
    """Yield those of *commits* that stand right behind a verb of reverting."""
    for name in commits:
        before = text[: text.find(name)]
        verb = next((verb for verb in reversed(verbs) if verb.end <= len(before)), None)
        if verb and verb.action == "reverted" and _NEXT_TO.fullmatch(before[verb.end :]):
            yield name


def _verbs(text: str, role: str) -> list[_Verb]:
    """Return the reporting verbs in the order of the text, without plans and requests."""
    found = []
    for action, pattern in (*_REPORTING, *(_BY_COMMIT if commits_in(text)[0] else ())):
        for match in pattern.finditer(text):
            before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()]
            chinese = "\u4e00" <= match.group()[0] <= "\u9fff"
            if (_PLANNED_ZH if chinese else _PLANNED).search(before) or _DESCRIBES.search(before):
                continue
            if chinese and role == "user" and not _DONE_ZH.search(_clause(text, match.start(), match.end())):
                continue
            negated = (_NEGATED_ZH if chinese else _NEGATED).search(before) is not None
            found.append(_Verb(action=action, start=match.start(), end=match.end(), negated=negated))
    return sorted(found, key=lambda verb: verb.start)


def _clause(text: str, start: int, end: int) -> str:
    left = max(text.rfind(mark, 0, start) for mark in ",。;") + 1
    rights = [at for mark in ",。;" if (at := text.find(mark, end)) >= 0]
    return text[left : min(rights, default=len(text))]


def _beyond_names(text: str, names: list[Name], commits: tuple[str, ...]) -> str:
    """Return *text* without names, commits, dates and times of day."""
    text = _blanked(text, names)
    for commit in commits:
        text = text.replace(commit, " ")
    return _DATE.sub(" ", text)


def _assertions(text: str, names: list[Name], verbs: list[_Verb]) -> Iterator[Assertion]:
    """Yield each name with its verb: one right behind it («a.py was deleted»), else the last before it."""
    skip, place = set[int](), ""
    bare = _blanked(text, names)
    for index, name in enumerate(names):
        verb = None if index in skip else _governing(text, bare, names, index, verbs)
        if verb is None:
            continue
        following = names[index + 1] if index + 1 < len(names) else None
        between = text[name.end : following.start] if following else ""
        aside = name.kind in {"path", "symbol"} and _is_aside(text, name)
        if aside and name.kind == "path" and following and following.kind == "symbol" and _SAME_CLAUSE.match(between):
            place = name.name  # «in a.py, added foo()»
            continue
        target = ""
        if verb.action == "renamed" and following and following.kind == name.kind and _TARGET.match(between):
            skip.add(index + 1)
            target, aside = following.name, False  # «从 a.py 移到 b.py»
        elif name.kind == "symbol" and following and following.kind == "path" and _PLACE.search(between):
            skip.add(index + 1)
            place = following.name
        yield Assertion(
            kind=name.kind, subject=name.name, action="changed" if aside else verb.action, negated=verb.negated,
            aside=aside and verb.action in {"added", "removed"}, target=target,
            place=place if name.kind == "symbol" else "",
        )  # fmt: skip
        place = ""


def _is_aside(text: str, name: Name) -> bool:
    """Return whether the action is at or about the named thing («tests for a.py»), and not on the thing itself."""
    return (
        _PLACE.search(text[max(0, name.start - _NEAR_CHARS) : name.start]) is not None
        or _ASIDE.search(text[name.end :]) is not None
    )


def _governing(text: str, bare: str, names: list[Name], index: int, verbs: list[_Verb]) -> _Verb | None:
    """Return the verb that governs the name at *index*. *bare* is *text* with blanks for all names."""
    name = names[index]
    limit = names[index + 1].start if index + 1 < len(names) else len(text)
    behind = next((verb for verb in verbs if name.end <= verb.start < limit), None)
    if behind and _AFTER.match(text[name.end : behind.start]):
        return behind
    before = next((verb for verb in reversed(verbs) if verb.start < name.start), None)
    if before:
        return before if _reaches(bare, before, names[:index], name) else None
    later = [verb for verb in verbs if verb.start >= name.end]
    joined = later and all(
        _LIST.fullmatch(text[left.end : right.start])
        for left, right in zip(names[index:], names[index + 1 :], strict=False)
        if right.end <= later[0].start
    )
    return later[0] if joined else None


def _reaches(bare: str, verb: _Verb, earlier: list[Name], name: Name) -> bool:
    """Return whether *verb* governs the later *name*: in one clause, or in a list that the verb announces."""
    breaks = [match.end() for match in _NEW_CLAUSE.finditer(bare, verb.end, name.start)]
    if not breaks:
        return True
    has_object = any(verb.end <= other.start < breaks[-1] for other in earlier)
    return not has_object and _LIST.fullmatch(bare, breaks[-1], name.start) is not None


def _blanked(text: str, names: list[Name]) -> str:
    """Return *text* with each of *names* replaced by as many blanks."""
    parts, at = [], 0
    for name in names:
        parts += [text[at : name.start], " " * (name.end - name.start)]
        at = name.end
    return "".join([*parts, text[at:]])
