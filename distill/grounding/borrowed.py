"""Find nouns of an entry that stand where the turns have no room for them, or that are taken out of their own clause.

A noun from elsewhere may stand for a pronoun or name what a sentence is about. Each check here has hardly ever found a
true restatement. A model that learned from all that is known of such a noun separated no better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from .alignment import is_content
from .view import AlignedRun, AlignmentView, answers_other, stands_in

__all__ = ["crossed_clauses", "moved_nouns", "split_words", "unsaid_nouns"]


def crossed_clauses(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield two clauses of the entry that both mix the same two clauses of the turns: "10 min, supposed to be 12"."""
    mixed: dict[int, set[int]] = defaultdict(set)
    for at, place in view.places.items():
        if is_content(view.entry[at]):
            mixed[view.entry[at].clause].add(view.said[place].clause)
    for one, other in pairwise(sorted(clause for clause, sources in mixed.items() if len(sources) > 1)):
        if len(mixed[one] & mixed[other]) > 1:
            yield "crossed", repr(next(token.key for token in view.entry if token.clause == other))


def moved_nouns(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield nouns that the entry takes out of one clause and puts into another one, while it tells both clauses."""
    runs = [run for part in view.runs for run in part]
    told = {view.places[at] for run in runs if run.role != "noun" for at in run.anchors}
    lent = {view.places[at]: at for run in runs if run.role == "noun" for at in run.anchors}
    for run in runs:
        if run.role == "noun":
            continue
        first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
        clause = view.entry[run.anchors[0]].clause
        keys = {token.key for token in view.entry if token.clause == clause}
        for place in range(first + 1, min(last + 2, len(view.said))):
            token = view.said[place]
            gone = place in lent and place not in told and view.entry[lent[place]].clause != clause
            following = min((at for at in view.places if at > run.anchors[-1]), default=-1)
            if gone and place > last and lent[place] == following:
                continue  # "fri + sun" becomes "Friday and Sunday"
            if gone and is_content(token) and token.clause == run.clause and token.key not in keys:
                yield "moved", repr(token.key)


def split_words(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield nouns between two words that the turns say side by side: "the snowplough *gate* contract"."""
    for run, home, before, behind in _set_nouns(view):
        if before < 0 or behind < 0 or view.places[behind] - view.places[before] != 1:
            continue
        if view.said[view.places[before]].clause != home.clause or view.entry[before].kind == "value":
            continue
        bare = before == run.anchors[0] - 1 and behind == run.anchors[-1] + 1
        if _is_answer(view, run, before):
            continue
        if is_content(view.entry[behind]) and (
            view.entry[before].kind == "person" or (bare and is_content(view.entry[before]))
        ):
            yield "inserted", repr(view.entry[run.anchors[0]].key)


def unsaid_nouns(view: AlignmentView) -> Iterator[tuple[str, str]]:
    """Yield nouns that their speaker names only in a later sentence of the same turn."""
    for run, home, _, _ in _set_nouns(view):
        mine, theirs = view.said[view.places[run.anchors[0]]], view.said[view.places[home.anchors[0]]]
        head = view.said[view.places[run.anchors[0]] - 1]
        if head.kind == "guard" and head.key in {token.key for token in view.entry[: run.anchors[0]][-1:]}:
            continue  # "before Monday, no wait, before Friday"
        later = mine.turn == theirs.turn and mine.sentence > theirs.sentence and mine.kind != "value"
        later = later and view.places[run.anchors[0]] != view.places[home.anchors[-1]] + 1  # "the boat. Teimosa"
        if later or _is_subject(view, run, home):
            yield "named later", repr(mine.key)


def _is_subject(view: AlignmentView, run: AlignedRun, home: AlignedRun) -> bool:
    """Return whether a run of a later turn stands before its home and weighs more: it says something else."""
    later = view.said[view.places[run.anchors[0]]].turn > view.said[view.places[home.anchors[0]]].turn
    weights = [sum(is_content(view.entry[at]) for at in part.anchors) for part in (run, home)]
    last = view.places[run.anchors[-1]]
    behind = next((place for place in view.clauses[run.clause] if place > last and is_content(view.said[place])), -1)
    owns = "owner" in view.entry[run.anchors[-1]].cases
    leaves = behind >= 0 and behind not in view.places.values() and not owns  # "take the coast road"
    heavy = (weights[0] > 1 and weights[0] * 2 > weights[1]) or leaves
    return later and run.anchors[0] < home.anchors[0] and heavy and not answers_other(view, run, home)


def _is_answer(view: AlignmentView, run: AlignedRun, before: int) -> bool:
    """Return whether a run answers a question that names the word *before* it: "Which daughter?"."""
    turn = view.said[view.places[run.anchors[0]]].turn
    return any(
        token.turn == turn - 1 and token.base == view.entry[before].base and turn - 1 in view.answered
        for token in view.said
    )


def _set_nouns(view: AlignmentView) -> Iterator[tuple[AlignedRun, AlignedRun, int, int]]:
    """Yield each noun that stands for no pronoun, its home, and the aligned words before and behind it, or -1."""
    for runs in view.runs:
        home = next((number for number, run in enumerate(runs) if run.role == "home"), -1)
        if home < 0:
            continue
        part = [at for run in runs for at in run.anchors]
        for number, run in enumerate(runs):
            if run.role == "noun" and not stands_in(view, runs, number, runs[home]):
                before = max((at for at in part if at < run.anchors[0]), default=-1)
                behind = min((at for at in part if at > run.anchors[-1]), default=-1)
                yield run, runs[home], before, behind
