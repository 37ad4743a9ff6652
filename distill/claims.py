"""What a sentence says about work that git can confirm.

A claim names commits, files, symbols or versions, or says that something was done. Each thing it names is one
assertion with its own action, so that a half-true sentence is not taken for a true one. Plans, requests and
questions claim nothing. Whether a claim holds is the business of ``distill.evidence``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .sentences import folded, is_question

__all__ = [
    "Action",
    "Assertion",
    "Claim",
    "Kind",
    "content_pairs",
    "content_words",
    "is_completed_work",
    "is_file_name",
    "named_paths",
    "parse_claim",
]

Action = Literal["added", "removed", "changed", "fixed", "renamed", "reverted", "none"]
Kind = Literal["path", "symbol", "tag", "branch"]

#: For each action, as patterns: English verbs in the forms that report (past tense, participle; "add" alone is a plan
#: or an order), in the third person (which counts only for a commit, «3f9c2e1 adds a retry»; elsewhere it describes
#: how code works), and Chinese verbs.
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
_REPORTING, _BY_COMMIT = (
    [
        (action, re.compile(pattern, re.IGNORECASE))
        for action, past, present, chinese in _VERBS
        for pattern in ((rf"\b(?:{past})\b", chinese) if reporting else (rf"\b(?:{present})\b",))
    ]
    for reporting in (True, False)
)
#: «an updated version», «are created when»: no report of something done.
_DESCRIBES = re.compile(
    r"\b(?:an?|the|your|my|our|this|these|those|any|each|every|newly|recently|has|get|gets|is|are|being|be)\s+$",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"(?:\b(?:will|shall|should|must|could|would|can|may|might|needs?|going|want|wants|plan|plans|let'?s|have|has|if|when|"
    r"once|until|before|after)\s+(?:to\s+|not\s+)*(?:be|get|being)\s+(?:\w+\s+)?|\bto be (?:\w+ )?|\b(?:being|be) |"
    r"\b(?:if|once|when|until|before|unless)\b[^,;]{0,60})$",
    re.IGNORECASE,
)
_PLANNED_ZH = re.compile(
    r"(?:要|将(?!`|\s*`|[^,。;]{1,40}$)|会|准备|计划|打算|应该|应当|可以|需要|需|待|请|帮我|记得|建议|想|能|如果|等到|正在|是否|"
    r"下一步|再|去|不要|别|必须|希望|让我|我来)[^,。;了已]{0,8}$"
)
_NEGATED = re.compile(r"(?:\b(?:not|never|cannot|without|neither)|n['’]t)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
_NEGATED_ZH = re.compile(r"(?:没有?|并?未|尚未|不是|并非|不)[^,。;]{0,4}$")
_DONE_ZH = re.compile(r"了|已|完|好|掉")

_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s<>()]+|\bwww\.[^\s<>()]+", re.IGNORECASE)
_EXTENSIONS = (
    "py|pyi|js|mjs|cjs|ts|tsx|jsx|java|kt|kts|go|rs|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|zsh|sql|md|mdx|rst|txt|"
    "json|jsonl|yaml|yml|toml|ini|cfg|conf|lock|csv|tsv|html|css|scss|vue|svelte|xml|proto|ipynb|lua|pl|ex|exs|erl|hs|tf|"
    "gradle|patch|xlsx|docx|pptx|pdf|png|svg"
)
#: In running text a name begins with ASCII, or else it would begin with the words before it: Chinese has no spaces.
_PATH = re.compile(
    r"(?<![A-Za-z0-9_/.@~-])(?:~?/|\.{1,2}/)?"
    r"(?:(?:[A-Za-z0-9_.@+\[\]-]+/)*[A-Za-z0-9_.@+\[\]-]*[A-Za-z0-9_\]-]|[A-Za-z0-9_.@+\[\]-]+/[\w.@+\[\]/-]{0,200}?[\w\]-])"
    rf"\.(?:{_EXTENSIONS})(?![A-Za-z0-9_/-]|\.[A-Za-z0-9])"
)
_QUOTED_PATH = re.compile(
    r"`(?P<path>[^`\s]+/[^`\s]*[^`\s/()]|(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG|Jenkinsfile)|"
    rf"[^`\s()]+\.(?:{_EXTENSIONS}))`"
)
_PRODUCT = re.compile(r"[A-Z][A-Za-z0-9]*\.js$")  # Node.js, Vue.js
_CALL = re.compile(r"(?<![\w.])(?:[A-Za-z_]\w*(?:\.|::|#))*(?P<name>[A-Za-z_]\w*)\(\)", re.ASCII)
_SNAKE = re.compile(
    r"(?<![\w/.-])(?:[A-Za-z_]\w*\.)*(?P<name>_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)(?![\w/-])", re.ASCII
)
_CAMEL = re.compile(r"`(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+)(?:\([^`)]*\))?`", re.ASCII)
_QUOTED_CALL = re.compile(r"`(?:[A-Za-z_]\w*\.)*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\([^`]*\)`", re.ASCII)
_TAG = re.compile(
    r"(?<![A-Za-z0-9_./-])v\d+\.\d+(?:\.\d+)?(?:[-.]?(?:rc|alpha|beta|a|b|dev)\.?\d*)?(?![A-Za-z0-9_/]|\.\d)", re.ASCII
)
_VERSION = re.compile(
    r"(?:version|release|tag|版本|标签)\s*(?:to\s+|为|到|号)?\s*`?(?P<name>\d+\.\d+(?:\.\d+)?)(?![\d.]*\d)",
    re.IGNORECASE,
)
_BRANCH = re.compile(
    r"(?:\bmerged\s+(?:the\s+)?branch\s+|合并了?\s*分支\s*)[`'\"]?(?P<name>[A-Za-z0-9][\w./-]*\w)"
    r"|\bmerged\s+(?:the\s+)?[`'\"]?(?P<first>[A-Za-z0-9][\w./-]*\w)[`'\"]?\s+branch\b",
    re.IGNORECASE | re.ASCII,
)
_HASH = re.compile(r"(?<![A-Za-z0-9_/.#=-])(?P<hash>[0-9a-f]{7,40})(?![A-Za-z0-9_/=-]|\.[A-Za-z0-9])")
_COMMIT_WORD = re.compile(
    r"\b(?:commit(?:ted|s)?|sha|hash|revision|merged|pushed|landed|cherry-picked|reverted)\b|"
    r"提交|推送|合并|回滚",
    re.IGNORECASE,
)
_NAMES_COMMIT = re.compile(
    r"(?:\b(?:commit(?:ted|s)?(?: (?:as|in|at|is|was))?|sha|hash|revision)|提交了?(?:为|是|号|到)?)\W{0,3}$",
    re.IGNORECASE,
)
_NEXT_TO = re.compile(r"了?\W{0,3}(?:the\s+)?(?:commit|提交)?\W{0,3}", re.IGNORECASE)
_PLACE = re.compile(
    r"(?:\b(?:to|in|into|from|inside|of|at|on|within|under)\s+(?:the\s+)?(?:file\s+|module\s+)?|在|到|从|里的|往)\s*`?$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^`?\s*(?:(?:file|module|function|class|helper|script|method|文件|模块|函数|类|脚本|方法)\s*)?"
    r"(?:(?:was|were|is|are|has been|have been|had been|got|now|already|also|both|all)\s+|"
    r"已经|已|被|都|也|给|从[^,。]{0,12}?)*$",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"^`?\s*(?:(?:was|is|has been)\s+(?:renamed|moved)\s+)?(?:to|into|as|->|→|重命名为|改名为|移到|移动到|为|成)\s*`?$",
    re.IGNORECASE,
)
_WORK_NOUN = re.compile(
    r"\b(?:scripts?|tests?|functions?|modules?|class(?:es)?|methods?|endpoints?|configs?|configuration|pipelines?|"
    r"reports?|docs?|documentation|readme|branch(?:es)?|pull requests?|PRs?|commits?|patch(?:es)?|migrations?|"
    r"schemas?|tables?|dashboards?|spreadsheets?|slides|decks?|bugs?|regressions?|builds?|dependenc(?:y|ies)|parser|"
    r"index|API|CLI|workflows?|jobs?)\b|"
    r"脚本|测试|函数|模块|接口|配置|报告|文档|分支|补丁|表格|看板|缺陷|漏洞|代码|依赖|流水线|索引|幻灯片",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"^(?:ok(?:ay)?[,.]\s*|done[,.:!]\s*|great[,.!]\s*|all set[,.:]\s*|好的?[,。]\s*|完成[,。]\s*)*"
    r"(?:(?:i|we)(?:\s*['’]ve|\s+have)?\s+(?:now\s+|also\s+|just\s+|already\s+)*)?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:['’-][A-Za-z0-9]+)*|\d+(?:\.\d+)*", re.ASCII)
#: Words that every report of work holds: that two texts share them proves nothing.
_COMMON_WORDS = """
    a an the this that these those it its i we you they he she my our your their me us and or but so then also
    both all any some each now just already still only very more most much new old is are was were be been being
    has have had do does did done not no to in into of for from by with without on at as up out off over under
    about after before when while because commit commits committed hash sha pushed merged landed branch main
    master head repo repository file files code change changes changed fix fixes fixed add adds added remove
    removes removed delete deletes deleted update updates updated create creates created implement implemented
    introduce introduced write wrote written build built make made use uses used using work works working issue
    issues problem problems bug bugs version release released tagged tag complete completed finish finished rename
    renamed move moved refactor refactored rewrite rewrote resolve resolved latest last first one two which there
    here today yesterday please ok okay yes will can should session sessions function method class module test
    tests what how who where well per via see
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_COMMON_ZH = re.compile(
    "|".join(chinese for *_, chinese in _VERBS)
    + "|已经|现在|问题|代码|文件|功能|模块|项目|系统|相关|一些|几个|若干|全部|所有|主干|版本|优化|改进"
    "|[了的是在到为把将被给已并和与及里上下个这那]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """One thing a claim names and what is said of it.

    *place* is the file a symbol is said to be in; *target* the new name in a rename. Both empty when not said.
    """

    kind: Kind
    subject: str
    action: Action
    negated: bool = False
    place: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A sentence about work. *commits* are hexadecimal, in order; *strict* when the sentence calls them commits.

    *reverted* are those of them that are said to be taken back; *action* is that of the sentence's first reporting
    verb; *words* are the content words beyond the names.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    kind: Kind
    name: str
    start: int
    end: int


def parse_claim(text: str, role: str = "assistant") -> Claim | None:
    """The claim that one sentence makes, or ``None`` when git could not confirm anything in it.

    *role* matters for Chinese, where «删除 a.py» is an order from a user and a report from an assistant.

    >>> parse_claim("Removed `old_parser.py` in commit 3f9c2e1.").assertions[0].action
    'removed'
    """
    if is_question(text):
        return None
    prose = _prose(text)
    commits, strict = _commits(prose)
    verbs = _verbs(prose, role)
    if not verbs and not commits:
        return None
    subjects = _subjects(prose)
    assertions = tuple(_assertions(prose, subjects, verbs)) if verbs else ()
    first = verbs[0] if verbs else None
    words = content_words(_without(prose, subjects, commits))
    says_enough = len(words) >= 3 or len(content_pairs(prose)) >= 6
    if not commits and not assertions and not (says_enough and _tells(prose, verbs)):
        return None
    return Claim(
        text=text,
        action=first.action if first else "none",
        negated=bool(first and first.negated),
        commits=commits,
        strict=strict or bool(verbs),
        reverted=tuple(_reverted(prose, commits, verbs)),
        assertions=assertions,
        words=words,
    )


def is_completed_work(sentence: str, role: str = "assistant") -> bool:
    """Whether the sentence reports finished work: a verb of doing, and something that work is done on."""
    if is_question(sentence):
        return False
    sentence = folded(sentence)
    verbs = [verb for verb in _verbs(sentence, role) if not verb.negated]
    if not verbs:
        return False
    if _commits(sentence)[0] or _subjects(sentence):
        return True
    return _tells(sentence, verbs) and _WORK_NOUN.search(sentence) is not None


def named_paths(text: str) -> list[str]:
    """The files that *text* names by a known ending, in order; addresses on the web are none."""
    return [
        subject.name for subject in _subjects(_prose(text)) if subject.kind == "path" and is_file_name(subject.name)
    ]


def is_file_name(name: str) -> bool:
    """Whether *name* can only be a file: it has a known ending, which `async/await` has not."""
    return (
        re.search(rf"\.(?:{_EXTENSIONS})$|(?:^|/)(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG)$", name) is not None
    )


def content_words(text: str) -> tuple[str, ...]:
    """The words of *text* that say something, stemmed and lower case, each once, in order. Numbers stay whole."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        if word not in _COMMON and (len(word) > 2 or word[0].isdigit()):
            found.setdefault(_stem(word))
    return tuple(found)


def content_pairs(text: str) -> set[str]:
    """The overlapping pairs of Chinese characters in *text*, none across a word that every report of work holds."""
    runs = re.findall(r"[\u4e00-\u9fff]{2,}", _COMMON_ZH.sub(" ", text))
    return {run[at : at + 2] for run in runs for at in range(len(run) - 1)}


def _tells(text: str, verbs: list[_Verb]) -> bool:
    """Whether the speaker reports own work: the sentence begins with the verb, or a Chinese one has its 了 or 已."""
    chinese = any("\u4e00" <= text[verb.start] <= "\u9fff" for verb in verbs) and _DONE_ZH.search(text) is not None
    return chinese or any(_FIRST_PERSON.match(text[: verb.start]) for verb in verbs)


def _prose(text: str) -> str:
    """*text* with narrow punctuation and with blanks for addresses on the web, of the same length."""
    return _URL.sub(lambda match: " " * len(match.group()), folded(text))


def _commits(text: str) -> tuple[tuple[str, ...], bool]:
    """The hashes in *text*, and whether the text calls them commits. A plain word or number is no hash."""
    strict = _COMMIT_WORD.search(text) is not None
    found = []
    for match in _HASH.finditer(text):
        name = match["hash"]
        mixed = re.search(r"\d", name) and re.search(r"[a-f]", name)
        named = _NAMES_COMMIT.search(text[: match.start()])
        if (mixed and (len(name) <= 12 or len(name) == 40)) or named:
            found.append(name)
    return tuple(dict.fromkeys(found)), strict


def _reverted(text: str, commits: Sequence[str], verbs: Sequence[_Verb]) -> Iterator[str]:
    """Those of *commits* that stand right behind a verb of taking back."""
    for name in commits:
        before = text[: text.find(name)]
        verb = next((verb for verb in reversed(verbs) if verb.end <= len(before)), None)
        if verb and verb.action == "reverted" and _NEXT_TO.fullmatch(before[verb.end :]):
            yield name


def _verbs(text: str, role: str) -> list[_Verb]:
    """The reporting verbs in the order of the text; plans and requests are left out."""
    found = []
    for action, pattern in (*_REPORTING, *(_BY_COMMIT if _commits(text)[0] else ())):
        for match in pattern.finditer(text):
            before = text[: match.start()]
            chinese = "\u4e00" <= match.group()[0] <= "\u9fff"
            if (_PLANNED_ZH if chinese else _PLANNED).search(before) or _DESCRIBES.search(before):
                continue
            done = _DONE_ZH.search(_clause(text, match.start(), match.end())) is not None
            if chinese and role == "user" and not done:
                continue
            negated = (_NEGATED_ZH if chinese else _NEGATED).search(before) is not None
            found.append(_Verb(action=action, start=match.start(), end=match.end(), negated=negated))
    return sorted(found, key=lambda verb: verb.start)


def _clause(text: str, start: int, end: int) -> str:
    left = max(text.rfind(mark, 0, start) for mark in ",。;") + 1
    rights = [at for mark in ",。;" if (at := text.find(mark, end)) >= 0]
    return text[left : min(rights, default=len(text))]


def _subjects(text: str) -> list[_Subject]:
    """The files, symbols and versions named, in the order of the text; what lies inside another is left out."""
    found: list[_Subject] = []
    patterns: tuple[tuple[Kind, re.Pattern[str]], ...] = (
        ("path", _QUOTED_PATH), ("path", _PATH), ("symbol", _QUOTED_CALL), ("symbol", _CALL), ("symbol", _CAMEL),
        ("symbol", _SNAKE), ("tag", _TAG), ("tag", _VERSION),
    )  # fmt: skip
    for match in _BRANCH.finditer(text):
        group = "name" if match["name"] else "first"
        found.append(_Subject(kind="branch", name=match[group], start=match.start(group), end=match.end(group)))
    for kind, pattern in patterns:
        for match in pattern.finditer(text):
            name = next((value for value in match.groupdict().values() if value), match.group())
            start, end = match.span()
            taken = any(start < other.end and other.start < end for other in found)
            if taken or (kind == "path" and (_PRODUCT.fullmatch(name) or not re.search(r"[A-Za-z]", name))):
                continue
            found.append(_Subject(kind=kind, name=name, start=start, end=end))
    return sorted(found, key=lambda subject: subject.start)


def _assertions(text: str, subjects: list[_Subject], verbs: list[_Verb]) -> Iterator[Assertion]:
    """Each subject with the verb that governs it: one right behind («a.py was deleted»), else the last before it."""
    skip = set[int]()
    for index, subject in enumerate(subjects):
        if index in skip:
            continue
        verb = _governing(text, subjects, index, verbs)
        if verb is None:
            continue
        following = subjects[index + 1] if index + 1 < len(subjects) else None
        between = text[subject.end : following.start] if following else ""
        if verb.action == "renamed" and following and following.kind == subject.kind and _TARGET.match(between):
            skip.add(index + 1)
            yield Assertion(
                kind=subject.kind, subject=subject.name, action="renamed", negated=verb.negated, target=following.name
            )
            continue
        if (
            subject.kind == "path"
            and index
            and _PLACE.search(text[: subject.start])
            and subjects[index - 1].kind == "symbol"
        ):
            continue  # where the symbol before it stands
        is_place = subject.kind == "path" and _PLACE.search(text[: subject.start]) is not None
        action: Action = "changed" if is_place and verb.start < subject.start and verb.action != "none" else verb.action
        place = _place_of(text, subjects, index)
        yield Assertion(kind=subject.kind, subject=subject.name, action=action, negated=verb.negated, place=place)


def _governing(text: str, subjects: list[_Subject], index: int, verbs: list[_Verb]) -> _Verb | None:
    subject = subjects[index]
    limit = subjects[index + 1].start if index + 1 < len(subjects) else len(text)
    behind = next((verb for verb in verbs if subject.end <= verb.start < limit), None)
    if behind and _AFTER.match(text[subject.end : behind.start]):
        return behind
    before = [verb for verb in verbs if verb.start < subject.start]
    if before:
        return before[-1]
    later = [verb for verb in verbs if verb.start >= subject.end]
    joined = later and all(
        re.fullmatch(r"`?\s*(?:,|、|and|or|和|与|及|以及)*\s*`?", text[a.end : b.start], re.IGNORECASE)
        for a, b in zip(subjects[index:], subjects[index + 1 :], strict=False)
        if b.end <= later[0].start
    )
    return later[0] if joined else None


def _place_of(text: str, subjects: list[_Subject], index: int) -> str:
    """The file named right behind a symbol, as in «foo() in a.py»; empty when there is none."""
    if subjects[index].kind != "symbol" or index + 1 == len(subjects) or subjects[index + 1].kind != "path":
        return ""
    between = text[subjects[index].end : subjects[index + 1].start]
    return subjects[index + 1].name if _PLACE.search(between) else ""


def _without(text: str, subjects: list[_Subject], commits: tuple[str, ...]) -> str:
    for subject in reversed(subjects):
        text = f"{text[: subject.start]} {text[subject.end :]}"
    for name in commits:
        text = text.replace(name, " ")
    return text


def _stem(word: str) -> str:
    """English endings taken off roughly, the same for both texts that are compared."""
    for ending in ("ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            if ending in {"ing", "ed"} and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]  # pinned, dropping
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
