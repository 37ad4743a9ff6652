"""Find questions that an entry tells as statements, refused alternatives, and advice that it tells as a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from guard.lazy_regex import lazy_regex

from .alignment import is_content
from .tokens import CLASSES, TextToken
from .view import AlignmentView

__all__ = ["changed_questions"]

_ASKS = lazy_regex(r"[?？]|\b(?:asks?|asked|whether|wonders?|question)\b|问|是否|吗", re.IGNORECASE)


def changed_questions(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield questions that the entry tells as statements, and answers that it turns round."""
    names = view.alignment.said.names
    for kept in view.kept.values():
        first = view.said[kept[0]]
        if (first.turn, first.sentence) not in view.asked or not any(is_content(view.said[place]) for place in kept):
            continue
        after = view.said[min(len(view.said) - 1, view.clauses[first.clause][-1] + 1)]
        if (
            not first.key.isascii()
            and (after.turn, after.sentence) == (first.turn, first.sentence)
            and after.clause != first.clause
        ):
            continue  # only the last clause of a Chinese sentence asks
        if first.turn not in view.answered:
            if not _ASKS.search(view.text):
                yield "asked", repr(first.key)
            continue
        answer = next(turn for turn in range(first.turn + 1, len(names)) if names[turn] != names[first.turn])
        yield from _refused_choice(view, first.turn, answer)
        opening = [token.key for token in view.said if token.turn == answer][:3]
        told_answer = any(view.said[place].turn > first.turn for place in view.places.values())
        told_answer = told_answer or _repeats_choice(view, first, kept, answer) or _names_asked(view, first, answer)
        if not told_answer and not set(opening) & CLASSES["accepts"]:
            yield "asked", repr(first.key)
        told = {view.entry[at].clause for at, place in view.places.items() if place in set(kept)}
        told |= {clause + 1 for clause in told}
        if set(opening) & CLASSES["refuses"] and not any(
            token.key in CLASSES["refuses"] and token.clause in told | {clause + 1 for clause in told}
            for token in view.entry
        ):
            yield "answer", repr(opening[0])
    for at, place in view.places.items():
        if view.entry[at].person == "name" and view.said[place].person == "2":
            clause = {view.said[other].key for other in view.kept.get(view.said[place].clause, ())}
            turn = view.said[place].turn
            advises = view.alignment.said.roles[turn] == "assistant" and turn not in view.answered
            yield (("advice of", repr(names[turn])) if clause & CLASSES["advises"] and advises else ("advice", ""))


def _repeats_choice(view: AlignmentView, first: TextToken, kept: Sequence[int], answer: int) -> bool:
    """Return whether the answer repeats the one of two words of a question that the entry takes."""
    choices = any(
        token.key in {"or", "还是"} and (token.turn, token.sentence) == (first.turn, first.sentence)
        for token in view.said
    )
    said = [token for token in view.said if token.turn == answer and is_content(token)]
    return choices and any(is_content(view.said[place]) and _is_said(view.said[place], said) for place in kept)


def _names_asked(view: AlignmentView, first: TextToken, answer: int) -> bool:
    """Return whether the entry names who says "me" to a question that asks who."""
    asks = any(
        token.key == "who" and (token.turn, token.sentence) == (first.turn, first.sentence) for token in view.said
    )
    tells = any(token.family == "i" and token.turn == answer for token in view.said)
    return asks and tells and any(token.family == view.alignment.said.names[answer] for token in view.entry)


def _refused_choice(view: AlignmentView, turn: int, answer: int) -> Iterator[tuple[str, str]]:
    """Yield the alternative of a question that the entry takes while the answer names the other one."""
    taken = set(view.places.values())
    said = [token for token in view.said if token.turn == answer]
    for place, token in enumerate(view.said):
        if token.turn != turn or token.key not in {"or", "还是"}:
            continue
        one = next((at for at in range(place - 1, -1, -1) if is_content(view.said[at])), -1)
        other = next((at for at in range(place + 1, len(view.said)) if is_content(view.said[at])), -1)
        for mine, theirs in ((one, other), (other, one)):
            if mine >= 0 and theirs >= 0 and mine in taken and theirs not in taken:
                named = [_is_said(view.said[at], said) for at in (mine, theirs)]
                if named == [False, True]:
                    yield "choice", repr(view.said[mine].key)


def _is_said(token: TextToken, said: Sequence[TextToken]) -> bool:
    return any(token.key == other.key or token.values & other.values for other in said)
