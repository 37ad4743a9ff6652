"""Read what a report of work names: files, symbols, numbers, proper names, English words and Chinese terms.

Words of one concept stand for each other («docs» and «documentation», «补全» and "completion"). The tables are in
``distill/evidence/data``. Light words name no object, and a commit need not have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from guard.lazy_regex import lazy_regex
from recall.text.stems import stem
from recall.text.word_tables import word_table

from ..statements.names import commits_in, names_in, prose_of

__all__ = [
    "ReportUnit",
    "ReportUnitKind",
    "Stems",
    "count_value",
    "light_words",
    "opposites",
    "parts_of",
    "read_units",
    "stems_of",
]

ReportUnitKind = Literal["path", "symbol", "proper", "number", "count", "word", "term", "unknown"]
#: Stems that must occur together: one word, or the parts of a compound.
Stems = tuple[str, ...]

_WORD = lazy_regex(r"[A-Za-z][A-Za-z0-9]*(?:['’][a-z]+)?", re.ASCII)
_NUMBER = lazy_regex(
    r"(?<![A-Za-z0-9_.])[vV#]?(?P<number>\d+(?:\.\d+)*(?:-?(?:dev|rc|alpha|beta|pre)(?:\.?\d+)?(?![A-Za-z]))?)(?![A-Za-z0-9_]*_)",
    re.ASCII,
)
_DATE = lazy_regex(r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}\b")
_READ_THE_DOCS = lazy_regex(r"read the docs", re.IGNORECASE)
_CODE = lazy_regex(r"`(?P<code>[^`\n]{1,120})`")
_IDENTIFIER = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SLASHED = lazy_regex(r"(?<![\w./-])[A-Za-z_.][\w.-]*(?:/[\w.-]*\w)+", re.ASCII)
#: Identifiers that need no quotes to be seen as such.
_BARE = lazy_regex(
    r"(?<![\w.-])_{2}\w+__(?!\w)|(?<![\w.-])(?:[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[A-Z]{2,}[a-z]+\w*|"
    r"_[A-Za-z]\w*|[a-z]+[0-9]*[A-Z]\w*)",
    re.ASCII,
)
#: Words joined by a hyphen name one thing: opt-in, black-box, top-level.
_JOINED = lazy_regex(r"(?<![\w.-])[A-Za-z]{1,20}(?:-[A-Za-z]{2,20})+(?![\w-])", re.ASCII)
#: Words that count, in English and before a Chinese measure word. Their digits and ordinals stand for them.
_COUNTS = {
    word: tuple(row.split()[:3])
    for row in (
        "2 two second 二 两", "3 three third 三", "4 four fourth 四", "5 five fifth 五", "6 six sixth 六",
        "7 seven seventh 七", "8 eight eighth 八", "9 nine ninth 九", "10 ten tenth 十",
    )
    for word in row.split()[1:]
}  # fmt: skip
_COUNT = lazy_regex(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\b|"
    r"(?<![一二两三四五六七八九十百])[二两三四五六七八九十](?=[级个种次条步项处段章])",
    re.IGNORECASE,
)
_PARTS = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_CHINESE = lazy_regex(r"[\u4e00-\u9fff]+")
_MAX_TERM_CHARS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportUnit:
    """One thing that a report names, and where it stands. A *soft* one says little when the commit lacks it.

    *own* are the stems of the words themselves. *mates* are the stems of their concept, any of which will do. Paths and
    symbols are compared as they are written.
    """

    kind: ReportUnitKind
    text: str
    start: int
    end: int
    own: Stems = ()
    mates: frozenset[Stems] = field(default_factory=frozenset)
    soft: bool = False

    @property
    def explicit(self) -> bool:
        """Return whether the commit must have the thing."""
        return self.kind in {"path", "symbol", "proper", "number"}


def read_units(text: str) -> tuple[ReportUnit, ...]:
    """Return what *text* names in order, without grammar words."""
    prose = _without_commits(prose_of(text))
    found: list[ReportUnit] = []
    rest = prose
    for start, end, units in _names(prose):
        found += units
        rest = rest[:start] + " " * (end - start) + rest[end:]
    chinese = _CHINESE.search(rest) is not None
    for match in _NUMBER.finditer(rest):
        found.append(ReportUnit(kind="number", text=match["number"], start=match.start(), end=match.end()))
    rest = _NUMBER.sub(lambda match: " " * len(match.group()), rest)
    for match in _COUNT.finditer(rest):
        word = match.group().lower()
        same = frozenset((stem(one),) for one in _COUNTS[word])
        found.append(ReportUnit(kind="count", text=word, start=match.start(), end=match.end(), mates=same, soft=True))
    rest = _COUNT.sub(lambda match: " " * len(match.group()), rest)
    for unit in _joined(rest, chinese=chinese):
        found.append(unit)
        rest = rest[: unit.start] + " " * (unit.end - unit.start) + rest[unit.end :]
    found += _words(rest, chinese=chinese)
    found += _terms(rest)
    return tuple(sorted(found, key=lambda unit: unit.start))


def _without_commits(prose: str) -> str:
    """Return *prose* with blanks for commit hashes, dates and times of day, of the same length."""
    for name in commits_in(prose)[0]:
        prose = prose.replace(name, " " * len(name))
    prose = _READ_THE_DOCS.sub(lambda match: "readthedocs".ljust(len(match.group())), prose)
    return _DATE.sub(lambda match: " " * len(match.group()), prose)


def stems_of(word: str) -> Stems:
    """Return the stems of a word or of the parts of an identifier.

    >>> stems_of("default_maps")
    ('default', 'map')
    """
    return tuple(stem(part) for part in parts_of(word))


@lru_cache(maxsize=65_536)
def parts_of(word: str) -> tuple[str, ...]:
    """Return the parts of an identifier in lower case: at underscores, capitals and digits."""
    return tuple(part.lower() for part in _PARTS.findall(word))


def count_value(word: str) -> str:
    """Return the digits of a word that counts, and any other text as it is.

    >>> count_value("three"), count_value("两"), count_value("17")
    ('3', '2', '17')
    """
    return _COUNTS.get(word.lower(), (word,))[0]


@cache
def opposites() -> dict[str, frozenset[str]]:
    """Return the opposites of each word, English ones by their stems."""
    found: dict[str, set[str]] = {}
    pairs = (pair for line in _lines("opposites") for pair in line.split())
    for pair in (*word_table("opposites"), *pairs):
        sides = [side if _CHINESE.match(side) else stem(side) for side in pair.split("/")]
        for side in sides:
            found.setdefault(side, set()).update(other for other in sides if other != side)
    return {word: frozenset(others) for word, others in found.items()}


def _names(prose: str) -> Iterator[tuple[int, int, list[ReportUnit]]]:
    """Yield the files, symbols and quoted code of *prose* with their place. None overlaps another."""
    taken: list[tuple[int, int]] = []

    def free(start: int, end: int) -> bool:
        return not any(start < other_end and other_start < end for other_start, other_end in taken)

    for name in names_in(prose):
        if name.kind in {"path", "symbol"} and free(name.start, name.end):
            taken.append((name.start, name.end))
            kind: ReportUnitKind = "path" if name.kind == "path" else "symbol"
            yield name.start, name.end, [ReportUnit(kind=kind, text=name.name, start=name.start, end=name.end)]
    for match in _SLASHED.finditer(prose):
        if free(*match.span()):
            taken.append(match.span())
            yield *match.span(), [ReportUnit(kind="path", text=match.group(), start=match.start(), end=match.end())]
    for match in _CODE.finditer(prose):
        if free(*match.span()):
            taken.append(match.span())
            yield *match.span(), list(_quoted(match["code"], match.start("code")))
    for match in _BARE.finditer(prose):
        if free(*match.span()) and (match.group()[0].isupper() or (stem(match.group().lower()),) not in _english()):
            taken.append(match.span())
            kind = "symbol" if match.group().startswith("_") else "proper"
            yield (
                *match.span(),
                [
                    ReportUnit(
                        kind=kind, text=match.group(), start=match.start(), end=match.end(), own=stems_of(match.group())
                    )
                ],
            )


def _quoted(code: str, at: int) -> Iterator[ReportUnit]:
    """Yield the identifiers of quoted code as symbols, and its numbers. Code with a slash is a path."""
    if _SLASHED.fullmatch(code):
        yield ReportUnit(kind="path", text=code, start=at, end=at + len(code))
        return
    for match in _IDENTIFIER.finditer(code):
        if len(match.group()) > 1:
            yield ReportUnit(kind="symbol", text=match.group(), start=at + match.start(), end=at + match.end())
    for match in _NUMBER.finditer(code):
        yield ReportUnit(kind="number", text=match["number"], start=at + match.start(), end=at + match.end())


def _joined(text: str, *, chinese: bool) -> Iterator[ReportUnit]:
    """Yield the words joined by a hyphen that have a part that names something."""
    for match in _JOINED.finditer(text):
        lower = match.group().lower()
        parts = lower.split("-")
        if lower in light_words() or not any(_names_something(part) for part in parts):
            continue
        own = tuple(stem(part) for part in parts)
        mates = _english().get(own, frozenset()) | {(stem("".join(parts)),)}
        kind: ReportUnitKind = "proper" if chinese else "word"
        yield ReportUnit(kind=kind, text=lower, start=match.start(), end=match.end(), own=own, mates=mates)


def _names_something(word: str) -> bool:
    return len(word) > 1 and word not in word_table("function_words") and word not in light_words()


def _words(text: str, *, chinese: bool) -> Iterator[ReportUnit]:
    first = _WORD.search(text)
    for match in _WORD.finditer(text):
        word = match.group().replace("’", "'")
        lower = word.lower()
        plain = lower.removesuffix("'s")
        own = (stem(plain),)
        light = bool({plain, lower} & light_words())
        if len(plain) < 2 or plain in word_table("function_words") or (light and not chinese):
            continue  # an English word in a Chinese sentence is a name: «set 命令»
        mates = _english().get(own, frozenset())
        starts = first is not None and match.start() == first.start()
        capital = word[0].isupper() and not starts
        soft = plain in _soft()
        proper = not (mates or soft or light) and (capital or chinese) and len(plain) > 2
        yield ReportUnit(
            kind="proper" if proper else "word",
            text=plain,
            start=match.start(),
            end=match.end(),
            own=own,
            mates=mates,
            soft=soft,
        )


def _terms(text: str) -> Iterator[ReportUnit]:
    """Yield the Chinese terms by longest match. Characters in no table make one unknown unit with their neighbours."""
    for run in _CHINESE.finditer(text):
        table, light = _chinese(), _light_zh()
        at, unknown = run.start(), -1
        while at < run.end():
            size = next(
                (
                    size
                    for size in range(min(_MAX_TERM_CHARS, run.end() - at), 0, -1)
                    if text[at : at + size] in table or text[at : at + size] in light
                ),
                0,
            )
            if not size:
                unknown = at if unknown < 0 else unknown
                at += 1
                continue
            if unknown >= 0:
                yield ReportUnit(kind="unknown", text=text[unknown:at], start=unknown, end=at)
                unknown = -1
            word = text[at : at + size]
            if word in table and word not in light:
                yield ReportUnit(
                    kind="term", text=word, start=at, end=at + size, mates=table[word], soft=word in _soft()
                )
            at += size
        if unknown >= 0:
            yield ReportUnit(kind="unknown", text=text[unknown : run.end()], start=unknown, end=run.end())


@cache
def _concepts() -> tuple[tuple[tuple[Stems, ...], tuple[str, ...]], ...]:
    found = []
    for line in _lines("concepts"):
        english, _, chinese = line.partition("|")
        alternatives = tuple(dict.fromkeys(_alternative(word.lstrip("*")) for word in english.split()))
        found.append((alternatives, tuple(chinese.split())))
    return tuple(found)


@cache
def _products() -> frozenset[Stems]:
    """Return the words of concepts that name one product. It may stand for the concept, and nothing stands for it."""
    words = (word for line in _lines("concepts") for word in line.partition("|")[0].split())
    return frozenset(_alternative(word[1:]) for word in words if word.startswith("*"))


def _alternative(word: str) -> Stems:
    return tuple(stem(part) for part in re.split(r"[-_]+", word) if part)


@cache
def _english() -> dict[Stems, frozenset[Stems]]:
    """Return the alternatives of each English word. A Chinese one is a tuple with that term."""
    found: dict[Stems, set[Stems]] = {}
    for alternatives, chinese in _concepts():
        for own in alternatives:
            if own not in _products():
                found.setdefault(own, set()).update(alternatives, ((term,) for term in chinese))
    return {own: frozenset(others) for own, others in found.items()}


@cache
def _chinese() -> dict[str, frozenset[Stems]]:
    found: dict[str, set[Stems]] = {}
    for alternatives, chinese in _concepts():
        for term in chinese:
            found.setdefault(term, set()).update(alternatives, ((term,) for term in chinese))
    for line in _lines("learned_terms"):
        term, *stems = line.split()
        found.setdefault(term, {(term,)}).update((one,) for one in stems)
    return {term: frozenset(others) for term, others in found.items()}


@cache
def light_words() -> frozenset[str]:
    """Return the English words that name no object."""
    return frozenset(word for line in _lines("light_words") for word in line.split())


@cache
def _soft() -> frozenset[str]:
    return frozenset(word for line in _lines("soft_words") for word in line.split())


@cache
def _light_zh() -> frozenset[str]:
    return frozenset(word for line in _lines("light_words_zh") for word in line.split())


@cache
def _lines(name: str) -> tuple[str, ...]:
    text = files(__package__).joinpath("data", f"{name}.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
