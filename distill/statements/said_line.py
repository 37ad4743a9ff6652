"""Read a line beside its turns: its words and values, and where the turns say them."""

# ruff: noqa: E501 - a pattern is read as a whole

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from .cited_values import Value, ValueMention, day_of, known_values, value_mentions
from .marked_clauses import (
    ASSISTANT,
    OTHERS,
    USER,
    MarkedClause,
    MarkedText,
    MarkedWord,
    Voice,
    mark_text,
    people_of,
)
from .word_matches import Place, SaidWords, is_light, is_light_han, light_phrase_length

__all__ = [
    "MOST_CHANGED",
    "MOST_KEYED",
    "TOO_LONG",
    "WHEN",
    "LineReading",
    "LineToken",
    "SaidTurn",
    "clause_key",
    "clause_tokens",
    "is_han_character",
    "missing_strings",
    "missing_values",
    "read_line",
    "role_agent",
]

#: Most names and values of a line whose places are compared with each other.
MOST_KEYED = 12
#: Times of day, which nobody does.
WHEN = re.compile(
    r"早上|晚上|上午|下午|中午|傍晚|morning|evening|afternoon|night|noon|today|week|month|year", re.IGNORECASE
)
MOST_CHANGED = 0.5
TOO_LONG = "too long"
_QUOTATION = re.compile(
    r"`(?P<code>[^`\n]+)`|\"(?P<plain>[^\"\n]+)\"|“(?P<curly>[^”\n]+)”|«(?P<angle>[^»\n]+)»|《(?P<title>[^》\n]+)》|"
    r"「(?P<corner>[^」\n]+)」|『(?P<double>[^』\n]+)』"
)
#: Paths, addresses, dotted and underscored names: anything with such a sign between two word characters.
_IDENTIFIER = re.compile(
    r"(?![A-Za-z]+/[A-Za-z]+(?![\w./\\@#:+]))(?<![\w)])(?:[~.]{0,2}/)?[A-Za-z_]\w*(?:[./\\_@#:+]+\w+)+(?:\(\))?|"
    r"(?<![\w)])(?:[~.]{0,2}/)\w+|(?<![\w-])--?[a-z][a-z-]+|\b[a-z]+\d\w*\b|\bv?\d+\.\d+\.\d+\w*",
    re.ASCII,
)
_CURRENCIES = ({"$", "usd", "dollar", "dollars", "bucks", "美元", "刀"}, {"€", "eur", "euro", "euros", "欧元"},
               {"£", "gbp", "pound", "pounds", "quid", "英镑"}, {"¥", "rmb", "cny", "yuan", "元", "块", "人民币"})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTurn:
    """A turn that a line cites: who said it, by *role* and *name*, when (ISO 8601), and its whole *content*."""

    role: str
    content: str
    name: str = ""
    ts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineToken:
    """A word or value of a line with the places where its turns say it. A *value* token is a number or a date."""

    text: str
    start: int
    end: int
    places: tuple[Place, ...]
    value: bool = False
    name: bool = False
    kinds: frozenset[str] = frozenset()


@dataclass(slots=True)
class LineReading:
    """A line beside its turns."""

    line: MarkedText
    turns: Sequence[SaidTurn]
    said: SaidWords
    tokens: list[LineToken] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    values: list[list[tuple[ValueMention, set[Value]]]] = field(default_factory=list)

    @property
    def texts(self) -> tuple[MarkedText, ...]:
        return self.said.texts

    def clause(self, place: Place) -> MarkedClause:
        """Return the clause of the turns at *place*."""
        return self.texts[place[0]].clause_at(place[1])

    def speaker(self, place: Place) -> str:
        """Return the agent who says the turn at *place*."""
        turn = self.turns[place[0]] if place[0] < len(self.turns) else None
        return role_agent(turn.role) if turn else OTHERS


def role_agent(role: str) -> str:
    return {"user": USER, "assistant": ASSISTANT}.get(role, "@other")


def read_line(text: str, cited: Sequence[SaidTurn], also: Sequence[str]) -> LineReading:
    people = people_of("\n".join([*(turn.content for turn in cited), *also, text]))
    names = _names(cited)
    others = tuple((name, person) for name, person in people.items() if name not in dict(names))
    texts = [mark_text(turn.content, _voice(turn, (*names, *others))) for turn in cited]
    neutral = Voice(names=(*names, *others))
    texts += [mark_text(part, neutral) for part in also]
    line = mark_text(text, neutral)
    reading = LineReading(line=line, turns=cited, said=SaidWords.of(texts))
    days = [day_of(turn.ts) for turn in cited] + [None] * len(also)
    reading.values = [
        [(mention, known_values(mention.text, day) | mention.values) for mention in value_mentions(said.text, day)]
        for said, day in zip(texts, days, strict=True)
    ]
    _find_tokens(reading, days)
    return reading


def _names(cited: Sequence[SaidTurn]) -> tuple[tuple[str, str], ...]:
    """Return the names of the speakers, also their parts, with the agent that each names."""
    found = {}
    for turn in cited:
        for name in (turn.name, *turn.name.split()):
            if name.strip() and not is_light(name):
                found[name.casefold()] = role_agent(turn.role)
    return tuple(found.items())


def _voice(turn: SaidTurn, names: tuple[tuple[str, str], ...]) -> Voice:
    me = role_agent(turn.role)
    return Voice(me=me, you={USER: ASSISTANT, ASSISTANT: USER}.get(me, USER), names=names)


def _find_tokens(reading: LineReading, days: Sequence[date | None]) -> None:
    line = reading.line
    last = next((day for day in reversed(days) if day), None)
    taken: list[tuple[int, int]] = []
    for mention in value_mentions(line.text, last):
        places = tuple(
            (number, said.start)
            for number, mentions in enumerate(reading.values)
            for said, known in mentions
            if mention.values & known
        )
        reading.tokens.append(
            LineToken(
                text=mention.text,
                start=mention.start,
                end=mention.end,
                places=places,
                value=True,
                kinds=frozenset(kind for kind, _ in mention.values),
            )
        )
        taken.append((mention.start, mention.end))
    taken += [match.span() for match in _IDENTIFIER.finditer(line.text)]
    voices = {name for turn in reading.turns for name in (turn.name.casefold(), *turn.name.casefold().split())}
    for word in line.words:
        if not is_han_character(word.text[0]):
            if not any(start <= word.start < end for start, end in taken):
                _latin_token(reading, word, voices)
        elif word.person not in {USER, ASSISTANT, OTHERS}:
            for start, end in _without_spans(word.start, word.end, taken):
                _han_tokens(reading, line.text[start:end], start)
    reading.tokens.sort(key=lambda token: token.start)


def is_han_character(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff"


def _latin_token(reading: LineReading, word: MarkedWord, voices: Collection[str]) -> None:
    plain = word.text.removesuffix("'s").removesuffix("'")
    if word.person in {USER, ASSISTANT, OTHERS} or plain in voices:
        return
    name = word.name and not _opens_sentence(reading.line.text, word.start)
    places = reading.said.places(word.text, name=name and not is_light(word.text))
    letter = len(word.text) == 1 and word.name and word.text not in "ai"
    light = is_light(word.text) and not letter
    if places and not light:
        reading.tokens.append(LineToken(text=word.text, start=word.start, end=word.end, places=places, name=word.name))
    elif not places and not light:
        reading.missing.append(reading.line.text[word.start : word.end])


def _opens_sentence(text: str, start: int) -> bool:
    return not text[:start].strip() or re.search(r"[.!?:;]\s*[\"'(\[]*$", text[:start]) is not None


def _without_spans(start: int, end: int, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts from *start* to *end* that no span covers."""
    for a, b in sorted(spans):
        if b <= start or a >= end:
            continue
        if a > start:
            yield start, a
        start = max(start, b)
    if start < end:
        yield start, end


def _han_tokens(reading: LineReading, run: str, offset: int) -> None:
    at, strange = 0, ""
    while at < len(run):
        length, places = reading.said.han_places(run, at)
        light = light_phrase_length(run, at)
        if length >= 2 and length >= light:
            if not is_light_han(run[at : at + length]):
                reading.tokens.append(
                    LineToken(text=run[at : at + length], start=offset + at, end=offset + at + length, places=places)
                )
            step = length
        else:
            other, other_places = reading.said.han_synonym(run, at)
            if other >= max(light, length) and other:
                reading.tokens.append(
                    LineToken(
                        text=run[at : at + other], start=offset + at, end=offset + at + other, places=other_places
                    )
                )
                step = other
            else:
                step = light or (1 if length else 0)
        if not step and at:  # the end of a phrase whose beginning was said: 会议 after 安排会
            step = max(0, reading.said.han_synonym(run, at - 1)[0] - 1)
        if not step:
            strange += run[at]
            step = 1
        elif strange:
            reading.missing.append(strange)
            strange = ""
        at += step
    if strange:
        reading.missing.append(strange)


def missing_strings(reading: LineReading) -> Iterator[str]:
    """Yield the quotations, identifiers and currencies of a line that no turn has."""
    text = reading.line.text
    said = "\n".join(part.text for part in reading.texts)
    spaced = " ".join(said.casefold().split())
    for match in _QUOTATION.finditer(text):
        quoted = next(group for group in match.groups() if group is not None)
        if " ".join(quoted.casefold().split()) not in spaced:
            yield f"quotation {quoted!r}"
    for match in _IDENTIFIER.finditer(text):
        name = match.group()
        if not re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", said, re.IGNORECASE):
            yield f"name {name!r}"
    for signs in _CURRENCIES:
        sign = next(iter(sign for sign in signs if not sign.isalnum()))
        if sign in text and not any(other in said.casefold() for other in signs):
            yield f"currency {sign!r}"


def missing_values(reading: LineReading) -> Iterator[str]:
    """Yield the numbers and dates of a line that no turn has and that do not follow from one."""
    known = {
        value
        for turn, text in zip(reading.turns, reading.texts, strict=False)
        for value in known_values(text.text, day_of(turn.ts))
    }
    known |= {value for mentions in reading.values for _, values in mentions for value in values}
    last = next((day for turn in reversed(reading.turns) if (day := day_of(turn.ts))), None)
    for mention in value_mentions(reading.line.text, last):
        weekday = {value for value in mention.values if value[0] == "weekday"}
        if not (weekday or mention.values) & known:
            yield f"value {mention.text.strip(' .')!r}"


def clause_tokens(reading: LineReading) -> Iterator[tuple[MarkedClause, list[LineToken]]]:
    for clause in reading.line.clauses:
        yield clause, [token for token in reading.tokens if clause.start <= token.start < clause.end and token.places]


def clause_key(reading: LineReading, place: Place) -> Place:
    return place[0], reading.clause(place).start
