"""Find words of an entry in another order, in a clause of somebody else, or in a form of another time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from recall.text.irregular_forms import forms_of

from .alignment import is_content
from .tokens import CLASSES, TextToken
from .view import AlignedRun, AlignmentView, answers_other

__all__ = ["borrowed_denials", "changed_forms", "changed_order", "joined_clauses"]

#: Words of a question that offers to do something.
_OFFERS = frozenset({"需", "要", "用", "want", "like", "need"})
_ARTICLES = frozenset({"the", "a", "an", "this", "that"})


def changed_order(view: AlignmentView) -> Iterator[tuple[str, str]]:
    last = -1
    for runs in view.runs:
        for run in runs:
            if _is_older(view, run):
                yield "older words", repr(view.text[view.entry[run.anchors[0]].start : view.entry[run.anchors[-1]].end])
            elif run.role == "order":
                yield "order", repr(view.text[view.entry[run.anchors[0]].start : view.entry[run.anchors[-1]].end])
            elif run.role == "noun":
                yield "noun", ""
        line = [view.places[at] for run in runs for at in run.anchors if run.role != "noun"]
        if line and min(line) < last:
            yield "back", ""
        last = max([last, *line])


def _is_older(view: AlignmentView, run: AlignedRun) -> bool:
    """Return whether a run takes more than a noun from an entry that the new one replaces."""
    first = view.said[view.places[run.anchors[0]]]
    if view.alignment.said.roles[first.turn] != "about":
        return False
    return run.role != "noun" or any(view.entry[at].kind == "value" for at in run.anchors)


def borrowed_denials(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield a "not" that the turns say of something that the entry does not tell beside it."""
    taken = set(view.places.values())
    for runs in view.runs:
        for run in runs:
            keys = [view.said[view.places[at]].key for at in run.anchors]
            if len(runs) == 1 or len(keys) != 1 or keys[0] not in CLASSES["bound"]:
                continue
            rest = [place for place in view.clauses[run.clause] if is_content(view.said[place])]
            if any(place not in taken for place in rest) and not any(
                other is not run and other.clause == run.clause for other in runs
            ):
                yield "qualifier", repr(keys[0])


def joined_clauses(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield clauses of the entry that take a subject from one clause and the rest from another that has its own."""
    for runs in view.runs:
        told = [run for run in runs if run.role != "noun"]
        for one, other in pairwise(told):
            if one.clause == other.clause or other.role == "order":
                continue
            first = view.places[other.anchors[0]]
            other_first = view.said[first]
            head = [view.said[place] for place in view.clauses[other.clause] if place < first]
            own = [token for token in head if is_content(token) or token.person in {"1", "2", "3"}]
            person = any(token.kind == "person" and not _is_told(view, one, token) for token in own)
            other_one = any(is_content(token) for token in own) and any(token.key in {"one", "ones"} for token in head)
            offers = (other_first.turn, other_first.sentence) in view.asked and all(
                token.kind == "person" or token.key in _OFFERS for token in own
            )
            if offers and answers_other(view, one, other):
                yield "joined", ""
            elif own and (person or other_one or not answers_other(view, one, other)):
                yield "joined clauses", repr(view.text[view.entry[other.anchors[0]].start :][:12])
            else:
                yield "joined", ""


def _is_told(view: AlignmentView, run: AlignedRun, person: TextToken) -> bool:
    """Return whether the clause of *run* names the speaker who says "I" as *person*."""
    clause = view.entry[run.anchors[0]].clause
    name = view.alignment.said.names[person.turn]
    return person.person == "1" and any(
        token.clause == clause and token.person == "name" and token.family == name for token in view.entry
    )


def changed_forms(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield words in another form. Another time is a reason."""
    said = {token.key for token in view.said}
    for at, place in view.places.items():
        mine, theirs = view.entry[at].key, view.said[place].key
        if view.entry[at].kind != "word" or view.said[place].kind != "word" or mine == theirs or not mine.isascii():
            continue
        if _is_other_time(mine, theirs) and not _is_done(view, at, place):
            yield "time of", repr(mine)
        elif mine.startswith(theirs) and mine.endswith("s") and mine not in said and _is_counted(view, at, place):
            yield "number of", repr(mine)
        else:
            yield "form", ""


def _is_other_time(mine: str, theirs: str) -> bool:
    """Return whether two forms of a verb tell of different times: "comes" and "came", "fix" and "fixed"."""
    one, other = mine.removesuffix("s"), theirs.removesuffix("s")
    if one == other or mine.endswith("ing") or theirs.endswith("ing"):
        return False
    return mine.endswith("ed") != theirs.endswith("ed") or one in forms_of(other)


def _is_done(view: AlignmentView, at: int, place: int) -> bool:
    """Return whether a past form stands for "did" and the verb: "how did it go" becomes "went"."""
    before = view.said[max(view.clauses[view.said[place].clause][0], place - 6) : place]
    kept = any(token.key in {"did", "not"} for token in view.entry[max(0, at - 3) : at])
    return any(token.key == "did" for token in before) and not kept


def _is_counted(view: AlignmentView, at: int, place: int) -> bool:
    """Return whether a word that gained an "s" is a noun: an article or an owner stands before it."""
    mine = view.entry[at - 1] if at else None
    theirs = view.said[place - 1] if place else None
    if any(
        token.key == "does" and token.clause == view.said[place].clause
        for token in view.said[max(0, place - 6) : place]
    ):
        return False  # "does that hit your pay" becomes "hits"
    if place > 1 and view.said[place - 2].key in _ARTICLES and theirs is not None and theirs.kind == "word":
        ends = any(run.anchors[-1] == at for runs in view.runs for run in runs)
        return ends and at > 1 and view.entry[at - 2].key in _ARTICLES  # "the bilge pump"
    return any(
        token is not None and (token.key in _ARTICLES or (token.kind == "person" and "subject" not in token.cases) or
        (token.person == "name" and "owner" in token.cases)) for token in (mine, theirs)
    )  # fmt: skip
