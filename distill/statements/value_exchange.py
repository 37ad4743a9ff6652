"""Exchange one value of an older statement for the value that a newer statement gives.

A correction often names one value of an entry that says more: "the appointment is at 9:45, not 9:15" says nothing of
the doctor. :func:`exchange_value` computes the older statement with the newer value, where the old value stands in it
exactly once. Every other word of the result is a word of the older statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from guard.lazy_regex import lazy_regex

from .contradiction import named_change, without_lead
from .pairs.same_object import gives_another_value
from .statement_parser import Statement, Token, parse_statement

__all__ = ["exchange_value", "exchanges_value", "put_value", "says_more", "sets_another_value", "value_span"]

#: The date in brackets that closings put behind a relative word.
_DATED = lazy_regex(r"\s?[(\uff08](?:about )?\d{4}-\d{2}(?:-\d{2})?(?: to [\d-]+)?[)\uff09]")
_DIGITS = lazy_regex(r"[-+]?[¥$€£]?\d+(?:[.,]\d+)*")
_MAX_CHARS, _MAX_VALUE_CHARS = 600, 40
#: Kinds of values that a newer statement changes without a word about the old one.
_COUNTED = ("date", "day", "time", "number")
#: Most weight of words of a correction that the corrected statement lacks.
_MOST_OTHER = 0.5
#: Least weight of words of another clause that a newer statement leaves out, and of a clause that it shares none with.
_LEAST_MORE, _LEAST_APART = 1.0, 2.0
#: Words before what a wish is about, unless nothing but a verb stands before them.
_SCOPE = lazy_regex(
    r"(?:\b(?:for|when|before|after|about|to|with|if)|\S \S+ (?:in|on|at|of))\s+(?:the |my |our )?$", re.IGNORECASE
)
_CLAUSE = lazy_regex(r"[,;\u3002\uff0c\uff1b]\s*|\.\s+|\s(?:and|but|while)\s")


def exchange_value(older: str, newer: str) -> str:
    """Return *older* with the one value that *newer* changes, or an empty string if no single value is found.

    >>> exchange_value("My doctor is Dr. Peeters and the visit is at 9:15.", "The visit is at 9:45, not 9:15.")
    'My doctor is Dr. Peeters and the visit is at 9:45.'
    """
    if max(len(older), len(newer)) > _MAX_CHARS:
        return ""
    was, now = parse_statement(_undated(older)), parse_statement(_undated(newer))
    if len(was.text) != len(older) or len(now.text) != len(newer):
        older, newer = was.text, now.text
    change = named_change(_undated(newer))
    if change is not None:
        old, new = _named_run(was, change[0]), _fresh_run(change[1], change[0], was)
        value = _surface(change[1], new) if new else ""
    else:
        old, new = _single_values(was, now)
        value = _surface(now, new) if new else ""
    if not old or not value or len(value) > _MAX_VALUE_CHARS:
        return ""
    return _put(older, old, value, _date_behind(newer, value))


def exchanges_value(older: str, newer: str) -> bool:
    """Return whether *newer* names one value of *older* as wrong, and speaks of little that *older* does not say.

    >>> exchanges_value("Lunch is at 12:00 and the soup is free.", "Lunch is at 11:30, not 12:00.")
    True
    """
    if max(len(older), len(newer)) > _MAX_CHARS:
        return False
    change = named_change(_undated(newer))
    if change is None or not exchange_value(older, newer):
        return False
    was = parse_statement(_undated(older))
    fresh = {token.key for token in _fresh_run(change[1], change[0], was)}
    frame = [token for token in parse_statement(_undated(newer)).tokens if token.key not in fresh]
    frame = [token for token in frame if token.key not in change[0].keys]
    other = _missing(frame, was.tokens)
    return _weight(frame) - _weight(other) >= 1 and _weight(other) <= _MOST_OTHER and not _particular(other)


def sets_another_value(older: str, newer: str) -> bool:
    """Return whether two wishes or two decisions give one object two values.

    The learned model decides. What stands behind "for" or "in" at the end may say when the wish holds, so a change
    there is never another value.

    >>> sets_another_value("Use Celsius for temperatures.", "Use Fahrenheit for temperatures.")
    True
    >>> sets_another_value("Use tabs in Python.", "Use tabs in Go.")
    False
    >>> sets_another_value("Write comments in English.", "Write tests in English.")
    False
    """
    if max(len(older), len(newer)) > _MAX_CHARS:
        return False
    one, other = without_lead(_undated(older)), without_lead(_undated(newer))
    was, now = parse_statement(one), parse_statement(other)
    if was.negations % 2 != now.negations % 2 or not gives_another_value(one, other):
        return False
    before = _shared_length(was.tokens, now.tokens)
    heads = [said.text[: said.tokens[before].start] for said in (was, now) if before < len(said.tokens)]
    return not any(_SCOPE.search(head) for head in heads)


def says_more(older: str, newer: str) -> bool:
    """Return whether *older* has a clause beside the changed one that *newer* does not say again."""
    if max(len(older), len(newer)) > _MAX_CHARS:
        return False
    own = named_change(_undated(older))
    parts = [parse_statement(part).tokens for part in _CLAUSE.split(_undated(older)) if part.strip()]
    parts = [tuple(_missing(part, own[0].tokens)) if own else part for part in parts]
    now = parse_statement(_undated(newer)).tokens
    known = {token.key for token in now}
    shared = [_weight([token for token in part if token.key in known]) for part in parts]
    change = named_change(_undated(newer))
    if change is None:
        apart = [part for part, weight in zip(parts, shared, strict=True) if not weight]
        return len(apart) < len(parts) and any(_weight(part) >= _LEAST_APART for part in apart)
    run = _named_run(parse_statement(_undated(older)), change[0])
    wrong = {token.key for token in run or change[0].tokens}
    others = [part for part in parts if not wrong & {token.key for token in part}]
    return len(others) < len(parts) and any(_weight(_missing(part, now)) >= _LEAST_MORE for part in others)


def put_value(statement: str, old: Token, value: str) -> str:
    """Return *statement* with *value* in the place of its token *old*, whose date in brackets goes with it."""
    return _put(statement, (old,), value, "")


def value_span(said: Statement, value: Statement) -> tuple[Token, ...]:
    """Return the run of tokens of *said* that a short *value* may stand for, or nothing.

    A value of one kind stands for the last value of that kind, a name for the last name.
    """
    kinds = [token.kind for token in value.tokens if token.particular]
    if len(kinds) != 1:
        return ()
    alike = [token for token in said.tokens if token.kind == kinds[0]]
    return (alike[-1],) if alike and alike[-1].key not in {token.key for token in value.tokens} else ()


def _undated(text: str) -> str:
    """Return *text* with spaces for the dates in brackets, so that places stay."""
    return _DATED.sub(lambda match: " " * len(match.group()), text)


def _named_run(was: Statement, gone: Statement) -> tuple[Token, ...]:
    """Return the tokens of *was* that say the value *gone*, if it stands there exactly once."""
    wanted = [token for token in gone.tokens if token.particular] or list(gone.tokens)
    size = len(wanted)
    runs = [was.tokens[at : at + size] for at in range(len(was.tokens) - size + 1)]
    spelled = [_surface(gone, (token,)) for token in wanted]
    found = [
        run
        for run in runs
        if size
        and all(
            _equal(token, other) or _surface(was, (token,)) == word
            for token, other, word in zip(run, wanted, spelled, strict=True)
        )
    ]
    return found[0] if len(found) == 1 else ()


def _equal(one: Token, other: Token) -> bool:
    """Return whether two tokens are one value. A number may lack its unit."""
    if one.key == other.key:
        return True
    bare = other.key.removeprefix("number:")
    return one.kind == other.kind == "number" and bool(_DIGITS.fullmatch(bare)) and _digits(one.key) == bare


def _digits(key: str) -> str:
    match = _DIGITS.match(key.removeprefix("number:"))
    return match.group() if match else ""


def _fresh_run(said: Statement, gone: Statement, was: Statement) -> tuple[Token, ...]:
    """Return the tokens of *said* that stand for *gone*: of its kinds and not in *was*, or else the last ones."""
    kinds = {token.kind for token in gone.tokens if token.particular}
    known = {token.key for token in was.tokens}
    if kinds:
        fresh = tuple(token for token in said.tokens if token.kind in kinds and token.key not in known)
        wanted = sum(token.particular for token in gone.tokens)
        return fresh if len(fresh) == wanted else ()
    run = said.tokens[-len(gone.tokens) :] if gone.tokens else ()
    run = tuple(token for token in run if token.particular) or run
    return run if run and any(token.key not in known for token in run) and _adjacent(run) else ()


def _single_values(was: Statement, now: Statement) -> tuple[tuple[Token, ...], tuple[Token, ...]]:
    """Return the values of *was* and *now* if they differ in exactly one, of a kind that *was* has once."""
    mine = [token for token in _missing(was.tokens, now.tokens) if token.kind in _COUNTED]
    other = [token for token in _missing(now.tokens, was.tokens) if token.particular]
    if len(other) != 1 or other[0].kind not in _COUNTED:
        return (), ()
    alike = [token for token in was.tokens if token.kind == other[0].kind]
    if len(alike) != 1 or alike[0] not in mine or _unit(alike[0]) != _unit(other[0]):
        return (), ()
    return (alike[0],), (other[0],)


def _unit(token: Token) -> str:
    return _DIGITS.sub("", token.key) if token.kind == "number" else token.kind


def _missing(tokens: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    known = {token.key for token in others}
    return [token for token in tokens if token.key not in known]


def _weight(tokens: Sequence[Token]) -> float:
    return sum(token.weight for token in tokens)


def _shared_length(tokens: Sequence[Token], others: Sequence[Token]) -> int:
    """Return how many tokens both begin with."""
    pairs = zip(tokens, others, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one.key != other.key), min(len(tokens), len(others)))


def _particular(tokens: Sequence[Token]) -> bool:
    return any(token.particular for token in tokens)


def _adjacent(run: Sequence[Token]) -> bool:
    return all(second.start - first.end <= 1 for first, second in pairwise(run))


def _surface(said: Statement, run: Sequence[Token]) -> str:
    return said.text[run[0].start : run[-1].end].strip()


def _put(older: str, old: Sequence[Token], value: str, dated: str) -> str:
    """Return *older* with *value* in the place of *old*, and the date behind it in the place of the old date."""
    start, end = old[0].start, old[-1].end
    start += len(older[start:end]) - len(older[start:end].lstrip())
    bare = _DIGITS.fullmatch(value)
    digits = _DIGITS.match(older[start:end]) if len(old) == 1 and old[0].kind == "number" and bare else None
    end = start + digits.end() if digits else end
    behind = _DATED.match(older, end)
    return f"{older[:start]}{value}{dated}{older[behind.end() if behind else end :]}"


def _date_behind(newer: str, value: str) -> str:
    at = newer.find(value)
    match = _DATED.match(newer, at + len(value)) if at >= 0 else None
    return match.group() if match else ""
