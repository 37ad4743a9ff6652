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
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from recall.text.identity import identity_key

from .marked_clauses import (
    OTHERS,
    Mark,
    MarkedClause,
)
from .said_line import (
    MOST_CHANGED,
    TOO_LONG,
    WHEN,
    LineReading,
    LineToken,
    SaidTurn,
    clause_tokens,
    missing_strings,
    missing_values,
    read_line,
)
from .said_order import (
    changed_bindings,
    changed_directions,
    changed_order,
    changed_quantities,
    changed_tense,
    corrected_values,
    is_replaced,
)
from .said_roles import changed_agents, changed_holders, changed_receivers, changed_speakers, refused_choices
from .sentences import prose_lines, split_sentences

__all__ = ["TOO_LONG", "SaidTurn", "is_verbatim", "keeps_denial", "objections", "ungrounded", "value_objections"]

#: Longer lines are no entries.
_MAX_LINE_CHARS = 2000
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nothing|neither|nor|without|cannot)\b|n['’]t\b|[不没未无非别勿]|否(?:认|决|定)",
    re.IGNORECASE,
)
#: Marks that a restatement may neither lose nor gain, with the share of a clause's words above which it has.
_STRICT_MARKS: tuple[tuple[Mark, str], ...] = (
    ("possible", "possibility"), ("conditional", "condition"), ("past", "past"),
)  # fmt: skip


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
    reading = read_line(text, cited, also)
    found = [*missing_strings(reading), *missing_values(reading), *(f"word {word!r}" for word in reading.missing)]
    for check in (_changed_marks, changed_agents, changed_speakers, changed_directions, changed_quantities,
                  changed_bindings, changed_holders, changed_receivers, corrected_values, changed_order, changed_tense, refused_choices):  # fmt: skip
        found += check(reading)
    return tuple(dict.fromkeys(found))


def value_objections(text: str, cited: Sequence[SaidTurn], *, also: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the quotations, paths and currencies of *text* that nobody said, and the values that were corrected."""
    if len(text) > _MAX_LINE_CHARS:
        return (TOO_LONG,)
    reading = read_line(text, cited, also)
    return tuple(dict.fromkeys([*missing_strings(reading), *corrected_values(reading)]))


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


def _changed_marks(reading: LineReading) -> Iterator[str]:
    """Yield what a clause of the line denies, doubts or asserts otherwise than its turns."""
    for clause, tokens in clause_tokens(reading):
        compared = [token for token in tokens if not (token.value or WHEN.fullmatch(token.text))] or tokens
        if not compared or is_replaced(reading, clause):
            continue
        occurrences = [[reading.clause(place).marks_at(place[1]) for place in token.places] for token in compared]
        mine = [clause.marks_at(token.start) for token in compared]
        words = [token for token in tokens if not (WHEN.fullmatch(token.text) or _DENIAL.fullmatch(token.text))]
        yield from _changed_denial(reading, clause, words)
        for mark, name in _STRICT_MARKS:
            changed = sum(
                all(_differs(mark, own, marks) for marks in found) for own, found in zip(mine, occurrences, strict=True)
            )
            few = len(compared) <= 2
            if changed / len(compared) > MOST_CHANGED or (few and changed * 2 >= len(compared) and changed):
                yield f"{name} {'lost' if mark not in clause.marks else 'added'}"
        yield from _changed_wishes(clause, occurrences)


def _changed_denial(reading: LineReading, clause: MarkedClause, words: Sequence[LineToken]) -> Iterator[str]:
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
    if share(frozenset({"wished"})) > MOST_CHANGED and acts and (not kept or "settled" in clause.marks):
        yield "wish stated as fact"
    if (
        share(frozenset({"advised"})) > MOST_CHANGED
        and acts
        and not clause.marks & {"advised", "opinion", "settled", "due"}
    ):
        yield "advice stated as fact"
    if "wished" in clause.marks and "unable" not in clause.marks and share(frozenset({"unable"})) > MOST_CHANGED:
        yield "inability stated as wish"
    if "wished" in clause.marks and share(frozenset({"done"})) > MOST_CHANGED:
        yield "done stated as wish"
