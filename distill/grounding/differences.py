"""Name what an entry has that its turns do not say, and what it leaves out of the clauses that it takes words from.

Each difference has a kind. Most kinds are reasons to refuse an entry by themselves. The others are counted, and a
trained model weighs them (``distill.grounding.extract_model``).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise

from recall.text.irregular_forms import forms_of

from ..statements.cited_values import Value, value_mentions
from .alignment import Alignment, is_content
from .tokens import TextToken, is_condition, is_standin

__all__ = ["SOFT", "Differences", "Gloss", "find_differences", "glosses"]

#: Kinds that are no reason by themselves.
SOFT = (
    "left out before", "left out behind", "person left out", "name added", "form", "back", "joined",
    "advice", "noun", "length", "sources", "told",
)  # fmt: skip
_GLOSS = re.compile(
    r"\s?[（(]\s*(?P<date>(?:19|20)\d{2}(?:-\d{2}){0,2}|\d{4}\s?年(?:\s?\d+\s?月(?:\s?\d+\s?日)?)?)\s*[)）]"
)
_WEEK = re.compile(
    r"\b(?P<en>next|last|this|coming) (?:week|weekend)\b|(?P<zh>下下|下|上上|上|这|本)个?(?:周末|周|星期|礼拜)|"
    r"周末|weekend",
    re.IGNORECASE,
)
_WEEKS = {"next": 1, "coming": 1, "last": -1, "this": 0, "下下": 2, "下": 1, "上": -1, "上上": -2, "这": 0, "本": 0}
#: Words that a noun does not leave behind.
_BOUND = frozenset(["not", "no", "never", "without", "except", "instead", "不", "没", "无", "除了"])
_ACCEPTS = frozenset(
    [
        "yes",
        "yep",
        "yeah",
        "yup",
        "ya",
        "sure",
        "ok",
        "okay",
        "right",
        "correct",
        "exactly",
        "indeed",
        "agreed",
        "please",
        "do",
        "对",
        "是",
        "好",
        "行",
        "嗯",
        "可以",
        "成",
        "没错",
        "同意",
    ]
)
_POINTS = frozenset({"that", "it", "this", "which", "这", "那", "它"})
_ARTICLES = frozenset({"the", "a", "an", "this", "that"})
_REFUSES = frozenset(
    ["no", "nope", "nah", "not", "don't", "dont", "never", "不", "没", "别", "不用", "不是", "不要", "没有"]
)
_OPENS_QUESTION = re.compile(
    r"(?:(?:and|so|ok|but|hey|btw|hm+|sorry|also),? )*(?:(?:am|is|are|was|were|do|does|did|can|could|should|would|will|"
    r"shall|have|has|may) (?:i|we|you|he|she|it|they|the|my|our|this|that|there)\b|"
    r"(?:what|which|when|where|who|why|how)(?:'s| is| are| do| does| did| should| can| was| will| would| much| many|"
    r" long)\b)",
    re.IGNORECASE,
)
_ADVISES = frozenset(
    ["should", "could", "can", "may", "must", "might", "try", "need", "consider", "建议", "可以", "应该"]
)
_ASKS = re.compile(r"[?？]|\b(?:asks?|asked|whether|wonders?|question)\b|问|是否|吗", re.IGNORECASE)
#: Most words of a noun that stands for a pronoun or completes a clause.
_MOST_NOUN = 5
#: Most days between a day and a turn that names only its number.
_COMING_DAYS = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Gloss:
    """A date in brackets behind relative words of an entry, at *start*."""

    text: str
    start: int


@dataclass(slots=True, kw_only=True)
class Differences:
    """The *reasons* against an entry, each in a few words, and the *counts* of the other differences by kind."""

    reasons: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def glosses(text: str) -> tuple[str, list[Gloss]]:
    """Return *text* with dates in brackets blanked, and these dates."""
    found = [Gloss(text=match["date"], start=match.start()) for match in _GLOSS.finditer(text)]
    return _GLOSS.sub(lambda match: " " * len(match.group()), text), found


def find_differences(
    text: str, alignment: Alignment, found: Sequence[Gloss], contents: Sequence[str], days: Sequence[date | None]
) -> Differences:
    """Return the differences of an entry's *text*.

    Args:
        text: the entry.
        alignment: its words and those of the turns.
        found: its dates in brackets.
        contents: the texts of the turns.
        days: the days on which they were said.
    """
    view = _View(text=text, alignment=alignment, contents=contents)
    result = Differences()
    for check in (_added, _changed_order, _left_out, _lost_conditions, _joined, _questions, _forms):
        for kind, detail in check(view):
            if kind in SOFT:
                result.counts[kind] += 1
            else:
                result.reasons.append(f"{kind} {detail}".strip())
    result.reasons += [f"date {gloss.text!r}" for gloss in found if not _is_known_date(gloss, view, days)]
    result.counts["length"] = len(alignment.places)
    result.counts["sources"] = len({view.said[place].clause for place in alignment.places.values()})
    return result


@dataclass(kw_only=True)
class _View:
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
    def runs(self) -> list[list[_Run]]:
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
class _Run:
    """Words of a clause of the entry that one *clause* of the turns says in this order.

    The *role* of a run is to be the ``home`` of the clause, a ``noun`` from elsewhere, ``more`` of the statement, or a
    run in the wrong ``order``.
    """

    anchors: list[int]
    clause: int
    role: str = ""


def _runs(view: _View, part: Sequence[int]) -> list[_Run]:
    runs: list[_Run] = []
    for at in part:
        place = view.places[at]
        clause = view.said[place].clause
        if runs and runs[-1].clause == clause and place > view.places[runs[-1].anchors[-1]]:
            runs[-1].anchors.append(at)
        else:
            runs.append(_Run(anchors=[at], clause=clause))
    home = max(reversed(runs), key=lambda run: _weight(view, run), default=None)
    for number, run in enumerate(runs):
        run.role = "home" if run is home else _role(view, runs, number, home)
    if _is_heading(view, part[-1]) and all(_is_noun(view, run) for run in runs):
        for run in runs:
            run.role = "noun"
    return runs


def _is_heading(view: _View, last: int) -> bool:
    """Return whether the clause that ends with the word *last* only names what the next one is about.

    "Double booking: the database refuses overlaps", "Mara's exam, that is in May".
    """
    end = view.entry[last].end
    behind = next((token for token in view.entry if token.start > end), None)
    return view.text[end : end + 1] in {":", "："} or (
        view.text[end : end + 1] in {",", "，"} and behind is not None and behind.key in _POINTS
    )


def _weight(view: _View, run: _Run) -> tuple[int, bool, int, bool]:
    """Return how many words a run has, whether it states, how much its sentence gives, and whether it has a verb."""
    kinds = [view.entry[at].kind for at in run.anchors]
    first = view.said[view.places[run.anchors[0]]]
    states = (first.turn, first.sentence) not in view.asked
    words = len(kinds) - kinds.count("person")
    return words, states, view.sentences[first.turn, first.sentence], "person" in kinds or "guard" in kinds


def _role(view: _View, runs: Sequence[_Run], number: int, home: _Run | None) -> str:
    """Return what a run is beside the *home* of its clause."""
    run = runs[number]
    first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
    if home is not None and _is_noun(view, run) and _has_room(view, runs, number, home):
        return "noun"
    if home is None or _answers(view, run, home):
        return "more"
    if home.clause == run.clause and (view.said[first].turn, view.said[first].sentence) in view.asked:
        return "more"  # "should the service use" becomes "the service should use"
    ahead = run.anchors[0] > home.anchors[0]
    in_order = first > view.places[home.anchors[-1]] if ahead else last < view.places[home.anchors[0]]
    return "more" if in_order else "order"


def _is_noun(view: _View, run: _Run) -> bool:
    """Return whether a run may be a noun: few words side by side, none of which limits or stands for a person."""
    tokens = [view.said[view.places[at]] for at in run.anchors]
    persons = [token for token in tokens if token.person in {"1", "2", "3"}]
    if len(run.anchors) > _MOST_NOUN or any(token.kind == "guard" for token in tokens):
        return False
    if any("owner" not in token.cases for token in persons) or (persons and tokens[-1] is persons[-1]):
        return False
    first = view.places[run.anchors[0]]
    before = view.said[max(0, first - 2) : first]
    if any(token.kind == "guard" and token.clause == run.clause and token.key in _BOUND for token in before):
        return False
    first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
    between = [token for token in view.said[first : last + 1] if is_content(token) or token.kind == "guard"]
    return len(between) <= len(run.anchors)


def _has_room(view: _View, runs: Sequence[_Run], number: int, home: _Run) -> bool:
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


def _is_called(view: _View, run: _Run, home: _Run) -> bool:
    """Return whether a run is the name at the head of the turn that says "you"."""
    place = view.places[run.anchors[0]]
    head = view.places[home.anchors[0]]
    first = next(at for at, token in enumerate(view.said) if token.turn == view.said[head].turn)
    return len(run.anchors) == 1 and first <= place <= first + 2


def _replaces_value(view: _View, run: _Run, home: _Run) -> bool:
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


def _answers(view: _View, run: _Run, home: _Run) -> bool:
    """Return whether one run is from a question and the other one from its answer."""
    names = view.alignment.said.names
    one, other = view.said[view.places[run.anchors[0]]].turn, view.said[view.places[home.anchors[0]]].turn
    return names[one] != names[other] and min(one, other) in view.answered


def _fits(standin: TextToken, *, owns: bool) -> bool:
    """Return whether a noun may take the place of *standin*: of an owner only one that *owns*."""
    if standin.key == "its":
        return owns
    return not standin.cases or ("owner" in standin.cases if owns else standin.cases != {"owner"})


def _window(view: _View, before: int | None, behind: int | None) -> range:
    """Return the places between two neighbours, or from one of them to the end of its clause."""
    if before is not None and behind is not None and before < behind:
        return range(before + 1, behind)
    if before is not None:
        return range(before + 1, view.clauses[view.said[before].clause][-1] + 1)
    if behind is not None:
        return range(view.clauses[view.said[behind].clause][0], behind)
    return range(0)


def _added(view: _View) -> Iterator[tuple[str, str]]:
    """Yield words of the entry that the turns do not say."""
    for at in view.alignment.missing:
        token = view.entry[at]
        if token.kind == "person":
            yield from _added_person(view, at)
        elif token.kind != "filler":
            kind = {"value": "value", "guard": "qualifier"}.get(token.kind, "word")
            yield kind, repr(view.text[token.start : token.end])


def _added_person(view: _View, at: int) -> Iterator[tuple[str, str]]:
    """Yield what a person of the entry is whom the turns do not name at this place."""
    token = view.entry[at]
    if token.person == "name" and _is_told(view, token):
        yield "told", ""
    elif _is_unsaid_subject(view, at) or _is_unsaid_owner(view, at):
        yield "name added", ""
    else:
        yield "person", repr(view.text[token.start : token.end])


def _is_told(view: _View, token: TextToken) -> bool:
    """Return whether a name only says who speaks: "Mara: use tabs"."""
    marked = re.match(r"\s?[:：]", view.text[token.end : token.end + 2]) is not None
    return marked and token.family in view.alignment.said.names


def _is_unsaid_subject(view: _View, at: int) -> bool:
    """Return whether a person stands where a clause of theirs begins without a subject: "had my scan yesterday"."""
    token = view.entry[at]
    nouns = {other for runs in view.runs for run in runs if run.role == "noun" for other in run.anchors}
    behind = next((other for other in sorted(view.places) if other > at and other not in nouns), None)
    if behind is None or any(
        view.entry[other].clause == token.clause and view.entry[other].kind != "value" and other not in nouns
        for other in view.places if other < at
    ):  # fmt: skip
        return False
    said, names = view.said[view.places[behind]], view.alignment.said.names
    answers = said.turn in view.answered and token.family in names[said.turn + 1 :]
    own = token.family == names[said.turn] or answers if token.person == "name" else token.person == "3"
    return own and _opens_clause(view, view.places[behind])


def _is_unsaid_owner(view: _View, at: int) -> bool:
    """Return whether a person owns what stands behind in words of theirs that name no owner: "mum", "the knee"."""
    token = view.entry[at]
    behind = next((other for other in sorted(view.places) if other > at), None)
    if behind is None or "owner" not in token.cases:
        return False
    place = view.places[behind]
    own = token.person == "3" or token.family == view.alignment.said.names[view.said[place].turn]
    noun = any(run.role == "noun" and behind in run.anchors for runs in view.runs for run in runs)
    article = place > 0 and view.said[place - 1].key in _ARTICLES
    return own and (noun or article or _opens_clause(view, place))


def _opens_clause(view: _View, place: int) -> bool:
    """Return whether nothing that tells something stands before *place* in its clause."""
    before = [view.said[other] for other in view.clauses[view.said[place].clause] if other < place]
    return not any(is_content(token) or token.kind == "person" for token in before)


def _changed_order(view: _View) -> Iterator[tuple[str, str]]:
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


def _is_older(view: _View, run: _Run) -> bool:
    """Return whether a run takes more than a noun from an entry that the new one replaces."""
    first = view.said[view.places[run.anchors[0]]]
    if view.alignment.said.roles[first.turn] != "about":
        return False
    return run.role != "noun" or any(view.entry[at].kind == "value" for at in run.anchors)


def _left_out(view: _View) -> Iterator[tuple[str, str]]:
    """Yield what the entry leaves out of the clauses from which it takes words."""
    taken = set(view.places.values())
    for runs in view.runs:
        mine = {view.places[at] for run in runs for at in run.anchors}
        for run in runs:
            first, last = view.places[run.anchors[0]], view.places[run.anchors[-1]]
            bound = [place for place in range(max(0, first - 2), first) if view.said[place].key in _BOUND]
            for place in (*bound, *range(first + 1, last)) if run.role != "noun" else ():
                token = view.said[place]
                if place in taken - mine and token.kind == "guard" and token.clause == run.clause:
                    yield "moved", repr(token.key)
    for clause, kept in view.kept.items():
        told = any(is_content(view.said[place]) for place in kept)
        asks = view.said[kept[0]].turn in view.answered
        for place in view.clauses[clause]:
            token = view.said[place]
            if place in taken:
                continue
            where = "before" if place < kept[0] else "behind" if place > kept[-1] else "inside"
            if (token.kind == "guard" and not asks) or (is_content(token) and where == "inside" and not asks):
                yield "left out", repr(view.contents[token.turn][token.start : token.end])
            elif is_content(token) and not asks and told:
                yield f"left out {where}", ""
            elif token.kind == "person" and told and not asks:
                subject = token.key in {"i", "we"} and where == "inside"
                yield ("left out", repr(token.key)) if subject else ("person left out", "")


def _lost_conditions(view: _View) -> Iterator[tuple[str, str]]:
    """Yield conditions of a sentence of which only the rest is told."""
    sentences = {(view.said[kept[0]].turn, view.said[kept[0]].sentence) for kept in view.kept.values()}
    for clause, places in view.clauses.items():
        first = view.said[places[0]]
        if clause in view.kept or (first.turn, first.sentence) not in sentences:
            continue
        found = next((view.said[place] for place in places[:2] if is_condition(view.said[place])), None)
        if found is not None and _limits(view, clause, found):
            yield "condition left out", repr(found.key)


def _limits(view: _View, clause: int, condition: TextToken) -> bool:
    """Return whether a clause that is told stands beside the one of *condition*."""
    before, behind = clause - 1 in view.kept, clause + 1 in view.kept
    first = view.said[view.clauses[clause][0]]
    opens = not any(
        view.said[place].sentence == first.sentence for place in view.clauses.get(clause - 1, ())
    )  # fmt: skip
    if condition.key in {"until", "till", "except", "provided", "depends", "depending"}:
        return before
    return (
        behind
        if opens
        else before or (behind and condition.key in {"if", "unless", "如果", "要是", "除非", "只要", "假如"})
    )


def _joined(view: _View) -> Iterator[tuple[str, str]]:
    """Yield clauses of the entry that take a subject from one clause and the rest from another that has its own."""
    for runs in view.runs:
        told = [run for run in runs if run.role != "noun"]
        for one, other in pairwise(told):
            if one.clause == other.clause or other.role == "order":
                continue
            first = view.places[other.anchors[0]]
            head = [view.said[place] for place in view.clauses[other.clause] if place < first]
            own = [token for token in head if is_content(token) or token.person in {"1", "2", "3"}]
            person = any(token.kind == "person" for token in own)
            if own and (person or not _answers(view, one, other)):
                yield "joined clauses", repr(view.text[view.entry[other.anchors[0]].start :][:12])
            else:
                yield "joined", ""


def _questions(view: _View) -> Iterator[tuple[str, str]]:
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
        if not told_answer and not set(opening) & _ACCEPTS:
            yield "asked", repr(first.key)
        told = {view.entry[at].clause for at, place in view.places.items() if place in set(kept)}
        if set(opening) & _REFUSES and not any(
            token.key in _REFUSES and token.clause in told | {clause + 1 for clause in told} for token in view.entry
        ):
            yield "answer", repr(opening[0])
    for at, place in view.places.items():
        if view.entry[at].person == "name" and view.said[place].person == "2":
            clause = {view.said[other].key for other in view.kept.get(view.said[place].clause, ())}
            turn = view.said[place].turn
            advises = view.alignment.said.roles[turn] == "assistant" and turn not in view.answered
            yield (("advice of", repr(names[turn])) if clause & _ADVISES and advises else ("advice", ""))


def _refused_choice(view: _View, turn: int, answer: int) -> Iterator[tuple[str, str]]:
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


def _forms(view: _View) -> Iterator[tuple[str, str]]:
    """Yield words in another form. Another time is a reason."""
    for at, place in view.places.items():
        mine, theirs = view.entry[at].key, view.said[place].key
        if view.entry[at].kind != "word" or view.said[place].kind != "word" or mine == theirs or not mine.isascii():
            continue
        if _is_other_time(mine, theirs):
            yield "time of", repr(mine)
        elif mine.startswith(theirs) and mine.endswith("s") and _is_counted(view, at, place):
            yield "number of", repr(mine)
        else:
            yield "form", ""


def _is_other_time(mine: str, theirs: str) -> bool:
    """Return whether two forms of a verb tell of different times: "comes" and "came", "fix" and "fixed"."""
    one, other = mine.removesuffix("s"), theirs.removesuffix("s")
    if one == other or mine.endswith("ing") or theirs.endswith("ing"):
        return False
    return mine.endswith("ed") != theirs.endswith("ed") or one in forms_of(other)


def _is_counted(view: _View, at: int, place: int) -> bool:
    """Return whether a word that gained an "s" is a noun: an article or an owner stands before it."""
    mine = view.entry[at - 1] if at else None
    theirs = view.said[place - 1] if place else None
    return any(
        token is not None and (token.key in _ARTICLES or (token.kind == "person" and "subject" not in token.cases) or
        (token.person == "name" and "owner" in token.cases)) for token in (mine, theirs)
    )  # fmt: skip


def _is_known_date(gloss: Gloss, view: _View, days: Sequence[date | None]) -> bool:
    """Return whether a date in brackets is what the words before it mean on the day that they were said."""
    mention = next(iter(value_mentions(gloss.text, None)), None)
    if mention is None:
        return False
    before = [at for at, token in enumerate(view.entry) if token.start < gloss.start]
    named = next((at for at in reversed(before[-4:]) if view.entry[at].kind == "value"), None)
    if named is not None and named in view.places:
        theirs = view.said[view.places[named]].values
        return bool(mention.values & theirs) or _is_coming_day(mention.values, theirs, days)
    day = next((key for kind, key in mention.values if kind == "day"), "")
    for match in _WEEK.finditer(view.text[max(0, gloss.start - 24) : gloss.start]):
        weeks = _WEEKS.get((match["en"] or match["zh"] or "this").casefold(), 0)
        for said in days:
            monday = said - timedelta(said.weekday()) + timedelta(7 * weeks) if said else None
            if monday and day and monday <= date.fromisoformat(day) < monday + timedelta(7):
                return True
    turns = {view.said[place].turn for place in view.places.values()}
    known = {value for token in view.said if token.turn in turns for value in token.values}
    return bool(mention.values & known) or any(said and day == said.isoformat() for said in days)


def _is_coming_day(gloss: frozenset[Value], said: frozenset[Value], days: Sequence[date | None]) -> bool:
    """Return whether *gloss* is a day of the next weeks whose number was *said* without a month."""
    numbers = {key for kind, key in said if kind == "day_of_month"}
    found = [date.fromisoformat(key) for kind, key in gloss if kind == "day"]
    return any(
        str(day.day) in numbers and any(at and abs((day - at).days) <= _COMING_DAYS for at in days) for day in found
    )
