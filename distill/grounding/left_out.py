"""Find what an entry leaves out of the clauses and sentences that it takes words from."""

from __future__ import annotations

from collections.abc import Iterator

from .alignment import is_content
from .tokens import CLASSES, TextToken, is_condition
from .view import AlignmentView

__all__ = ["left_out_words", "lost_conditions"]


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
        asks = view.said[kept[0]].turn in view.answered
        for place in view.clauses[clause]:
            token = view.said[place]
            if place in taken or (
                is_content(token) and (token.key in heads or (heads and token.key in {"thing", "stuff"}))
            ):
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


def lost_conditions(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield conditions of a sentence of which only the rest is told."""
    sentences = {(view.said[kept[0]].turn, view.said[kept[0]].sentence) for kept in view.kept.values()}
    for clause, places in view.clauses.items():
        first = view.said[places[0]]
        if clause in view.kept or (first.turn, first.sentence) not in sentences:
            continue
        found = next((view.said[place] for place in places[:2] if is_condition(view.said[place])), None)
        if found is not None and _limits(view, clause, found):
            yield "condition left out", repr(found.key)


def _limits(view: AlignmentView, clause: int, condition: TextToken) -> bool:
    """Return whether a clause that is told stands beside the one of *condition*."""
    before, behind = clause - 1 in view.kept, clause + 1 in view.kept
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
