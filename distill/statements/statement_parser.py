"""What one statement says, taken apart: its words, and the particulars that make it another statement if they change.

Particulars are numbers with their units, days and dates, periods, names, negations and opposite words. Everything is
read off the text by rules, in English and Chinese; Chinese is compared character by character, because nothing here
cuts it into words. What two statements are to each other is the business of ``distill.statements.contradiction``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from recall.text.irregular_forms import forms_of

__all__ = ["Statement", "Token", "TokenKind", "are_opposites", "parse_statement", "stem"]

TokenKind = Literal["word", "han", "name", "number", "label", "day", "date", "time", "period"]

_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
)
_UNITS = (
    r"%|percent\b|个?百分点|万元?|亿元?|元|美元|tokens?\b|lines?\b|ms\b|s\b|secs?\b|seconds?\b|minutes?\b|mins?\b|hours?\b|"
    r"days?\b|weeks?\b|months?\b|years?\b|[kKmMgGtT]i?[bB]\b|[kKmMbB]\b|USD\b|EUR\b|RMB\b|CNY\b"
)
_SPELLED = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred|"
    "thousand"
)
_TOKEN = re.compile(
    r"(?P<code>`[^`\n]+`)"
    rf"|(?P<date>\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?\b|\d{{4}}年(?:\d{{1,2}}月)?(?:\d{{1,2}}[日号])?|"
    rf"\d{{1,2}}月(?:\d{{1,2}}[日号])?|[一二三四五六七八九十]+月(?:[一二三四五六七八九十]+[日号])?|"
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:{_MONTHS})\b(?:\s+\d{{4}})?|"
    rf"\b(?:{_MONTHS})\b\.?(?:\s+\d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,?\s+\d{{4}})?|\b\d{{1,2}}(?:st|nd|rd|th)\b)"
    r"|(?P<day>\b(?i:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)(?i:days?)\b|(?:周|星期|礼拜)[一二三四五六日天])"
    r"|(?P<time>\b\d{1,2}:\d{2}(?:\s?[aApP][mM]\b)?|\b\d{1,2}\s?[aApP][mM]\b|[\d一二三四五六七八九十]{1,3}点半?)"
    r"|(?P<period>\b(?:[QH][1-4]|FY\s?\d{2,4})\b|第?[一二三四]季度|\b(?:19|20)\d{2}\b(?!\s?%))"
    rf"|(?P<number>(?<![A-Za-z_])[+-]?\s?[¥$€£]?\d+(?:[.,]\d+)*\s?(?:{_UNITS})?(?![A-Za-z_])|\b(?:{_SPELLED})\b|"
    r"[两二三四五六七八九十百]+(?=[个次天周月年倍小分人条家笔级步份轮]))"
    r"|(?P<latin>[A-Za-z][\w]*(?:['’][a-z]+)?(?:[-_./:@#+]\w+)*)"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff])",
)
#: A number behind one of these is the number of a thing, not how much of it there is.
_LABELLED = re.compile(
    r"(?:\b(?:builds?|steps?|phases?|weeks?|sprints?|rooms?|chapters?|tickets?|issues?|stages?|rounds?|teams?|versions?|"
    r"pages?|tables?|figures?|items?|options?|tiers?|levels?|milestones?|batch(?:es)?|lines?|PRs?)|#|第)\s*$",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[中英日法德韩俄](?:文|语)|汉语")
_LIGHT = frozenset(
    """a about again all already also am an and any are as at be been being both but by did do does doing done
    each else every few finally for from further get gets go goes going had has have having he hence her here hers his
    how however i if in into is it its itself just let lets like ll made make makes me more most much my of off ok on
    once only or our ours over own per please prefer preference preferences preferred quite rather re really s same
    shall she should so some such than that the their them then there these they this those through thus to too
    under up upon us use used uses using utilise utilize ve very via want wants was we were what when where which while
    who will with would yes you your yours must need needs always still yet one now today currently actually indeed
    decide decided decision decisions agree agreed choose chose chosen pick picked adopt adopted adopts conclusion
    lesson correction note remember instead anymore longer lot switch switched switches switching change changed changes
    moved because possible able migrate migrated replace replaced replaces postponed settle settled stick next new keep
    ensure whenever out plan plans planned going""".split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)
_LIGHT_HAN = re.compile(
    "从现在(?:开始|起)|以后|今后|现在|目前|已经|决定|我们?|咱们|大家|请|一律|默认|都|就|也|还|又|了|的|地|得|着|过|吧|吗|呢|啊|"
    "改用|改为|改成|改到|换成|换用|换到|调整为|调整到|推迟到|提前到|延到|采用|使用|选用|选择|应该|需要|要|会|把|被|对|于|在|和|与|及|"
    "用|是|为|到|给|让|将|这个?|那个?|其|之|一下|记住|结论|教训|更正|最终|最后"
)
_NEGATIVE = frozenset(
    """not no never without neither nor none cannot isn aren wasn weren don doesn didn won wouldn shouldn couldn can't
    hasn haven hadn mustn nobody nothing avoid avoids avoided stop stops stopped except unless""".split()  # noqa: SIM905
)
_NEGATIVE_HAN = re.compile(
    "(?:不(?![同过仅错但断]|一定)|没有?|(?<![特区级类])别(?!的|人)|勿|未(?!来)|(?<!毫)无(?!论|线)|禁止|停止|避免)(?:再|要)?"
)
_OPPOSITES = """enable/disable allow/forbid allow/deny allow/block accept/reject approve/reject include/exclude
increase/decrease raise/lower grow/shrink add/remove keep/drop keep/remove keep/delete before/after above/below
open/close open/shut start/stop begin/end on/off public/private internal/external early/late earlier/later first/last
more/less more/fewer most/least always/never up/down ascending/descending largest/smallest highest/lowest
bigger/smaller faster/slower high/low long/short longer/shorter pass/fail success/failure safe/unsafe stable/unstable
required/optional mandatory/optional true/false win/lose hire/fire buy/sell push/pull merge/split manual/automatic
manually/automatically sync/async synchronous/asynchronous strict/lenient light/dark tabs/spaces hot/cold left/right
love/hate possible/impossible legal/illegal paid/free online/offline verbose/terse verbose/brief daily/weekly
daily/monthly weekly/monthly hourly/daily local/remote inside/outside upper/lower continue/pause frozen/approved
available/unavailable everyone/nobody all/none red/green red/blue formal/informal formal/casual signed/unsigned
开启/关闭 打开/关闭 启用/禁用 允许/禁止 接受/拒绝 批准/驳回 增加/减少 提高/降低 上升/下降 之前/之后 以前/以后 公开/私有
内部/外部 提前/推迟 最大/最小 最高/最低 更多/更少 升序/降序 手动/自动 成功/失败 必须/可选 左/右 上/下 前/后 先/后 高/低
升/降 大/小 多/少 快/慢 新/旧 开/关 加/减 涨/跌 买/卖"""
#: Where the order of the words carries the meaning.
_DIRECTED = frozenset(
    """before after from to than over under into onto above below until against by replaces beats precedes causes
    reports depends follows blocks calls""".split()  # noqa: SIM905
)
#: Verbs that open an instruction: capitals there name nobody.
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[\n。])[\s\"'“(]*$")
_VERB_NEXT = re.compile(r"^(?:\s*[\u4e00-\u9fff]|'s\b|\s+(?:is|was|has|had|will|and\s+[A-Z]|[a-z]{2,}ed)\b)")
#: The same for a word that may be a name or the first of two nouns ("Stock builds").
_MAY_BE_NAME = re.compile(r"^[\"'“(]*(?P<word>[A-Z][a-z]+)(?='s\b|\s+[a-z]+(?:ed|s)\b)")
_IMPERATIVES = frozenset(
    """use put set run ship keep ask send call tell show give write read check test build make take move add drop fix
    lock sort warm wait start stop open close merge split pin cut plan host store cache log warn avoid never always do
    prefer deploy release review verify the a an this that these those all every each no our my your its his her their
    commit push pull create delete remove change update import export enable disable allow forbid encrypt rotate retry
    skip assume round return translate save share mention format quote cite answer reply respond begin end sign list
    print upload download name label tag bring inject when if after before once since because while for in on at with
    without by from to users tests builds sessions entries reports customers""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One thing said. *key* is what is compared; *start* and *end* are places in the statement's text."""

    kind: TokenKind
    key: str
    start: int
    end: int

    @property
    def weight(self) -> float:
        """How much of a statement it is: a Chinese character half a word."""
        return 0.5 * len(self.key) if self.kind == "han" else 1.0

    @property
    def particular(self) -> bool:
        """Whether another one in its place makes another statement."""
        return self.kind not in {"word", "han"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A text and its tokens in order, without words that carry little; *negations* are counted, not tokens.

    *directions* are the words that point from one thing to another ("before"), each with the word behind it. *opener*
    is its first word where that may be a name.
    """

    text: str
    tokens: tuple[Token, ...]
    negations: int
    directions: frozenset[tuple[str, str]] = frozenset()
    opener: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(token.key for token in self.tokens)

    @property
    def particulars(self) -> tuple[str, ...]:
        """Numbers, days, dates and periods: by kind, those of a kind in order."""
        found = (token for token in self.tokens if token.particular and token.kind != "name")
        return tuple(token.key for token in sorted(found, key=lambda token: token.kind))

    def names(self, among: Container[str] = ()) -> tuple[str, ...]:
        """Its names in order; those of its words, too, that are *among* the names of another statement.

        A name that opens a sentence is not always told from a word.
        """
        return tuple(token.key for token in self.tokens if token.kind == "name" or token.key in among)

    @property
    def chinese(self) -> bool:
        """Whether most of it is Chinese: the order of characters makes its words, and a model of English knows none."""
        return sum(token.kind == "han" for token in self.tokens) > len(self.tokens) / 2

    @property
    def weight(self) -> float:
        return sum(token.weight for token in self.tokens)


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> Statement:
    """Take *text* apart.

    >>> parse_statement("Deploy billing on Monday, not on Friday").keys
    ('deploi', 'bill', 'day:monday', 'day:friday')
    """
    plain = _normalise(text)
    light = [match.span() for match in _LIGHT_HAN.finditer(plain)]
    negative = [match.span() for match in _NEGATIVE_HAN.finditer(plain)]
    tokens: list[Token] = []
    negations = len(negative)
    pointing: list[tuple[str, int]] = []
    for match in _TOKEN.finditer(plain):
        if match["han"] and any(a <= match.start() < b for a, b in (*light, *negative)) and not _language(plain, match):
            continue
        if match["latin"]:
            word = match["latin"].casefold().replace("’", "'")
            negations += word.split("'")[0] in _NEGATIVE or word.endswith("n't")
            pointing += [(word, match.end())] * (word in _DIRECTED)
        tokens.extend(_token(match, plain))
    behind = ((word, next((token.key for token in tokens if token.start >= end), "")) for word, end in pointing)
    first = _MAY_BE_NAME.match(plain)
    opener = first["word"].casefold() if first and first["word"].casefold() not in _IMPERATIVES | _LIGHT else ""
    return Statement(
        text=plain, tokens=tuple(tokens), negations=negations, directions=frozenset(behind),
        opener=stem(opener) if opener else "",
    )  # fmt: skip


def stem(word: str) -> str:
    """A word without its ending, lower case; irregular forms by their first one.

    >>> stem("deployed"), stem("policies") == stem("policy"), stem("chose") == stem("choose")
    ('deploi', True, True)
    """
    plain = min((word.casefold(), *forms_of(word)))
    if len(plain) <= 3:
        return plain
    for ending in ("ations", "ation", "ings", "ing", "edly", "ed", "ies", "es", "ly", "s", "e"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3 and not plain.endswith("ss"):
            root = plain[: -len(ending)]
            return _evened(f"{root}y" if ending == "ies" else root)
    return _evened(plain)


def are_opposites(one: str, other: str) -> bool:
    """Whether two keys are opposite words."""
    return frozenset((one, other)) in _pairs()


@lru_cache(maxsize=1)
def _pairs() -> frozenset[frozenset[str]]:
    both = (pair.split("/") for pair in _OPPOSITES.split())
    return frozenset(frozenset((stem(a) if a.isascii() else a, stem(b) if b.isascii() else b)) for a, b in both)


def _normalise(text: str) -> str:
    """Width and signs made one, emphasis and code fences gone; case stays."""
    plain = unicodedata.normalize("NFKC", text).replace("−", "-").replace("’", "'")
    return re.sub(r"\*{1,3}|\\", "", plain)


def _token(match: re.Match[str], text: str) -> Iterator[Token]:
    """The token or tokens that *match* spells; none for a word that carries little."""
    kind = match.lastgroup or ""
    raw, start, end = match.group(), match.start(), match.end()
    if kind == "latin":
        yield from _latin(raw, start, text)
    elif kind == "han":
        language = _language(text, match)
        if language and language.start() == start:
            yield Token(kind="name", key=language.group(), start=start, end=language.end())
        elif not language:
            yield Token(kind="han", key=raw, start=start, end=end)
    elif kind == "code":
        yield Token(kind="name", key=raw.strip("`").casefold(), start=start, end=end)
    elif kind == "number":
        label = _LABELLED.search(text[:start]) is not None
        yield Token(kind="label" if label else "number", key=f"number:{_number(raw)}", start=start, end=end)
    else:
        yield Token(kind=kind, key=f"{kind}:{_compact(raw)}", start=start, end=end)  # type: ignore[arg-type]


def _latin(raw: str, start: int, text: str) -> Iterator[Token]:
    word = re.sub(r"'s?$|'[a-z]+$", "", raw)
    if _is_name(word, start, text):
        yield Token(
            kind="name", key=stem(word) if word.isalpha() else word.casefold(), start=start, end=start + len(raw)
        )
        return
    at = start
    for part in re.split(r"(?<=\w)[-_./:@#+](?=\w)", word):
        plain = part.casefold()
        if plain not in _LIGHT and plain not in _NEGATIVE and len(plain) > 1:
            yield Token(kind="word", key=stem(plain), start=at, end=at + len(part))
        at += len(part) + 1


def _is_name(word: str, start: int, text: str) -> bool:
    """A capital where no sentence begins, or a spelling that only names have."""
    if re.search(r"\d|_|/", word) or re.search(r"[a-z][A-Z]|[A-Z]{2}", word) or re.search(r"[a-z]\.[a-z]", word):
        return True
    if not word[0].isupper() or word == "I":
        return False
    plain = word.casefold()
    if not _SENTENCE_START.search(text[:start]):
        return plain not in _LIGHT
    return plain not in _IMPERATIVES and plain not in _LIGHT and bool(_VERB_NEXT.match(text[start + len(word) :]))


def _language(text: str, match: re.Match[str]) -> re.Match[str] | None:
    """The name of a language that the character belongs to."""
    for at in (match.start(), match.start() - 1):
        found = _LANGUAGE.match(text, at) if at >= 0 else None
        if found and found.start() <= match.start() < found.end():
            return found
    return None


def _number(raw: str) -> str:
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", _compact(raw)).replace("percent", "%")
    return re.sub(r"(?<=[a-z]{3})s$", "", plain.removeprefix("+"))


def _compact(raw: str) -> str:
    plain = re.sub(r"\s+", "", raw).casefold().rstrip(".")
    plain = re.sub(r"^(?:星期|礼拜)", "周", plain).replace("周天", "周日")
    return re.sub(r"(?<=day)s$", "", plain)


def _evened(root: str) -> str:
    """*root* with one consonant where an ending had doubled it, and one spelling of a final y."""
    if root.endswith("y"):
        return f"{root[:-1]}i"
    return root[:-1] if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz" else root
