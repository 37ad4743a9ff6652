"""Check that a line states only what its turns state, and states it in the same sense.

Every number, date, name, path and content word of a line comes from its turns, from a list of light words or of
words that mean the same, or from a computation that :mod:`distill.statements.cited_values` repeats. Then each word
is compared with the same word of the turns: denied there means denied here, possible stays possible, the one who
did it is the one who did it, and "from" and "to" do not change places. A line that passes can still be wrong. A
line that fails states something that nobody said, so it is dropped or waits for a person.
"""

# ruff: noqa: E501 - a pattern is read as a whole
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import combinations

from recall.text.identity import identity_key
from recall.text.stems import stem

from .cited_values import Value, ValueMention, day_of, known_values, value_mentions
from .marked_clauses import (
    ASSISTANT,
    OTHERS,
    USER,
    Mark,
    MarkedClause,
    MarkedText,
    MarkedWord,
    Voice,
    mark_text,
    people_of,
)
from .sentences import prose_lines, split_sentences
from .word_matches import Place, SaidWords, is_light, is_light_han, light_phrase_length

__all__ = ["TOO_LONG", "SaidTurn", "is_verbatim", "keeps_denial", "objections", "ungrounded", "value_objections"]

#: Longer lines are no entries.
_MAX_LINE_CHARS = 2000
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
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|without|cannot)\b|n['’]t\b|[不没未无非别勿]|否(?:认|决|定)",
    re.IGNORECASE,
)
#: Marks that a restatement may neither lose nor gain, with the share of a clause's words above which it has.
_STRICT_MARKS: tuple[tuple[Mark, str], ...] = (
    ("possible", "possibility"), ("conditional", "condition"), ("past", "past"),
)  # fmt: skip
_MOST_CHANGED = 0.5
#: Most names and values of a line whose places are compared with each other.
_MOST_KEYED = 12
#: The word before another one that gives it its direction.
_MARKERS = {
    "from": "from", "to": "to", "into": "to", "by": "by", "above": "above", "over": "above", "exceeds": "above",
    "below": "below", "under": "below", "before": "before", "until": "before", "till": "before", "after": "after",
    "since": "after", "at most": "most", "up to": "most", "no more than": "most", "at least": "least", "than": "than",
    "no less than": "least", "more than": "above", "less than": "below", "fewer than": "below", "maximum": "most",
    "minimum": "least", "从": "from", "由": "from", "到": "to", "至": "to", "成": "to", "为": "to", "给": "to", "超过": "above",
    "高于": "above", "大于": "above", "多于": "above", "低于": "below", "少于": "below", "小于": "below", "最多": "most",
    "不超过": "most", "至少": "least", "最少": "least", "不少于": "least", "把": "object", "将": "object",
}  # fmt: skip
_MARKER = re.compile(
    "(?P<marker>" + "|".join(
        rf"\b{re.escape(word)}\b" if word.isascii() else word for word in sorted(_MARKERS, key=len, reverse=True)
    ) + r")\s?了?(?:(?:the|a|an|about|around|roughly|only|just|one|my|our|his|her|their) )?$", re.IGNORECASE,
)  # fmt: skip
_OPPOSITE_MARKERS = {
    frozenset(pair) for pair in (("from", "to"), ("above", "below"), ("most", "least"), ("before", "after"),
                                 ("by", "to"), ("most", "above"), ("least", "below"), ("object", "to"))
}  # fmt: skip
_UP = re.compile(
    r"\b(?:(?:go(?:es|ing)?|went) up|rais(?:e|es|ed|ing)|increas\w+|rise|rises|rose|rising)\b|[涨升]|提高|上调|增加",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\b(?:(?:go(?:es|ing)?|went) down|lower(?:s|ed|ing)|decreas\w+|reduc\w+|fell|falls)\b|[降跌]|减少|下调",
    re.IGNORECASE,
)
#: Verbs of a line that tell what a speaker said or wants. Their content must come from that speaker.
_SAYS = re.compile(
    r"\b(?:sa(?:y|ys|id)|decid\w+|agree[sd]?|wants?|wanted|prefer(?:s|red)?|confirm\w*|ask(?:s|ed)?|plans?|planned|hop(?:es|ed|e)|"
    r"mention\w*|report(?:s|ed)|require[sd]?|insist\w*|suggest(?:s|ed)?|recommend(?:s|ed)?|propose[sd]?|promise[sd]?|likes|loves|hates|"
    r"dislikes?|thinks?|believes?|told|states?|stated|chose|chooses|accept\w*|approv\w*|forb\w+)\b|"
    r"说|决定|同意|希望|想|要求|确认|提到|表示|建议|认为|觉得|答应|打算|喜欢|计划|偏好|偏爱|讨厌",
    re.IGNORECASE,
)
#: Verbs whose subject is compared.
_HOLDS = re.compile(
    r"\b(?:asks?|asked|agree[sd]?|decided|thinks|thought|believes|suggested|suggests|proposed|proposes|promised|promises|"
    r"told|wants|wanted|borrowed|owes|refused|declined|offered|offers|invited|hired|paid|sent|gave)\b|"
    r"同意|决定|认为|觉得|建议|答应|拒绝|邀请|要求",
    re.IGNORECASE,
)
_ACCEPTS = re.compile(
    r"^\W*(?:makes sense|good idea|great idea|why not|perfect|fine|love it|有道理|听你的|就这样|yes|yep|yeah|yup|agreed|sure|ok(?:ay)?,? (?:let's|do|go|with|that)|let's|go (?:ahead|with|for)|do it|deal|sounds good|"
    r"works for me|perfect,|exactly|right,|correct|please do|that works|fine with me|approved|好[,，]?(?:就|按|用|那就)|行|可以|同意|就这么|没问题|"
    r"对[,，。]|是的|嗯[,，]|成[,，。]|就按|ok(?:ay)?[,.!]? *$|好的?[,，。!]? *$)",
    re.IGNORECASE,
)
_BARE_ACCEPTANCE = re.compile(r"^\W*(?:ok(?:ay)?|好的?|嗯)[\s,，。.!]*(?:thanks?|thx|谢谢)?[\s.!。]*$", re.IGNORECASE)
_OFFER = re.compile(
    r"\?|？|吗|\b(?:i can|i could|shall i|should i|i'll|i will|i'd|let's|we could|want me to)\b|要不要", re.IGNORECASE
)
#: Times of day, which nobody does.
_WHEN = re.compile(
    r"早上|晚上|上午|下午|中午|傍晚|morning|evening|afternoon|night|noon|today|week|month|year", re.IGNORECASE
)
_EVERY = re.compile(r"每|\b(?:each|every)\b", re.IGNORECASE)
_EACH_TIME = re.compile(
    r"\b(?:per|a|an|each|every) \w+\b|一个?[天周月年次]|\w+days\b|\b(?:daily|weekly|monthly|yearly)\b", re.IGNORECASE
)
_CHOICE = re.compile(
    r"([\w-]+) or (?:a |an |the |on |in |at |to )?([\w-]+)|([A-Za-z0-9\u4e00-\u9fff]{1,8}?)\s?还是\s?([A-Za-z0-9]+|[\u4e00-\u9fff]{1,4})",
    re.IGNORECASE,
)
#: A verb is compared by its first letters, which its forms share.
_VERB_CHARS = 5
#: Words that turn the order of a clause round, or join equals.
_TURNS_ROUND = re.compile(
    r"\b(?:by|and|or|with|than|of)\b|\b(?:is|are|was|were|been|be|being|gets?|got)\b (?:\w+ly )?\w+(?:ed|en|t)\b|被|由|和|与|把|将|比|、",
    re.IGNORECASE,
)
_DAY_KINDS = frozenset({"day", "weekday", "month", "month_of", "month_day", "day_of_month", "year", "clock"})
_AHEAD: frozenset[Mark] = frozenset({"future", "due", "wished", "advised", "possible"})
_PASSIVE_BEFORE = re.compile(r"\b(?:is|are|be|being|gets?|been|was|were)\b(?: \w+)? $", re.IGNORECASE)
_WORD_AT = re.compile(r"[A-Za-z]+")
_CORRECTS = re.compile(
    r"\b(?:actually|no,|nope|not|correction|sorry|wrong|rather|switched|instead|make (?:it|that))\b|不对|不是|应该是|更正|错了|改成|改到",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidTurn:
    """A turn that a line cites: who said it, by *role* and *name*, when (ISO 8601), and its whole *content*."""

    role: str
    content: str
    name: str = ""
    ts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LineToken:
    """A word or value of a line with the places where its turns say it. A *value* token is a number or a date."""

    text: str
    start: int
    end: int
    places: tuple[Place, ...]
    value: bool = False
    name: bool = False
    kinds: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Reading:
    """A line beside its turns."""

    line: MarkedText
    turns: Sequence[SaidTurn]
    said: SaidWords
    tokens: list[_LineToken] = field(default_factory=list)
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
        return _role_agent(turn.role) if turn else OTHERS


def objections(text: str, cited: Sequence[SaidTurn], *, also: Sequence[str] = ()) -> tuple[str, ...]:
    """Return why *text* is not grounded in *cited*, each reason in a few words. The result is empty when it is.

    *also* are texts of the entries that *text* revises. A whole sentence of a turn is always grounded.

    >>> turn = SaidTurn(role="user", name="Maya", ts="2026-11-20", content="we move the launch to 12 May")
    >>> objections("Maya moves the launch to 12 May.", [turn])
    ()
    >>> objections("Maya moves the launch to 14 May.", [turn])
    ("value '14 May'",)
    """
    if len(text) > _MAX_LINE_CHARS:
        return (TOO_LONG,)
    if is_verbatim(text, cited):
        return ()
    reading = _read(text, cited, also)
    found = [*_missing_strings(reading), *_missing_values(reading), *(f"word {word!r}" for word in reading.missing)]
    for check in (_changed_marks, _changed_agents, _changed_speakers, _changed_directions, _changed_quantities,
                  _changed_bindings, _changed_holders, _changed_receivers, _corrected_values, _changed_order, _changed_tense, _refused_choices):  # fmt: skip
        found += check(reading)
    return tuple(dict.fromkeys(found))


def value_objections(text: str, cited: Sequence[SaidTurn], *, also: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the quotations, paths and currencies of *text* that nobody said, and the values that were corrected."""
    if len(text) > _MAX_LINE_CHARS:
        return (TOO_LONG,)
    reading = _read(text, cited, also)
    return tuple(dict.fromkeys([*_missing_strings(reading), *_corrected_values(reading)]))


def is_verbatim(text: str, cited: Sequence[SaidTurn]) -> bool:
    """Return whether *text* is a whole sentence or line of a turn."""
    key = identity_key(text)
    return bool(key) and any(key in _sentences(turn.content) for turn in cited)


def ungrounded(text: str, turns: Sequence[str], speakers: Collection[str] = ()) -> tuple[str, ...]:
    """Return why *text* is not grounded in *turns* of one user, who may have any of the names *speakers*."""
    return objections(text, [SaidTurn(role="user", content=turn, name=" ".join(sorted(speakers))) for turn in turns])


def keeps_denial(text: str, original: str) -> bool:
    """Return whether *text* denies something exactly when *original* does. A lost "not" reverses a line."""
    return bool(_DENIAL.search(text)) == bool(_DENIAL.search(original))


@lru_cache(maxsize=256)
def _sentences(content: str) -> frozenset[str]:
    lines = [line.text for line in prose_lines(content)]
    parts = [sentence for line in lines for sentence in split_sentences(line)]
    return frozenset(identity_key(part) for part in (content, *lines, *parts))


def _role_agent(role: str) -> str:
    return {"user": USER, "assistant": ASSISTANT}.get(role, "@other")


def _read(text: str, cited: Sequence[SaidTurn], also: Sequence[str]) -> _Reading:
    people = people_of("\n".join([*(turn.content for turn in cited), *also, text]))
    names = _names(cited)
    others = tuple((name, person) for name, person in people.items() if name not in dict(names))
    texts = [mark_text(turn.content, _voice(turn, (*names, *others))) for turn in cited]
    neutral = Voice(names=(*names, *others))
    texts += [mark_text(part, neutral) for part in also]
    line = mark_text(text, neutral)
    reading = _Reading(line=line, turns=cited, said=SaidWords.of(texts))
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
                found[name.casefold()] = _role_agent(turn.role)
    return tuple(found.items())


def _voice(turn: SaidTurn, names: tuple[tuple[str, str], ...]) -> Voice:
    me = _role_agent(turn.role)
    return Voice(me=me, you={USER: ASSISTANT, ASSISTANT: USER}.get(me, USER), names=names)


def _find_tokens(reading: _Reading, days: Sequence[date | None]) -> None:
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
            _LineToken(
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
        if not _is_han(word.text[0]):
            if not any(start <= word.start < end for start, end in taken):
                _latin_token(reading, word, voices)
        elif word.person not in {USER, ASSISTANT, OTHERS}:
            for start, end in _without_spans(word.start, word.end, taken):
                _han_tokens(reading, line.text[start:end], start)
    reading.tokens.sort(key=lambda token: token.start)


def _is_han(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff"


def _latin_token(reading: _Reading, word: MarkedWord, voices: Collection[str]) -> None:
    plain = word.text.removesuffix("'s").removesuffix("'")
    if word.person in {USER, ASSISTANT, OTHERS} or plain in voices:
        return
    name = word.name and not _opens_sentence(reading.line.text, word.start)
    places = reading.said.places(word.text, name=name and not is_light(word.text))
    letter = len(word.text) == 1 and word.name and word.text not in "ai"
    light = is_light(word.text) and not letter
    if places and not light:
        reading.tokens.append(_LineToken(text=word.text, start=word.start, end=word.end, places=places, name=word.name))
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


def _han_tokens(reading: _Reading, run: str, offset: int) -> None:
    at, strange = 0, ""
    while at < len(run):
        length, places = reading.said.han_places(run, at)
        light = light_phrase_length(run, at)
        if length >= 2 and length >= light:
            if not is_light_han(run[at : at + length]):
                reading.tokens.append(
                    _LineToken(text=run[at : at + length], start=offset + at, end=offset + at + length, places=places)
                )
            step = length
        else:
            other, other_places = reading.said.han_synonym(run, at)
            if other >= max(light, length) and other:
                reading.tokens.append(
                    _LineToken(
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


def _missing_strings(reading: _Reading) -> Iterator[str]:
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


def _missing_values(reading: _Reading) -> Iterator[str]:
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


def _clause_tokens(reading: _Reading) -> Iterator[tuple[MarkedClause, list[_LineToken]]]:
    for clause in reading.line.clauses:
        yield clause, [token for token in reading.tokens if clause.start <= token.start < clause.end and token.places]


def _changed_marks(reading: _Reading) -> Iterator[str]:
    """Yield what a clause of the line denies, doubts or asserts otherwise than its turns."""
    for clause, tokens in _clause_tokens(reading):
        compared = [token for token in tokens if not (token.value or _WHEN.fullmatch(token.text))] or tokens
        if not compared or _is_replaced(reading, clause):
            continue
        occurrences = [[reading.clause(place).marks_at(place[1]) for place in token.places] for token in compared]
        mine = [clause.marks_at(token.start) for token in compared]
        words = [token for token in tokens if not (_WHEN.fullmatch(token.text) or _DENIAL.fullmatch(token.text))]
        yield from _changed_denial(reading, clause, words)
        for mark, name in _STRICT_MARKS:
            changed = sum(
                all(_differs(mark, own, marks) for marks in found) for own, found in zip(mine, occurrences, strict=True)
            )
            few = len(compared) <= 2
            if changed / len(compared) > _MOST_CHANGED or (few and changed * 2 >= len(compared) and changed):
                yield f"{name} {'lost' if mark not in clause.marks else 'added'}"
        yield from _changed_wishes(clause, occurrences)


def _changed_denial(reading: _Reading, clause: MarkedClause, words: Sequence[_LineToken]) -> Iterator[str]:
    """Yield a denial that the line adds to words or takes from them.

    The words behind a denial are denied. The other side may deny them from any place of the clause, because the order
    of words differs.
    """
    added = denied = lost = always = 0
    for token in words:
        clauses = [(reading.clause(place), place[1]) for place in token.places]
        if "denied" in clause.marks_at(token.start):
            denied += 1
            added += all(_differs("denied", clause.marks, other.marks) for other, _ in clauses)
        if all("denied" in other.marks_at(at) for other, at in clauses):
            always += 1
            lost += all(_differs("denied", clause.marks, other.marks) for other, _ in clauses)
    if added * 2 > denied:
        yield "denial added"
    if lost * 2 > always and lost * 4 >= len(words):
        yield "denial lost"


def _differs(mark: Mark, mine: frozenset[Mark], theirs: frozenset[Mark]) -> bool:
    """Return whether one of both has *mark*. What ended is denied now, and was so in the past."""
    ended = {"ended", "past", "denied"}
    if mark == "possible" and ("opinion" in theirs or "able" in mine | theirs):
        return False
    if mark in ended and ("ended" in mine or "ended" in theirs) and mine & ended and theirs & ended:
        return False
    return (mark in mine) != (mark in theirs)


def _changed_wishes(clause: MarkedClause, occurrences: Sequence[Sequence[frozenset[Mark]]]) -> Iterator[str]:
    """Yield a wish or an advice that the line states as done or settled, and a wish about something that is done."""

    def share(test: frozenset[Mark]) -> float:
        return sum(all(marks & test for marks in found) for found in occurrences) / len(occurrences)

    kept = clause.marks & {"wished", "advised", "due", "possible", "opinion"}
    acts = clause.subject not in {"", OTHERS} or "settled" in clause.marks
    if share(frozenset({"wished"})) > _MOST_CHANGED and acts and (not kept or "settled" in clause.marks):
        yield "wish stated as fact"
    if (
        share(frozenset({"advised"})) > _MOST_CHANGED
        and acts
        and not clause.marks & {"advised", "opinion", "settled", "due"}
    ):
        yield "advice stated as fact"
    if "wished" in clause.marks and "unable" not in clause.marks and share(frozenset({"unable"})) > _MOST_CHANGED:
        yield "inability stated as wish"
    if "wished" in clause.marks and share(frozenset({"done"})) > _MOST_CHANGED:
        yield "done stated as wish"


def _word_agents(text: MarkedText, at: int) -> frozenset[str]:
    """Return the agents of the word at a place of *text*."""
    index = bisect_right([word.start for word in text.words], at) - 1
    word = text.words[index] if index >= 0 else None
    return word.agents if word and at < word.end else frozenset()


def _is_open(reading: _Reading, token: _LineToken, theirs: Sequence[frozenset[str]]) -> bool:
    """Return whether the turns only ask, or say it of a "you" who does not speak in them."""
    silent = {USER, ASSISTANT} - {_role_agent(turn.role) for turn in reading.turns}
    return any("asked" in reading.clause(place).marks for place in token.places) or any(
        found & silent for found in theirs
    )


def _nearest_agent(line: MarkedText, word: MarkedWord) -> frozenset[str]:
    """Return the person right before *word*, apart from light words, if there is one: the subject of a verb."""
    before = [other for other in line.words if other.clause == word.clause and other.end <= word.start][-4:]
    for other in reversed(before):
        if other.person:
            owns = other.text in {"my", "our", "his", "her", "their"} or line.text[other.start : other.end].endswith(
                "'s"
            )
            far = owns and other is not before[-1]
            return frozenset() if far or other.person == OTHERS else frozenset({other.person})
        if not is_light(other.text) or not other.text.isascii():
            return frozenset()
    return frozenset()


def _is_head(line: MarkedText, word: MarkedWord, token: _LineToken) -> bool:
    """Return whether *token* is right behind the words before it: all of an English word, the head of a Chinese run."""
    return word.start == token.start or (
        token.start - word.start <= 2 and "把" not in line.text[word.start : token.start]
    )


def _changed_agents(reading: _Reading) -> Iterator[str]:
    """Yield the persons of the line to whom it gives what the turns say of somebody else."""
    for clause, tokens in _clause_tokens(reading):
        changed, compared, agents = 0, 0, frozenset[str]()
        wanted = _SAYS.search(reading.line.text[clause.start : clause.end])
        for token in tokens:
            word = next((word for word in reading.line.words if word.start <= token.start < word.end), None)
            if (
                word is None
                or word.person
                or token.value
                or _WHEN.search(token.text)
                or not word.agents
                or OTHERS in word.agents
            ):
                continue
            if wanted and any(agent in {USER, ASSISTANT} and _accepts(reading, agent) for agent in word.agents):
                continue
            theirs = [_word_agents(reading.texts[place[0]], place[1]) for place in token.places]
            if any(not found or OTHERS in found for found in theirs) or _is_open(reading, token, theirs):
                continue
            compared += 1
            mine = (_is_head(reading.line, word, token) and _nearest_agent(reading.line, word)) or word.agents
            if mine.isdisjoint(frozenset().union(*theirs)):
                changed += 1 if mine is word.agents else _MOST_KEYED
                compared += len(token.text) >= 2 and _is_han(token.text[0])  # a long run is more than one word
                changed += len(token.text) >= 2 and _is_han(token.text[0])
                agents = mine
        if changed > 1 and changed >= compared:
            yield f"agent {', '.join(sorted(agent.strip('@') for agent in agents))!r}"


def _changed_speakers(reading: _Reading) -> Iterator[str]:
    """Yield the speakers to whom the line gives the words of another one."""
    subject = ""
    for clause, tokens in _clause_tokens(reading):
        subject = clause.subject if clause.subject in {USER, ASSISTANT} else subject if not clause.subject else ""
        if not subject or not _SAYS.search(reading.line.text[clause.start : clause.end]):
            continue
        speakers = [
            {
                reading.speaker(place)
                for place in token.places
                if "asked" not in reading.clause(place).marks or len(reading.turns) == 1
            }
            for token in tokens
        ]
        telling = [found for found in speakers if found]
        foreign = sum(subject not in found for found in telling)
        if telling and foreign / len(telling) > _MOST_CHANGED and not _accepts(reading, subject):
            yield f"speaker {subject.strip('@')!r}"


def _accepts(reading: _Reading, speaker: str) -> bool:
    """Return whether a turn of *speaker* accepts what another speaker proposes in the turns."""
    before = ""
    for turn in reading.turns:
        mine = _role_agent(turn.role) == speaker
        if mine and before and _ACCEPTS.search(turn.content):
            return not _BARE_ACCEPTANCE.match(turn.content) or _OFFER.search(before) is not None
        before = before if mine else turn.content
    return False


def _changed_directions(reading: _Reading) -> Iterator[str]:
    """Yield words whose preposition turned round, and a rise that became a fall."""
    for token in reading.tokens:
        mine = _marker(reading.line.text, token.start)
        theirs = {_marker(reading.texts[number].text, at) for number, at in token.places} - {""}
        if (
            mine
            and theirs
            and mine not in theirs
            and all(frozenset((mine, other)) in _OPPOSITE_MARKERS for other in theirs)
        ):
            yield f"direction of {token.text!r}"
    said = "\n".join(text.text for text in reading.texts)
    for one, other in ((_UP, _DOWN), (_DOWN, _UP)):
        if one.search(reading.line.text) and not one.search(said) and other.search(said):
            yield "trend"


def _marker(text: str, start: int) -> str:
    match = _MARKER.search(text[max(0, start - 24) : start])
    return _MARKERS[match["marker"].casefold()] if match else ""


def _changed_quantities(reading: _Reading) -> Iterator[str]:
    """Yield "all", "only" and the like where the turns do not say them beside these words, or say "sometimes"."""
    said = "\n".join(text.text for text in reading.texts)
    for clause, tokens in _clause_tokens(reading):
        near = _near_quantities(reading, tokens)
        part = reading.line.text[clause.start : clause.end]
        for name in sorted(clause.quantities - near - {"any"}):
            if name != "all" or not (_EVERY.search(part) and _EACH_TIME.search(said)):
                yield f"quantity {name!r}"
        lost = [_clause_quantities(reading, token) for token in tokens if not token.value]
        for name in ("few", "many"):
            if name not in clause.quantities and lost and sum(name in found for found in lost) * 2 > len(lost):
                yield f"quantity {name!r} lost"
        if "only" in clause.quantities:
            yield from _lost_exceptions(reading, clause)


def _clause_quantities(reading: _Reading, token: _LineToken) -> frozenset[str]:
    """Return the quantities that hold wherever the turns say *token*."""
    found = [reading.clause(place).quantities for place in token.places]
    return frozenset.intersection(*found) if found else frozenset()


def _near_quantities(reading: _Reading, tokens: Sequence[_LineToken]) -> set[str]:
    """Return the quantities of the clauses that say *tokens*, and of the clauses beside them."""
    near: set[str] = set()
    for number, at in {place for token in tokens for place in token.places}:
        clauses = reading.texts[number].clauses
        index = bisect_right([clause.start for clause in clauses], at) - 1
        for clause in clauses[max(0, index - 1) : index + 2]:
            near |= clause.quantities
    return near | {"all", "any"} if near & {"any", "all"} else near


def _lost_exceptions(reading: _Reading, clause: MarkedClause) -> Iterator[str]:
    persons = {word.person for word in reading.line.words if word.person and clause.start <= word.start < clause.end}
    for text in reading.texts:
        for other in text.clauses:
            if "only" in other.quantities:
                named = {word.person for word in text.words if word.person and other.start <= word.start < other.end}
                if persons and named - persons - {OTHERS} and persons & named:
                    yield "quantity 'only'"


def _changed_bindings(reading: _Reading) -> Iterator[str]:
    """Yield values and names that the turns say of something else: two that changed places, or one in another's place."""
    groups = [[token for token in tokens if token.places] for _, tokens in _clause_tokens(reading)]
    keyed = [(token, number) for number, tokens in enumerate(groups) for token in tokens if token.value or token.name]
    replaced = {number for number, (clause, _) in enumerate(_clause_tokens(reading)) if _is_replaced(reading, clause)}
    near = {token: {_clause_key(reading, place) for place in token.places} for tokens in groups for token in tokens}
    for at, (one, first) in enumerate(keyed[:_MOST_KEYED]):
        for other, second in keyed[at + 1 : _MOST_KEYED]:
            if first == second or not _are_alike(one, other) or {first, second} & replaced:
                continue
            same = _shared(near, one, groups[first]) + _shared(near, other, groups[second])
            if _shared(near, one, groups[second]) + _shared(near, other, groups[first]) > same:
                yield f"places of {one.text!r} and {other.text!r}"
        others = [token for token in groups[first] if not (token.value or token is one)]
        if one.value and others and not _shared(near, one, others):
            rivals = _rival_clauses(reading, one, near[one])
            if sum(bool(near[token] & rivals) for token in others) > (0 if one.kinds - {"number"} else 1):
                yield f"place of {one.text!r}"


def _are_alike(one: _LineToken, other: _LineToken) -> bool:
    """Return whether both are names, or values of one kind."""
    if one.text == other.text or one.value != other.value:
        return False
    return bool(one.kinds & other.kinds) if one.value else one.name and other.name


def _is_replaced(reading: _Reading, clause: MarkedClause) -> bool:
    """Return whether a clause only names a value that a later turn corrects: "..., not Terminal 2"."""
    part = reading.line.text[clause.start : clause.end].strip().casefold()
    return part.startswith(("not ", "instead of", "rather than", "而不是", "不是")) and any(
        _CORRECTS.search(text.text) for text in reading.texts[1:]
    )


def _shared(near: Mapping[_LineToken, set[Place]], token: _LineToken, others: Sequence[_LineToken]) -> int:
    """Return how many of the words beside *token* in the line stand in one clause with it in the turns."""
    return sum(bool(near[token] & near[other]) for other in others if not (other.value or other.name))


def _clause_key(reading: _Reading, place: Place) -> Place:
    return place[0], reading.clause(place).start


def _rival_clauses(reading: _Reading, token: _LineToken, homes: Collection[Place]) -> set[Place]:
    """Return the clauses of the same turns with another value of the same kind."""
    turns = {number for number, _ in token.places}
    kinds = {kind for number, mentions in enumerate(reading.values) for said, _ in mentions
             if (number, said.start) in token.places for kind, _ in said.values}  # fmt: skip
    return {
        key
        for number, mentions in enumerate(reading.values)
        if number in turns
        for said, _ in mentions
        if kinds & {kind for kind, _ in said.values}
        and (key := _clause_key(reading, (number, said.start))) not in homes
    }


def _changed_holders(reading: _Reading) -> Iterator[str]:
    """Yield who asks, thinks or agrees in the line while the turns use the same verb of somebody else."""
    for match in _HOLDS.finditer(reading.line.text):
        mine = _word_agents(reading.line, match.start())
        if not mine or OTHERS in mine:
            continue
        verb = re.compile(rf"(?<![a-z]){re.escape(match.group()[:_VERB_CHARS])}", re.IGNORECASE)
        holders = [_word_agents(text, other.start()) for text in reading.texts for other in verb.finditer(text.text)]
        if holders and all(found and OTHERS not in found and mine.isdisjoint(found) for found in holders):
            yield f"holder of {match.group()!r}"


def _changed_receivers(reading: _Reading) -> Iterator[str]:
    """Yield who receives something in the line that somebody else receives in the turns."""
    mine = _receivers(reading.line)
    theirs = {person for text in reading.texts for person in _receivers(text)}
    persons = {word.person for word in reading.line.words if word.person}
    if mine and theirs and mine.isdisjoint(theirs) and theirs & persons and OTHERS not in mine | theirs:
        yield "receiver"


def _receivers(text: MarkedText) -> set[str]:
    return {word.person for word in text.words if word.person and _marker(text.text, word.start) == "to"}


def _refused_choices(reading: _Reading) -> Iterator[str]:
    """Yield the alternatives of a question whose answer names the other one."""
    for number, text in enumerate(reading.texts[: len(reading.turns)]):
        later = " ".join(other.text.casefold() for other in reading.texts[number + 1 : len(reading.turns)])
        for clause in text.clauses:
            if "asked" not in clause.marks or not later:
                continue
            for match in _CHOICE.finditer(text.text, clause.start, clause.end):
                one, other = (match[1] or match[3]).casefold(), (match[2] or match[4]).casefold()
                for taken, refused in ((one, other), (other, one)):
                    if taken in later and refused not in later:
                        yield from _asserted(reading, refused)


def _asserted(reading: _Reading, refused: str) -> Iterator[str]:
    for token in reading.tokens:
        if token.text.casefold() == refused and "denied" not in reading.line.clause_at(token.start).marks:
            yield f"refused choice {refused!r}"


def _changed_order(reading: _Reading) -> Iterator[str]:
    """Yield three words that the turns say in the opposite order in one clause: who does what to whom, turned round."""
    for clause, tokens in _clause_tokens(reading):
        if _TURNS_ROUND.search(reading.line.text[clause.start : clause.end]):
            continue
        words = [token for token in tokens if not token.kinds & _DAY_KINDS][:_MOST_KEYED]
        for trio in combinations(words, 3):
            shared = set.intersection(*({_clause_key(reading, place) for place in token.places} for token in trio))
            if shared and all(_is_reversed(reading, trio, key) for key in shared):
                yield f"order of {trio[0].text!r} and {trio[2].text!r}"
                return


def _is_reversed(reading: _Reading, trio: Sequence[_LineToken], key: Place) -> bool:
    spots = [[at for number, at in token.places if _clause_key(reading, (number, at)) == key] for token in trio]
    clause = reading.clause(key)
    if _TURNS_ROUND.search(reading.texts[key[0]].text[clause.start : clause.end]):
        return False
    return min(spots[0]) > max(spots[1]) and min(spots[1]) > max(spots[2])


def _changed_tense(reading: _Reading) -> Iterator[str]:
    """Yield a plan or duty that the line tells as done, and something done that it tells as a plan."""
    for clause, tokens in _clause_tokens(reading):
        ahead = clause.marks & _AHEAD
        for token in tokens:
            if not token.text.isascii() or not token.text.isalpha():
                continue
            for number, at in token.places:
                said = _WORD_AT.match(reading.texts[number].text, at)
                marks = reading.clause((number, at)).marks
                if (
                    said is None
                    or stem(said.group()) != stem(token.text)
                    or _PASSIVE_BEFORE.search(reading.line.text[: token.start])
                ):
                    break
                done, was_done = _is_past(token.text), _is_past(said.group())
                if not (done and not was_done and not ahead and marks & _AHEAD):
                    break
            else:
                yield f"plan stated as done: {token.text!r}"


def _is_past(word: str) -> bool:
    return word.casefold().endswith("ed") and len(word) > 4


def _corrected_values(reading: _Reading) -> Iterator[str]:
    """Yield values that a later turn replaces by another value of the same label."""
    for token in reading.tokens:
        if not token.value or not token.places:
            continue
        last = max(number for number, _ in token.places)
        label = _label(reading.texts[last].text, max(at for number, at in token.places if number == last))
        if not label:
            continue
        for number in range(last + 1, len(reading.turns)):
            text = reading.texts[number].text
            if not _CORRECTS.search(text):
                continue
            newer = [said for said, _ in reading.values[number] if _label(text, said.start) == label]
            if newer and not any(other.value and any(n == number for n, _ in other.places) for other in reading.tokens):
                yield f"value {token.text!r} was corrected"


def _label(text: str, start: int) -> str:
    match = re.search(r"([A-Za-z]{3,}|[\u4e00-\u9fff]{2})\s*$", text[max(0, start - 24) : start])
    word = match.group(1).casefold() if match else ""
    return "" if not word or is_light(word) else word
