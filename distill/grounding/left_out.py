"""Find what an entry leaves out of the clauses and sentences that it takes words from."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .alignment import is_content
from .tokens import CLASSES, TextToken, is_condition
from .view import AlignmentView, answers_other

__all__ = ["left_out_words", "lost_conditions"]

#: Words with which a sentence limits the one before it.
_ADDED_LIMITS = frozenset({"unless", "except", "provided", "除非"})
#: Words that limit a clause to the times when another one holds.
_TIMES = frozenset({"when", "whenever", "once"})


def left_out_words(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield what the entry leaves out of the clauses from which it takes words."""
    taken = set(view.places.values())
    for runs in view.runs:
        mine = {view.places[at] for run in runs for at in run.anchors}
        for run in runs:
            first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
            bound = [place for place in range(max(0, first - 2), first) if view.said[place].key in CLASSES["bound"]]
            for place in (*bound, *range(first + 1, last)) if run.role != "noun" else ():
                token = view.said[place]
                if place in taken - mine and token.kind == "guard" and token.clause == run.clause:
                    yield "moved", repr(token.key)
    heads = {view.said[place].key for place in view.borrowed if is_content(view.said[place])}
    heads |= {"里"} if any(not key.isascii() for key in heads) else set()
    for clause, kept in view.kept.items():
        told = any(is_content(view.said[place]) for place in kept)
        opening = view.said[kept[0]]
        asks = opening.turn in view.answered and (opening.turn, opening.sentence) in view.asked
        for place in view.clauses[clause]:
            token = view.said[place]
            if place in taken or (
                is_content(token) and (token.key in heads or (heads and token.key in {"thing", "stuff"}))
            ):
                continue
            if token.key == "again" or _is_repeated(view, place):
                continue
            where = "before" if place < kept[0] else "behind" if place > kept[-1] else "inside"
            if (token.kind == "guard" and not asks) or (is_content(token) and where == "inside" and not asks):
                yield "left out", repr(view.contents[token.turn][token.start : token.end])
            elif is_content(token) and not asks and told:
                yield f"left out {where}", ""
            elif token.kind == "person" and told and not asks:
                subject = token.key in {"i", "we"} and any(
                    other < place and is_content(view.said[other]) for other in kept
                )
                yield ("left out", repr(token.key)) if subject else ("person left out", "")


def _is_repeated(view: AlignmentView, place: int) -> bool:
    """Return whether the entry says a word that it seems to leave out, aligned with the same word elsewhere.

    It stands before the same word, or the question says it as well, or it is a "no" before the denial that it repeats.
    """
    token = view.said[place]
    mine = {place: at for at, place in view.places.items()}
    at = mine.get(place + 1, 0)
    if token.kind == "guard" and at and view.entry[at - 1].key == token.key and at - 1 in view.places:
        return True
    if token.key in CLASSES["refuses"] and (place == 0 or view.said[place - 1].turn != token.turn):
        same = [other for other in range(place + 1, place + 4) if other in mine]
        return any(view.said[other].key in {"not", "不", "没"} for other in same)
    return any(
        view.said[other].base == token.base
        and view.said[other].turn == token.turn - 1
        and token.turn - 1 in view.answered
        for other in mine
    )


def lost_conditions(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield conditions of a sentence of which only the rest is told."""
    told = _told_clauses(view)
    sentences = {(token.turn, token.sentence) for token in view.said if token.clause in told}
    for clause, places in view.clauses.items():
        first = view.said[places[0]]
        if clause in told:
            continue
        if first.key in _ADDED_LIMITS and _adds_limit(view, told, clause):
            yield "condition left out", repr(first.key)
        if (first.turn, first.sentence) not in sentences:
            continue
        asks = (first.turn, first.sentence) in view.asked
        found = next(
            (token for token in (view.said[place] for place in places[:2])
             if is_condition(token) or (token.key in _TIMES and not asks)), None
        )  # fmt: skip
        if found is not None and _limits(told, view, clause, found):
            yield "condition left out", repr(found.key)


def _adds_limit(view: AlignmentView, told: Collection[int], clause: int) -> bool:
    """Return whether a sentence of its own limits the told sentence before it: "Pip blocks. Unless it rains"."""
    first, before = view.said[view.clauses[clause][0]], view.clauses.get(clause - 1, [])
    if not before or clause - 1 not in told or view.said[before[0]].turn != first.turn:
        return False
    return view.said[before[0]].sentence != first.sentence and clause + 1 not in told


def _told_clauses(view: AlignmentView) -> set[int]:
    """Return the clauses that the entry tells, and those that answer a question with the noun that it takes."""
    answers = {
        run.clause for runs in view.runs for run in runs for home in runs
        if run.role == "noun" and home.role == "home" and answers_other(view, run, home)
        and view.said[view.places[run.anchors[0]]].turn > view.said[view.places[home.anchors[0]]].turn
    }  # fmt: skip
    return {*view.kept, *answers}


def _limits(told: Collection[int], view: AlignmentView, clause: int, condition: TextToken) -> bool:
    """Return whether a clause that is *told* stands beside the one of *condition*."""
    before, behind = clause - 1 in told, clause + 1 in told
    first = view.said[view.clauses[clause][0]]
    opens = not any(
        view.said[place].sentence == first.sentence for place in view.clauses.get(clause - 1, ())
    )  # fmt: skip
    if condition.key in {"until", "till", "except", "provided", "depends", "depending"}:
        return before
    if condition.key in {"如果", "要是", "除非", "只要", "假如"} and any(
        view.said[place].sentence == first.sentence for place in view.clauses.get(clause + 1, ())
    ):
        return behind  # Chinese puts a condition in front
    return (
        behind
        if opens
        else before or (behind and condition.key in {"if", "unless", "如果", "要是", "除非", "只要", "假如"})
    )
