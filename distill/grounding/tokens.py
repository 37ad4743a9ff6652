"""Tokens of an entry and of the turns that it cites: words, values, persons and Chinese characters in their clauses.

Contractions are taken apart, so that "don't" and "does not" have the same "not". A value is a number, time or date in
all its readings. A person is a pronoun or the name of a speaker. The classes of words are in ``data/words.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from guard.lazy_regex import lazy_regex
from recall.text.irregular_forms import forms_of
from recall.text.stems import stem

from ..statements.cited_values import Value, value_mentions

__all__ = ["CLASSES", "Kind", "TextToken", "is_condition", "is_standin", "tokenise"]

Kind = Literal["word", "han", "value", "person", "guard", "light", "filler"]

_TOKEN = lazy_regex(
    r"(?P<path>(?:[~.]{0,2}/)?[A-Za-z_](?a:\w)*(?:[./\\_@#:+]+(?a:\w)+)+(?:\(\))?|(?:[~.]{0,2}/)[\w./]*\w)|"
    r"(?P<word>[^\W\d_\u3400-\u9fff]+(?:['’][^\W\d_\u3400-\u9fff]+)?(?![^\W\u3400-\u9fff])|[^\W\u3400-\u9fff]+)|(?P<han>[\u3400-\u9fff])|"
    r"(?P<sentence>(?:(?<!\b[MDS][rst])(?<!\b(?:Mrs|Sgt|Cpl|Rev|Gen|Col|Cpt))(?<!\bProf)|(?=[!?。！？\n]))[.!?。！？\n]+(?=\s|$|[\u3400-\u9fff\"”)）])|(?<=[\u3400-\u9fff])[!?]+|[。！？\n]|[\U0001f300-\U0001faff\u2600-\u27bf]+)|(?P<clause>[,;，；：、()（）—–]|:(?!\d)|\s-\s|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])|\.\.\.|…)|(?P<percent>%)"
)
#: Words before which a clause begins.
_OPENS = frozenset(
    [
        "but",
        "and",
        "so",
        "because",
        "cause",
        "cuz",
        "while",
        "whereas",
        "though",
        "although",
        "if",
        "unless",
        "until",
        "till",
        "when",
        "which",
        "who",
        "where",
        "then",
        "since",
    ]
)
_HAN_OPENS = ("但", "因为", "所以", "如果", "要是", "除非", "不过", "而且", "只要", "否则")
_SUBJECT, _OBJECT, _OWNER = "subject", "object", "owner"
#: Pronouns: person, family and cases. A name and "you" are subject or object.
_PRONOUNS: Mapping[str, tuple[str, str, frozenset[str]]] = {
    word: (person, family, frozenset(cases.split()))
    for words, person, family, cases in (
        ("i", "1", "i", _SUBJECT), ("me", "1", "i", _OBJECT), ("my", "1", "i", _OWNER), ("mine", "1", "i", _OWNER),
        ("myself", "1", "i", "self"), ("we", "1", "we", _SUBJECT), ("us", "1", "we", _OBJECT),
        ("our", "1", "we", _OWNER),
        ("ours", "1", "we", _OWNER), ("ourselves", "1", "we", "self"), ("you", "2", "you", "subject object"),
        ("your", "2", "you", _OWNER), ("yours", "2", "you", _OWNER), ("yourself", "2", "you", "self"),
        ("he", "3", "he", _SUBJECT), ("him", "3", "he", _OBJECT), ("his", "3", "he", _OWNER),
        ("himself", "3", "he", "self"),
        ("she", "3", "she", _SUBJECT), ("her", "3", "she", "object owner"), ("hers", "3", "she", _OWNER),
        ("herself", "3", "she", "self"), ("they", "3", "they", _SUBJECT), ("them", "3", "they", _OBJECT),
        ("their", "3", "they", _OWNER), ("theirs", "3", "they", _OWNER), ("themselves", "3", "they", "self"),
        ("themself", "3", "they", "self"),
    )
    for word in words.split()
}  # fmt: skip
_HAN_PRONOUNS: Mapping[str, tuple[str, str]] = {
    "我们": ("1", "we"), "咱们": ("1", "we"), "我": ("1", "i"), "俺": ("1", "i"), "咱": ("1", "we"), "本人": ("1", "i"),
    "我哋": ("1", "we"), "我們": ("1", "we"), "咱們": ("1", "we"), "你們": ("2", "you"), "你哋": ("2", "you"),
    "他們": ("3", "they"), "她們": ("3", "they"), "佢哋": ("3", "they"), "佢": ("3", "he"),
    "自己": ("1", "i"), "你们": ("2", "you"), "您": ("2", "you"), "你": ("2", "you"), "他们": ("3", "they"),
    "她们": ("3", "they"), "他": ("3", "he"), "她": ("3", "she"),
}  # fmt: skip
#: What stands before "ill" and "id" that are short for "I will" and "I would".
_IS_SUBJECT = lazy_regex(
    r"(?:^|[.,;!?\n—–-]|\b(?:and|but|so|or|if|then|actually|maybe|think|told (?:him|her|them)))\s*$", re.IGNORECASE
)
#: What stands before the first word of a sentence.
_OPENS_SENTENCE = lazy_regex(r"(?:^|[.!?。！？\n]\s*)$")
#: A letter that names one of several: "B wing can borrow 3, A wing only 1".
_IS_LABEL = lazy_regex(r"[a-z0-9,;] A [a-z]")
#: What stands around "ill" that is no "I will": "fell ill", "ill.".
_BEFORE_ILL = lazy_regex(
    r"(?:\b(?:am|is|are|was|were|be|been|being|feel\w*|fell|fall\w*|get\w*|got|very|so|too|really|look\w*|taken|an|any|"
    r"my|his|her|their|not|and|mentally|seriously|terminally)|['’](?:m|s|re))\s*$",
    re.IGNORECASE,
)
_BEHIND_ILL = lazy_regex(r"\s[a-z]")
#: What stands before a measure word.
_MEASURED = lazy_regex(r"[这那這几幾两兩一二三四五六七八九十每哪\d]")
#: Characters of words that may be said once or twice: 爸 and 爸爸.
_DOUBLED = frozenset("爸妈哥姐弟妹爷奶叔伯舅姑姨婆宝狗猫娃")
_PERSON_CASES = frozenset({_SUBJECT, _OBJECT})
_ANY_CASE = frozenset({_SUBJECT, _OBJECT, _OWNER, "self"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TextToken:
    """A token of a text.

    Attributes:
        key: the word in lower case, or the character.
        person: ``1``, ``2`` or ``3`` of a pronoun, ``name`` of the name of a speaker.
        family: ``i``, ``he`` and so on of a pronoun, or the name.
        cases: what a person may be in its clause: subject, object, owner.
        values: the readings of a value.
        clause: number of the clause, counted over all texts that are compared.
        sentence: number of the sentence.
        turn: number of the turn.
        name: whether a word is written like a name.
    """

    key: str
    kind: Kind
    start: int
    end: int
    clause: int = 0
    sentence: int = 0
    turn: int = 0
    person: str = ""
    family: str = ""
    cases: frozenset[str] = frozenset()
    values: frozenset[Value] = frozenset()
    name: bool = False

    @property
    def base(self) -> str:
        """The stem of an English word, and the key of everything else."""
        if not (self.key.isascii() and self.key.isalpha()):
            return self.key
        return stem(self.key[:-1] if self.key.endswith("s") and forms_of(self.key[:-1]) else self.key)


@cache
def _classes() -> Mapping[str, frozenset[str]]:
    text = files(__package__).joinpath("data/words.txt").read_text("utf-8")
    rows = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {name: frozenset(words) for name, *words in rows}


class _Classes:
    """The classes of words, read at their first use."""

    def __getitem__(self, name: str) -> frozenset[str]:
        return _classes()[name]


CLASSES = _Classes()


@cache
def _pairs(name: str) -> Mapping[str, str]:
    return dict(part.split("=", 1) for part in CLASSES[name])


def is_standin(token: TextToken) -> bool:
    """Return whether a noun may take the place of *token*."""
    return token.key in CLASSES["standin"] or token.person == "3"


def is_condition(token: TextToken) -> bool:
    """Return whether *token* limits the clauses beside its own."""
    return token.key in CLASSES["condition"]


def tokenise(
    text: str,
    said: date | None,
    speakers: Mapping[str, str],
    *,
    turn: int = 0,
    clause: int = 0,
    sentence: int = 0,
    expand: bool = True,
) -> list[TextToken]:
    """Return the tokens of *text*.

    Args:
        text: an entry or the content of a turn.
        said: the day on which it was said, for relative dates.
        speakers: the names of speakers and their parts in lower case, each with the full name.
        turn: the number of the turn.
        clause: the number of its first clause.
        sentence: the number of its first sentence.
        expand: add the weekday and month of a day to its values, because an entry may name them.
    """
    found: list[TextToken] = []
    for name in set(speakers.values()):
        if not name.isalnum():
            text = re.sub(re.escape(name), lambda match: match.group().replace(".", " "), text, flags=re.IGNORECASE)
    values = _value_tokens(text, said, expand=expand)
    values = [value for value in values if text[value.start : value.end].casefold() not in speakers]
    for token in _merged(_parts(text, speakers), values):
        if token.key == "\n":
            clause, sentence = clause + 1, sentence + (token.kind == "light")
            continue
        opens = token.key in _OPENS or (token.kind in {"han", "guard"} and text.startswith(_HAN_OPENS, token.start))
        if opens and found and found[-1].clause == clause:
            clause += 1
        near = bool(found) and found[-1].person == "name" and token.start - found[-1].end <= 2
        initial = near and len(token.key) == 1 and token.key in found[-1].family.replace(".", " ").split()
        if near and (token.family == found[-1].family or initial):
            owns = text[token.end : token.end + 3].lstrip()[:2] in {"'s", "’s"}  # "Dorothea V.'s"
            cases = frozenset({_OWNER, _SUBJECT}) if owns else token.cases
            found[-1] = replace(found[-1], end=token.end, cases=cases)
            continue
        follows = bool(found) and found[-1].end == token.start
        himself = token.key == "自己" and follows and found[-1].kind == "person"
        if himself or (follows and found[-1].person == "name" and token.key in {"他们", "她们"}):
            found[-1] = replace(found[-1], end=token.end)
            continue
        found.append(replace(token, turn=turn, clause=clause, sentence=sentence))
    return found


def _value_tokens(text: str, said: date | None, *, expand: bool) -> list[TextToken]:
    found = []
    for mention in value_mentions(text, said):
        if mention.text.casefold() in {"one", "second", "first", "third", "right now", "just now", "刚才", "刚刚"}:
            continue
        known = _expanded(mention.values) if expand else mention.values
        said_as = mention.text.rstrip(" ,;，；、")
        said_as = said_as if said_as.casefold().endswith((".m.", ". m.")) else said_as.rstrip(".")  # ends a sentence
        end = mention.start + len(said_as)
        found.append(TextToken(key=said_as.casefold(), kind="value", start=mention.start, end=end, values=known))
    return found


def _expanded(values: frozenset[Value]) -> frozenset[Value]:
    """Return *values* with the coarser ones that they hold: of a day its weekday and month, of a clock its hour."""
    found = set(values)
    days = [key for kind, key in values if kind == "day"]
    months = [key for kind, key in values if kind == "month_of"]
    for key in days:
        day = date.fromisoformat(key)
        found |= {("month_day", f"{day.month}-{day.day}"), ("weekday", str(day.weekday()))}
        if len(days) == 1:
            found |= {
                ("month_of", key[:7]),
                ("month", str(day.month)),
                ("year", key[:4]),
                ("day_of_month", str(day.day)),
            }
    for key in months:
        found |= {("month", str(int(key[5:])))} | ({("year", key[:4])} if len(months) == 1 else set())
    for kind, key in values:
        if kind == "clock":
            hour, minute = key.split(":")
            found |= {("number", str(int(hour))), ("clock", f"{(int(hour) + 12) % 24:02d}:{minute}")}
    return frozenset(found)


def _merged(parts: Iterator[TextToken], values: Sequence[TextToken]) -> Iterator[TextToken]:
    """Yield *parts* with those that lie in one of *values* replaced by it."""
    at = 0
    for token in parts:
        while at < len(values) and values[at].end <= token.start:
            yield values[at]
            at += 1
        if at < len(values) and token.start < values[at].end and token.end > values[at].start:
            continue
        yield token
    yield from values[at:]


def _parts(text: str, speakers: Mapping[str, str]) -> Iterator[TextToken]:
    skip = 0
    names = _irregular_names(speakers)
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if start < skip:
            continue
        kind = match.lastgroup
        full = names.match(text, start) if names is not None else None
        if full is not None:
            skip = full.end()
            owns = text[skip : skip + 3].lstrip()[:2] in {"'s", "’s"}
            name = next(name for name in speakers.values() if name.replace(".", " ") == full.group().casefold())
            cases = frozenset({_OWNER, _SUBJECT}) if owns else _ANY_CASE if not name.isascii() else _PERSON_CASES
            yield TextToken(
                key=name, kind="person", start=start, end=skip, person="name", family=name, cases=cases, name=True
            )
            skip += text[skip : skip + 3].find("s") + 1 if owns else 0
            continue
        if kind in {"sentence", "clause"}:
            yield TextToken(key="\n", kind="light" if kind == "sentence" else "filler", start=start, end=end)
        elif kind == "percent":
            yield TextToken(key="percent", kind="light", start=start, end=end)
        elif kind == "han":
            name = next((name for name in speakers if not name.isascii() and text.startswith(name, start)), "")
            if name:
                skip = start + len(name)
                yield TextToken(
                    key=name,
                    kind="person",
                    start=start,
                    end=skip,
                    person="name",
                    family=speakers[name],
                    cases=_ANY_CASE,
                )
            else:
                token = _han_token(text, start)
                skip = token.end
                yield token
        elif kind == "path" and match.group().casefold() in speakers:
            token = _plain_token(match.group().casefold(), start, end, speakers, name=True)
            owns = text[end : end + 2] in {"'s", "’s"}
            yield replace(token, cases=frozenset({_OWNER, _SUBJECT})) if owns else token
        elif kind == "path":
            yield TextToken(key=match.group().casefold(), kind="word", start=start, end=end, name=True)
        else:
            yield from _word_tokens(match.group(), start, text, speakers)


@lru_cache(maxsize=64)
def _name_pattern(names: frozenset[str]) -> re.Pattern[str] | None:
    """Return a pattern of names of several parts: "Ines V", "阿May". There is none without names."""
    parts = sorted((re.escape(name.replace(".", " ")) for name in names), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(parts)})(?![A-Za-z0-9_])", re.IGNORECASE) if parts else None


def _irregular_names(speakers: Mapping[str, str]) -> re.Pattern[str] | None:
    names = {name for name in speakers.values() if name not in {"user", "assistant"}}
    odd = {name for name in names if not name.isalnum() or (not name.isascii() and re.search("[a-z0-9]", name))}
    return _name_pattern(frozenset(odd))


def _han_token(text: str, start: int) -> TextToken:
    for length in (2, 1):
        part = text[start : start + length]
        if part in _HAN_PRONOUNS:
            person, family = _HAN_PRONOUNS[part]
            return TextToken(
                key=part, kind="person", start=start, end=start + length, person=person, family=family, cases=_ANY_CASE
            )
    measured = start and _MEASURED.fullmatch(text[start - 1])
    if measured and (text[start] in "只隻" or (text[start] in "块塊" and text[start - 1] in "这那這")):
        return TextToken(key=text[start], kind="light", start=start, end=start + 1)
    kinds: tuple[tuple[str, Kind], ...] = (("han_filler", "filler"), ("han_guard", "guard"))
    for length in (4, 3, 2, 1):
        part = text[start : start + length]
        kind = next((kind for name, kind in kinds if part in CLASSES[name]), None)
        if len(part) == length and kind is not None:
            return TextToken(key=part, kind=kind, start=start, end=start + length)
    part = text[start]
    if part in _DOUBLED and text[start + 1 : start + 2] == part:
        return TextToken(key=part, kind="han", start=start, end=start + 2)
    return TextToken(key=part, kind="light" if part in CLASSES["han_light"] else "han", start=start, end=start + 1)


def _word_tokens(word: str, start: int, text: str, speakers: Mapping[str, str]) -> Iterator[TextToken]:
    plain = word.replace("’", "'").casefold()
    end = start + len(word)
    head, _, tail = plain.partition("'")
    if plain in {"k", "kk", "instead"} and _OPENS_SENTENCE.search(text[:start][-4:]) and text[end : end + 3] != " of":
        yield TextToken(key=plain, kind="filler", start=start, end=end)
        return
    if word == "A" and _IS_LABEL.search(text[max(0, start - 3) : end + 2]):
        yield TextToken(key=plain, kind="word", start=start, end=end, name=True)
        return
    before = text[max(0, start - 24) : start]
    will = plain == "ill" and _BEHIND_ILL.match(text[end : end + 2]) and not _BEFORE_ILL.search(before)
    if (will or (plain in {"ill", "id"} and _IS_SUBJECT.search(before))) and not word.isupper():
        yield _plain_token("i", start, end, speakers)
        yield _plain_token("will" if plain == "ill" else "would", start, end, speakers)
    elif plain in _pairs("contraction"):
        for key in _pairs("contraction")[plain].split("+"):
            yield _plain_token(key, start, end, speakers)
    elif tail == "t" and head.endswith("n"):
        head = {"ca": "can", "wo": "will", "sha": "shall"}.get(head[:-1], head[:-1])
        yield _plain_token(head, start, end, speakers)
        yield _plain_token("not", start, end, speakers)
    elif tail in {"m", "re", "ve", "ll", "d"}:
        yield _plain_token(head, start, end, speakers)
        yield _plain_token({"ll": "will", "d": "would"}.get(tail, "is"), start, end, speakers)
    elif tail == "s" or (plain.endswith("s'") or (text[end : end + 1] in {"'", "’"} and plain.endswith("s"))):
        token = _plain_token(head if tail else plain, start, end, speakers, name=word[:1].isupper())
        if token.person == "name" or token.kind == "word":
            token = replace(token, cases=frozenset({_OWNER, _SUBJECT} if token.person else {_OWNER}))
        yield token
    else:
        yield _plain_token(plain, start, end, speakers, name=word[:1].isupper())


def _plain_token(key: str, start: int, end: int, speakers: Mapping[str, str], *, name: bool = False) -> TextToken:
    if key in _PRONOUNS:
        person, family, cases = _PRONOUNS[key]
        return TextToken(key=key, kind="person", start=start, end=end, person=person, family=family, cases=cases)
    if key in speakers:
        cases = frozenset({_SUBJECT, _OBJECT})
        return TextToken(
            key=key, kind="person", start=start, end=end, person="name", family=speakers[key], cases=cases, name=True
        )
    key = _pairs("abbreviation").get(key, key)
    if key in _PRONOUNS:
        return _plain_token(key, start, end, speakers)
    kind: Kind = "word"
    classes: tuple[Kind, ...] = ("guard", "light", "filler")
    kind = next((name_of_class for name_of_class in classes if key in CLASSES[name_of_class]), kind)
    return TextToken(key=key, kind=kind, start=start, end=end, name=name)
