"""Give the checks an alignment clause by clause: the runs of words of an entry, and what each run is.

The words that a clause of the entry takes from one clause of the turns, in its order, are a run. One run is at home
there. Another one may be a noun that stands for a pronoun, more of the statement, or in the wrong order.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .alignment import Alignment, is_content
from .tokens import CLASSES, TextToken, is_standin

__all__ = ["AlignedRun", "AlignmentView", "answers_other"]

_POINTS = frozenset({"that", "it", "this", "which", "这", "那", "它"})
_OPENS_QUESTION = re.compile(
    r"(?:(?:and|so|ok|but|hey|btw|hm+|sorry|also),? )*(?:(?:am|is|are|was|were|do|does|did|can|could|should|would|will|"
    r"shall|have|has|may) (?:i|we|you|he|she|it|they|the|my|our|this|that|there)\b|"
    r"(?:what|which|when|where|who|why|how)(?:'s| is| are| do| does| did| should| can| was| will| would| much| many|"
    r" long)\b)",
    re.IGNORECASE,
)
#: Most words of a noun that stands for a pronoun or completes a clause.
_MOST_NOUN = 5


@dataclass(kw_only=True)
class AlignmentView:
    """An alignment with what the checks ask for."""

    text: str
    alignment: Alignment
    contents: Sequence[str]

    @property
    def entry(self) -> Sequence[TextToken]:
        return self.alignment.entry

    @property
    def said(self) -> Sequence[TextToken]:
        return self.alignment.said.tokens

    @property
    def places(self) -> Mapping[int, int]:
        return self.alignment.places

    @cached_property
    def clauses(self) -> dict[int, list[int]]:
        """The numbers of the tokens of each clause of the turns."""
        found: dict[int, list[int]] = defaultdict(list)
        for place, token in enumerate(self.said):
            found[token.clause].append(place)
        return found

    @cached_property
    def parts(self) -> list[list[int]]:
        """The aligned tokens of the entry, clause by clause."""
        found: dict[int, list[int]] = defaultdict(list)
        for at in sorted(self.places):
            found[self.entry[at].clause].append(at)
        return list(found.values())

    @cached_property
    def sentences(self) -> Counter[tuple[int, int]]:
        """The number of words that the entry takes from each sentence."""
        return Counter((self.said[place].turn, self.said[place].sentence) for place in self.places.values())

    @cached_property
    def runs(self) -> list[list[AlignedRun]]:
        """The runs of each clause of the entry that stand in one clause of the turns, in its order."""
        return [_runs(self, part) for part in self.parts]

    @cached_property
    def borrowed(self) -> set[int]:
        """The places of nouns that stand for a pronoun or complete a clause. Their own clauses are not told."""
        return {self.places[at] for runs in self.runs for run in runs if run.role == "noun" for at in run.anchors}

    @cached_property
    def kept(self) -> dict[int, list[int]]:
        """The places that the entry takes from each clause."""
        found: dict[int, list[int]] = defaultdict(list)
        for place in sorted(set(self.places.values()) - self.borrowed):
            found[self.said[place].clause].append(place)
        return found

    @cached_property
    def asked(self) -> set[tuple[int, int]]:
        """The turns and sentences that ask."""
        ends: dict[tuple[int, int], int] = {}
        for token in self.said:
            ends[token.turn, token.sentence] = token.end
        starts = {(token.turn, token.sentence): token.start for token in reversed(self.said)}
        return {key for key, end in ends.items() if _is_asked(self.contents[key[0]], starts[key], end)}

    @cached_property
    def answered(self) -> set[int]:
        """The turns that ask, of which a later turn of somebody else is cited as well."""
        names = self.alignment.said.names
        return {turn for turn, _ in self.asked if any(name != names[turn] for name in names[turn + 1 :])}


def _is_asked(content: str, start: int, end: int) -> bool:
    """Return whether the sentence of *content* between two places asks, by its mark, its end or its beginning."""
    if re.match(r"\W*[?？]", content[end : end + 4]) or content[:end].endswith(("吗", "呢")):
        return True
    return (
        re.match(r"\W*[.!;]", content[end : end + 2]) is None and _OPENS_QUESTION.match(content[start:end]) is not None
    )


@dataclass(slots=True, kw_only=True)
class AlignedRun:
    """Words of a clause of the entry that one *clause* of the turns says in this order.

    The *role* of a run is to be the ``home`` of the clause, a ``noun`` from elsewhere, ``more`` of the statement, or a
    run in the wrong ``order``.
    """

    anchors: list[int]
    clause: int
    role: str = ""


def _runs(view: AlignmentView, part: Sequence[int]) -> list[AlignedRun]:
    runs: list[AlignedRun] = []
    for at in part:
        place = view.places[at]
        clause = view.said[place].clause
        if runs and runs[-1].clause == clause and place > view.places[runs[-1].anchors[-1]]:
            runs[-1].anchors.append(at)
        else:
            runs.append(AlignedRun(anchors=[at], clause=clause))
    home = max(reversed(runs), key=lambda run: _weight(view, run), default=None)
    for number, run in enumerate(runs):
        run.role = "home" if run is home else _role(view, runs, number, home)
    if _is_heading(view, part[-1]) and all(_is_noun(view, run) for run in runs):
        for run in runs:
            run.role = "noun"
    return runs


def _is_heading(view: AlignmentView, last: int) -> bool:
    """Return whether the clause that ends with the word *last* only names what the next one is about.

    "Double booking: the database refuses overlaps", "Mara's exam, that is in May".
    """
    end = view.entry[last].end
    behind = next((token for token in view.entry if token.start > end), None)
    return view.text[end : end + 1] in {":", "："} or (
        view.text[end : end + 1] in {",", "，"} and behind is not None and behind.key in _POINTS
    )


def _weight(view: AlignmentView, run: AlignedRun) -> tuple[int, bool, int, bool]:
    """Return how many words a run has, whether it states, how much its sentence gives, and whether it has a verb."""
    kinds = [view.entry[at].kind for at in run.anchors]
    first = view.said[view.places[run.anchors[0]]]
    states = (first.turn, first.sentence) not in view.asked
    words = len(kinds) - kinds.count("person")
    return words, states, view.sentences[first.turn, first.sentence], "person" in kinds or "guard" in kinds


def _role(view: AlignmentView, runs: Sequence[AlignedRun], number: int, home: AlignedRun | None) -> str:
    """Return what a run is beside the *home* of its clause."""
    run = runs[number]
    first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
    if home is not None and _is_noun(view, run) and _has_room(view, runs, number, home):
        return "noun"
    if home is None or answers_other(view, run, home):
        return "more"
    if home.clause == run.clause and (view.said[first].turn, view.said[first].sentence) in view.asked:
        return "more"  # "should the service use" becomes "the service should use"
    ahead = run.anchors[0] > home.anchors[0]
    in_order = first > view.places[home.anchors[-1]] if ahead else last < view.places[home.anchors[0]]
    return "more" if in_order else "order"


def _is_noun(view: AlignmentView, run: AlignedRun) -> bool:
    """Return whether a run may be a noun: few words side by side, none of which limits or stands for a person."""
    tokens = [view.said[view.places[at]] for at in run.anchors]
    persons = [token for token in tokens if token.person in {"1", "2", "3"}]
    if len(run.anchors) > _MOST_NOUN or any(token.kind == "guard" for token in tokens):
        return False
    if any("owner" not in token.cases for token in persons) or (persons and tokens[-1] is persons[-1]):
        return False
    first = view.places[run.anchors[0]]
    before = view.said[max(0, first - 2) : first]
    if any(token.kind == "guard" and token.clause == run.clause and token.key in CLASSES["bound"] for token in before):
        return False
    first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
    between = [token for token in view.said[first : last + 1] if is_content(token) or token.kind == "guard"]
    return len(between) <= len(run.anchors)


def _has_room(view: AlignmentView, runs: Sequence[AlignedRun], number: int, home: AlignedRun) -> bool:
    """Return whether nothing that tells something is left out where a noun stands in the entry."""
    run = runs[number]
    rest = [other for other in runs if other.clause == home.clause and other is not run]
    before = next(
        (view.places[other.anchors[-1]] for other in reversed(rest) if other.anchors[0] < run.anchors[0]), None
    )
    behind = next((view.places[other.anchors[0]] for other in rest if other.anchors[0] > run.anchors[0]), None)
    same = run.clause == home.clause
    taken = set(view.places.values())
    free = [view.said[place] for place in _window(view, before, behind)]
    if any(is_content(token) for token in free):
        return False
    free = [view.said[place] for place in _window(view, before, behind) if place not in taken]
    nouns = [view.entry[at] for at in run.anchors]
    spoken = {token.family for token in free if token.person in {"1", "2"}}
    named = any(token.name or token.kind == "person" for token in nouns)
    calls = spoken == {"you"} and _is_called(view, run, home)
    if spoken and not calls and (spoken != {"we"} or named):
        return False
    person = next((place for place in _window(view, before, behind) if view.said[place].person == "3"), None)
    if person is not None and not any(token.key == nouns[-1].key for token in view.said[:person]):
        return False  # nobody is meant who is named only later
    if _replaces_value(view, run, home):
        return False
    owns = "owner" in view.entry[run.anchors[-1]].cases
    return not same or calls or any(is_standin(token) and _fits(token, owns=owns) for token in free)


def _is_called(view: AlignmentView, run: AlignedRun, home: AlignedRun) -> bool:
    """Return whether a run is the name at the head of the turn that says "you"."""
    place = view.places[run.anchors[0]]
    head = view.places[home.anchors[0]]
    first = next(at for at, token in enumerate(view.said) if token.turn == view.said[head].turn)
    return len(run.anchors) == 1 and first <= place <= first + 2


def _replaces_value(view: AlignmentView, run: AlignedRun, home: AlignedRun) -> bool:
    """Return whether a run brings a value into a sentence that leaves out one of the same kind."""
    kinds = {kind for at in run.anchors for kind, _ in view.entry[at].values} - {"number"}
    first = view.said[view.places[home.anchors[0]]]
    taken = set(view.places.values())
    return any(
        kinds & {kind for kind, _ in token.values}
        for place, token in enumerate(view.said)
        if place not in taken
        and (token.turn, token.sentence) == (first.turn, first.sentence)
        and run.clause != token.clause
    )


def answers_other(view: AlignmentView, run: AlignedRun, home: AlignedRun) -> bool:
    """Return whether one run is from a question and the other one from its answer."""
    names = view.alignment.said.names
    one, other = view.said[view.places[run.anchors[0]]].turn, view.said[view.places[home.anchors[0]]].turn
    return names[one] != names[other] and min(one, other) in view.answered


def _fits(standin: TextToken, *, owns: bool) -> bool:
    """Return whether a noun may take the place of *standin*: of an owner only one that *owns*."""
    if standin.key == "its":
        return owns
    return not standin.cases or ("owner" in standin.cases if owns else standin.cases != {"owner"})


def _window(view: AlignmentView, before: int | None, behind: int | None) -> range:
    """Return the places between two neighbours, or from one of them to the end of its clause."""
    if before is not None and behind is not None and before < behind:
        return range(before + 1, behind)
    if before is not None:
        return range(before + 1, view.clauses[view.said[before].clause][-1] + 1)
    if behind is not None:
        return range(view.clauses[view.said[behind].clause][0], behind)
    return range(0)
