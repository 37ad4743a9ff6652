"""Find directions, quantities, bindings, order and times that a line changes."""

# ruff: noqa: E501 - a pattern is read as a whole

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

from recall.text.stems import stem

from .marked_clauses import (
    OTHERS,
    Mark,
    MarkedClause,
)
from .said_line import MOST_KEYED, LineReading, LineToken, clause_key, clause_tokens
from .word_matches import Place, is_light

__all__ = [
    "changed_bindings",
    "changed_directions",
    "changed_order",
    "changed_quantities",
    "changed_tense",
    "corrected_values",
    "direction_marker",
    "is_replaced",
]

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
_EVERY = re.compile(r"每|\b(?:each|every)\b", re.IGNORECASE)
_EACH_TIME = re.compile(
    r"\b(?:per|a|an|each|every) \w+\b|一个?[天周月年次]|\w+days\b|\b(?:daily|weekly|monthly|yearly)\b", re.IGNORECASE
)
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


def changed_directions(reading: LineReading) -> Iterator[str]:
    """Yield words whose preposition turned round, and a rise that became a fall."""
    for token in reading.tokens:
        mine = direction_marker(reading.line.text, token.start)
        theirs = {direction_marker(reading.texts[number].text, at) for number, at in token.places} - {""}
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


def direction_marker(text: str, start: int) -> str:
    match = _MARKER.search(text[max(0, start - 24) : start])
    return _MARKERS[match["marker"].casefold()] if match else ""


def changed_quantities(reading: LineReading) -> Iterator[str]:
    """Yield "all", "only" and the like where the turns do not say them beside these words, or say "sometimes"."""
    said = "\n".join(text.text for text in reading.texts)
    for clause, tokens in clause_tokens(reading):
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


def _clause_quantities(reading: LineReading, token: LineToken) -> frozenset[str]:
    """Return the quantities that hold wherever the turns say *token*."""
    found = [reading.clause(place).quantities for place in token.places]
    return frozenset.intersection(*found) if found else frozenset()


def _near_quantities(reading: LineReading, tokens: Sequence[LineToken]) -> set[str]:
    """Return the quantities of the clauses that say *tokens*, and of the clauses beside them."""
    near: set[str] = set()
    for number, at in {place for token in tokens for place in token.places}:
        clauses = reading.texts[number].clauses
        index = bisect_right([clause.start for clause in clauses], at) - 1
        for clause in clauses[max(0, index - 1) : index + 2]:
            near |= clause.quantities
    return near | {"all", "any"} if near & {"any", "all"} else near


def _lost_exceptions(reading: LineReading, clause: MarkedClause) -> Iterator[str]:
    persons = {word.person for word in reading.line.words if word.person and clause.start <= word.start < clause.end}
    for text in reading.texts:
        for other in text.clauses:
            if "only" in other.quantities:
                named = {word.person for word in text.words if word.person and other.start <= word.start < other.end}
                if persons and named - persons - {OTHERS} and persons & named:
                    yield "quantity 'only'"


def changed_bindings(reading: LineReading) -> Iterator[str]:
    """Yield values and names that the turns say of something else: two that changed places, or one in another's place."""
    groups = [[token for token in tokens if token.places] for _, tokens in clause_tokens(reading)]
    keyed = [(token, number) for number, tokens in enumerate(groups) for token in tokens if token.value or token.name]
    replaced = {number for number, (clause, _) in enumerate(clause_tokens(reading)) if is_replaced(reading, clause)}
    near = {token: {clause_key(reading, place) for place in token.places} for tokens in groups for token in tokens}
    for at, (one, first) in enumerate(keyed[:MOST_KEYED]):
        for other, second in keyed[at + 1 : MOST_KEYED]:
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


def _are_alike(one: LineToken, other: LineToken) -> bool:
    """Return whether both are names, or values of one kind."""
    if one.text == other.text or one.value != other.value:
        return False
    return bool(one.kinds & other.kinds) if one.value else one.name and other.name


def is_replaced(reading: LineReading, clause: MarkedClause) -> bool:
    """Return whether a clause only names a value that a later turn corrects: "..., not Terminal 2"."""
    part = reading.line.text[clause.start : clause.end].strip().casefold()
    return part.startswith(("not ", "instead of", "rather than", "而不是", "不是")) and any(
        _CORRECTS.search(text.text) for text in reading.texts[1:]
    )


def _shared(near: Mapping[LineToken, set[Place]], token: LineToken, others: Sequence[LineToken]) -> int:
    """Return how many of the words beside *token* in the line stand in one clause with it in the turns."""
    return sum(bool(near[token] & near[other]) for other in others if not (other.value or other.name))


def _rival_clauses(reading: LineReading, token: LineToken, homes: Collection[Place]) -> set[Place]:
    """Return the clauses of the same turns with another value of the same kind."""
    turns = {number for number, _ in token.places}
    kinds = {kind for number, mentions in enumerate(reading.values) for said, _ in mentions
             if (number, said.start) in token.places for kind, _ in said.values}  # fmt: skip
    return {
        key
        for number, mentions in enumerate(reading.values)
        if number in turns
        for said, _ in mentions
        if kinds & {kind for kind, _ in said.values} and (key := clause_key(reading, (number, said.start))) not in homes
    }


def changed_order(reading: LineReading) -> Iterator[str]:
    """Yield three words that the turns say in the opposite order in one clause: who does what to whom, turned round."""
    for clause, tokens in clause_tokens(reading):
        if _TURNS_ROUND.search(reading.line.text[clause.start : clause.end]):
            continue
        words = [token for token in tokens if not token.kinds & _DAY_KINDS][:MOST_KEYED]
        for trio in combinations(words, 3):
            shared = set.intersection(*({clause_key(reading, place) for place in token.places} for token in trio))
            if shared and all(_is_reversed(reading, trio, key) for key in shared):
                yield f"order of {trio[0].text!r} and {trio[2].text!r}"
                return


def _is_reversed(reading: LineReading, trio: Sequence[LineToken], key: Place) -> bool:
    spots = [[at for number, at in token.places if clause_key(reading, (number, at)) == key] for token in trio]
    clause = reading.clause(key)
    if _TURNS_ROUND.search(reading.texts[key[0]].text[clause.start : clause.end]):
        return False
    return min(spots[0]) > max(spots[1]) and min(spots[1]) > max(spots[2])


def changed_tense(reading: LineReading) -> Iterator[str]:
    """Yield a plan or duty that the line tells as done, and something done that it tells as a plan."""
    for clause, tokens in clause_tokens(reading):
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


def corrected_values(reading: LineReading) -> Iterator[str]:
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
