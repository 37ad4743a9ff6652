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

from guard.lazy_regex import lazy_regex

from .alignment import Alignment, is_content
from .tokens import CLASSES, TextToken, is_standin

__all__ = ["AlignedRun", "AlignmentView", "answers_other", "stands_in"]

_POINTS = frozenset({"that", "it", "this", "which", "这", "那", "它"})
_OPENS_QUESTION = lazy_regex(
    r"(?:(?:and|so|ok|but|hey|btw|hm+|sorry|also),? )*(?:(?:am|is|are|was|were|do|does|did|can|could|should|would|will|"
    r"shall|have|has|may) (?:i|we|you|he|she|it|they|the|my|our|this|that|there)\b|"
    r"(?:what|which|when|where|who|why|how)(?:'s| is| are| do| does| did| should| can| was| will| would| much| many|"
    r" long)\b)",
    re.IGNORECASE,
)
_COPULAS = frozenset({"is", "are", "was", "were"})
_STANDS = frozenset({"one", "ones", "he", "she", "they", "it"})
_PARTICLES = frozenset({"up", "down", "off", "out", "over", "back", "away", "on", "in"})
_GENERIC = frozenset({"thing", "stuff"})
_REPORTS = frozenset({"说", "說", "話", "讲", "講"})
#: Most words of a noun that stands for a pronoun or completes a clause.
_MOST_NOUN = 5
#: Most runs of a clause that are tried as its home.
_MOST_HOMES = 4


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
    _settle_roles(view, runs)
    if _is_heading(view, part[-1]) and all(_is_noun(view, run) for run in runs):
        for run in runs:
            run.role = "noun"
    return runs


def _settle_roles(view: AlignmentView, runs: Sequence[AlignedRun]) -> None:
    """Give each run its role, beside the home that leaves the fewest others in the wrong order.

    Of several homes it is the one beside which most nouns stand for a stand-in, and then the one with the most weight.
    """
    order = sorted(runs, key=lambda run: (_weight(view, run), run.anchors[0]), reverse=True)[:_MOST_HOMES]
    best: tuple[tuple[int, int], list[str]] | None = None
    for home in order:
        roles = ["home" if run is home else _role(view, runs, number, home) for number, run in enumerate(runs)]
        fits = sum(role == "noun" and stands_in(view, runs, number, home) for number, role in enumerate(roles))
        found = (roles.count("order"), -fits)
        if best is None or found < best[0]:
            best = found, roles
    for run, role in zip(runs, best[1] if best else (), strict=True):
        run.role = role


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
    if _is_part_of(view, run) or _reports(view, run) or _is_fronted(view, run, home):
        return "more"
    ahead = run.anchors[0] > home.anchors[0]
    in_order = first > view.places[home.anchors[-1]] if ahead else last < view.places[home.anchors[0]]
    return "more" if in_order else "order"


def _is_part_of(view: AlignmentView, run: AlignedRun) -> bool:
    """Return whether a run tells how much of a stand-in: "the fence is down, 200 metres of it"."""
    last = view.places[run.anchors[-1]]
    rest = [view.said[place] for place in view.clauses[run.clause] if place > last]
    tokens = view.entry[run.anchors[-1] + 1 : run.anchors[-1] + 2]
    return [token.key for token in rest[:1]] == ["of"] == [token.key for token in tokens] and (
        len(rest) == 2 and is_standin(rest[1])
    )


def _is_fronted(view: AlignmentView, run: AlignedRun, home: AlignedRun) -> bool:
    """Return whether a run is the object that its clause begins with: "the medical I can't book"."""
    first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
    opens = not any(is_content(view.said[place]) for place in view.clauses[run.clause] if place < first)
    behind = view.said[last + 1 : last + 2]
    return (
        run.clause == home.clause and opens and run.anchors[0] > home.anchors[0]
        and any(token.person == "1" and "subject" in token.cases and token.key.isascii() for token in behind)
    )  # fmt: skip


def _reports(view: AlignmentView, run: AlignedRun) -> bool:
    """Return whether a run names who said the rest of its clause, in front of what it is about or behind."""
    behind = view.said[view.places[run.anchors[-1]] + 1 :][:1]
    mine = view.entry[run.anchors[-1] + 1 :][:1]
    return bool(behind and mine) and behind[0].key == mine[0].key and mine[0].key in _REPORTS


def _is_noun(view: AlignmentView, run: AlignedRun) -> bool:
    """Return whether a run may be a noun: few words side by side, none of which limits or stands for a person."""
    tokens = [view.said[view.places[at]] for at in run.anchors]
    persons = [token for token in tokens if token.person in {"1", "2", "3"}]
    limits = [token for token in tokens if token.kind == "guard"]
    if limits and limits == tokens[:1] and limits[0].key == "about":
        limits = [] if len(tokens) > 1 and tokens[1].kind == "word" else limits  # "about the boiler"
    if len(limits) == 1 and limits[0].key == "from" and limits[0] not in (tokens[0], tokens[-1]):
        limits = []  # "the letter from Ghent"
    if len(run.anchors) > _MOST_NOUN or limits:
        return False
    if any("owner" not in token.cases for token in persons) or (persons and tokens[-1] is persons[-1]):
        return False
    first = view.places[run.anchors[0]]
    before = view.said[max(0, first - 2) : first]
    if not _is_topic(view, run) and any(
        token.kind == "guard" and token.clause == run.clause and token.key in CLASSES["bound"] for token in before
    ):
        return False
    first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
    if _is_predicate(view, run):
        return False
    between = [token for token in view.said[first : last + 1] if is_content(token) or token.kind == "guard"]
    taken = set(view.places.values())
    within = [view.said[place] for place in range(first, last + 1) if place not in taken]
    lost = any(token.kind == "guard" or token.person == "3" for token in within)
    return len(between) <= len(run.anchors) and not lost


def _is_topic(view: AlignmentView, run: AlignedRun) -> bool:
    """Return whether a run stands behind an "about" of the entry."""
    return [token.key for token in view.entry[: run.anchors[0]] if token.kind != "light"][-1:] == ["about"]


def _is_predicate(view: AlignmentView, run: AlignedRun) -> bool:
    """Return whether a run says something of what stands before it, which its clause of the entry leaves out."""
    first, clause = view.places[run.anchors[0]], view.entry[run.anchors[0]].clause
    places = [place for place in view.clauses[view.said[first].clause] if place < first]
    taken = {place for at, place in view.places.items() if view.entry[at].clause == clause}
    head = [view.said[place] for place in places]
    left_out = any(
        place not in taken and (is_content(view.said[place]) or view.said[place].kind == "person") for place in places
    )
    return left_out and (head[-1].key in _COPULAS or (head[-1].key in _STANDS and is_content(view.said[first])))


def _has_room(view: AlignmentView, runs: Sequence[AlignedRun], number: int, home: AlignedRun) -> bool:
    """Return whether nothing that tells something is left out where a noun stands in the entry."""
    run = runs[number]
    same = run.clause == home.clause
    if not same and _is_topic(view, run) and view.entry[run.anchors[0]].kind == "word":
        return True
    taken = set(view.places.values())
    window = _place_of_noun(view, runs, run, home)
    nouns = [view.entry[at] for at in run.anchors]
    heads = {token.key for token in nouns} | ({"里"} if nouns and not nouns[-1].key.isascii() else set())
    if any(
        is_content(view.said[place]) and (place in taken or view.said[place].key not in heads | _GENERIC)
        for place in window
    ):
        return False
    free = [view.said[place] for place in window if place not in taken]
    spoken = {token.family for token in free if token.person in {"1", "2"}}
    named = any(token.name or token.kind == "person" for token in nouns)
    calls = spoken == {"you"} and _is_called(view, run, home)
    if spoken and not calls and (spoken != {"we"} or named):
        return False
    person = next((place for place in window if view.said[place].person == "3"), None)
    if person is not None and not any(token.key == nouns[-1].key for token in view.said[:person]):
        return False  # nobody is meant who is named only later
    if _replaces_value(view, run, home):
        return False
    lends = not all(_is_number(token) for token in nouns) and not _owns_loosely(view, run)
    return (not same and lends) or calls or stands_in(view, runs, number, home)


def _is_number(token: TextToken) -> bool:
    """Return whether *token* is a value that is no date or time."""
    return token.kind == "value" and {kind for kind, _ in token.values} <= {"number"}


def _owns_loosely(view: AlignmentView, run: AlignedRun) -> bool:
    """Return whether a run owns what stands behind it in a Chinese entry: "童叔的"."""
    return any(token.key == "的" for token in view.entry[run.anchors[-1] + 1 :][:1])


def stands_in(view: AlignmentView, runs: Sequence[AlignedRun], number: int, home: AlignedRun) -> bool:
    """Return whether a stand-in, or a shorter form of the noun, is left out where a noun stands in the entry."""
    run = runs[number]
    taken = set(view.places.values())
    last = view.entry[run.anchors[-1]]
    free = [view.said[place] for place in _place_of_noun(view, runs, run, home) if place not in taken]
    return any(
        (is_standin(token) and _fits(token, owns="owner" in last.cases))
        or (is_content(token) and token.key == last.key)
        for token in free
    )


def _place_of_noun(view: AlignmentView, runs: Sequence[AlignedRun], run: AlignedRun, home: AlignedRun) -> range:
    """Return the places of the turns where a run would stand that the entry puts beside *home*."""
    rest = [other for other in runs if other.clause == home.clause and other is not run]
    before = next(
        (view.places[other.anchors[-1]] for other in reversed(rest) if other.anchors[0] < run.anchors[0]), None
    )
    behind = next((view.places[other.anchors[0]] for other in rest if other.anchors[0] > run.anchors[0]), None)
    if before is not None and behind is None:  # "lives there, she comes"
        later = [view.places[at] for at in sorted(view.places) if at > run.anchors[-1]]
        behind = next((place for place in later[:1] if place > before and view.said[place].clause == home.clause), None)
    window = _between_same(view, run, _window(view, before, behind))
    if before is not None and view.said[before].key in _PARTICLES and before - 1 not in view.places.values():
        return range(before - 1, before) if is_standin(view.said[before - 1]) else window  # "bring that up"
    return window


def _between_same(view: AlignmentView, run: AlignedRun, window: range) -> range:
    """Return the part of *window* between the light words that also stand around the run: "跟 ... 说"."""
    before, behind = view.entry[: run.anchors[0]][-1:], view.entry[run.anchors[-1] + 1 :][:1]
    start, stop = window.start, window.stop
    for token in before:
        same = [place for place in window if token.kind == "light" and view.said[place].key == token.key]
        start = same[-1] + 1 if same else start
    for token in behind:
        same = [place for place in range(start, stop) if token.kind == "light" and view.said[place].key == token.key]
        stop = same[0] if same else stop
    return range(start, stop)


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
