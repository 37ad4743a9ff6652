"""Describe how a commit supports one thing that a report names, in numbers that the model weighs.

A false report mostly differs in one thing. So the model first judges each thing by itself: how likely is it that a
report names it although the commit is about something else? Then it judges the report by its weakest things.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from guard.lazy_regex import lazy_regex
from recall.text.stems import stem
from recall.text.word_tables import word_table

from .commit_view import CommitView, RepositoryWords
from .direction import Direction
from .placement import FILE_STEMS, Place, in_lines
from .wording import ReportUnit, light_words, stems_of

__all__ = ["UNIT_FEATURES", "UnitFeatures", "exchanged_name", "support", "told_of_subject", "usurped"]

#: The features of one unit that are not 0, by their place in ``UNIT_FEATURES``.
UnitFeatures = tuple[tuple[int, float], ...]

_PLACES: tuple[Place, ...] = ("message", "path", "body", "lines", "steady", "mates", "mates_in_lines", "")
_GROUPS = ("name", "number", "count", "word", "soft", "term", "unknown")
_IN_LINES = frozenset({"lines", "steady", "mates_in_lines"})
#: Features besides group and place. *rival* is the rarest word of the subject that the report does not tell: a false
#: report often has another word in its place.
_OTHERS = (
    "known", "known_soft", "common_missing", "common_in_lines", "common_in_path", "common_in_body", "rival_missing",
    "rival_soft", "rival_unknown", "rival_in_lines", "rival_in_path", "rival_in_body", "rival_name", "rival_name_word",
    "only_in_path", "slot", "gone", "came", "apart", "many_lines", "long_unknown", "first",
)  # fmt: skip
UNIT_FEATURES = (*(f"{group}:{place}" for group in _GROUPS for place in _PLACES), *_OTHERS)
_INDEX = {name: index for index, name in enumerate(UNIT_FEATURES)}
#: Words written as code: quoted, called, decorated, or with underscores or capitals inside.
_IDENTIFIER = lazy_regex(
    r"`([A-Za-z_]\w*)`|\b([A-Za-z_]\w*)\(|@([A-Za-z_]\w*)|\b([A-Za-z]+_\w+|[A-Z][a-z]+[A-Z]\w*|[a-z]+[A-Z]\w*)",
    re.ASCII,
)
_GAP = lazy_regex(r"[A-Za-z ]{1,40}")
#: Rarity from which on a verb says which work it was.
_RARE = 0.7
_WORD = lazy_regex(r"(?<![\w.])[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
#: The first word of a subject, after a scope as in «fix(cli): » that is no name in the repository's code.
_FIRST = lazy_regex(
    r"\s*(?:(?:fix|feat|docs?|chore|ci|test|tests|refactor|style|perf|build)(?:\([^)]*\))?!?:\s*)?"
    r"[A-Za-z]+\b(?![_:(])\s*"
)
#: Changed lines from which on a word in one of them says little.
_MANY_LINES = 200


@dataclass(frozen=True, slots=True)
class _Rivals:
    """The weight of the rarest word that the report leaves out of the subject, and whether it leaves out a name.

    The word weighs half when the report tells nothing else of the subject.
    """

    word: float
    name: float


def support(
    units: Sequence[ReportUnit],
    places: Sequence[Place],
    headings: Sequence[Direction],
    weights: Sequence[float],
    view: CommitView,
    words: RepositoryWords,
) -> tuple[UnitFeatures, ...]:
    """Return the features of each unit. *weights* are the rarities of the units."""
    rivals, slots = _rivals(units, places, view, words), _slots(units, places, view)
    many = min(len(view.lines) / _MANY_LINES, 1.0)
    rows = []
    for index, (unit, place, heading, weight) in enumerate(zip(units, places, headings, weights, strict=True)):
        row = {f"{_group(unit)}:{place}": 1.0, "first": float(not index)}
        if not place:
            known = words.knows(unit.own) or any(words.knows(mate) for mate in unit.mates)
            row["known_soft" if unit.soft else "known"] = float(known)
            row["common_missing"] = 1 - weight
            kind = "soft" if unit.soft else "unknown" if unit.kind == "unknown" else "missing"
            row[f"rival_{kind}"] = rivals.word
            row["long_unknown"] = float(unit.kind == "unknown" and len(unit.text) > 1)
        elif place in _IN_LINES:
            row |= {"common_in_lines": 1 - weight, "rival_in_lines": rivals.word, "many_lines": many}
        elif place in {"path", "body"}:
            row |= {f"common_in_{place}": 1 - weight, f"rival_in_{place}": rivals.word}
            row["only_in_path"] = float(place == "path" and not in_lines(unit.own, view))
        if place not in {"message", "mates"}:
            row["rival_name" if unit.kind in {"symbol", "proper", "path"} else "rival_name_word"] = rivals.name
        if place not in {"message", "mates"} and index in slots:
            row["slot"] = 1.0
        row |= _heading(unit, place, heading, view)
        if unit.kind == "number" and place in _IN_LINES:
            row["apart"] = _apart(index, units, view)
        rows.append(tuple(sorted((_INDEX[name], round(value, 3)) for name, value in row.items() if value)))
    return tuple(rows)


def _group(unit: ReportUnit) -> str:
    if unit.kind in {"path", "symbol", "proper"}:
        return "name"
    if unit.kind in {"number", "count", "unknown"}:
        return unit.kind
    return "soft" if unit.soft else unit.kind


def _heading(unit: ReportUnit, place: Place, heading: Direction, view: CommitView) -> dict[str, float]:
    """Return whether the changed lines have a word on the other side than the report says."""
    if not place or unit.kind not in {"word", "proper", "symbol", "count"}:
        return {}
    sides = view.sides(unit.text)
    if not sides.found and len(unit.own) == 1:
        sides = view.stem_sides(unit.own[0])
    added, removed = sides.balance
    return {
        "gone": float(heading != "old" and removed > added),
        "came": float(heading == "old" and added >= removed and bool(added)),
    }


def _apart(index: int, units: Sequence[ReportUnit], view: CommitView) -> float:
    """Return the share of the three words before a number that no line with the number has."""
    near = [unit for unit in units[max(0, index - 3) : index] if unit.own or unit.mates]
    lines = view.lines_with_number(units[index].text)
    if not near or not lines:
        return 0.0
    return 1 - max(sum(_on(unit, line) for unit in near) for line in lines) / len(near)


def _on(unit: ReportUnit, line: frozenset[str]) -> bool:
    return any(all(one in line for one in stems) for stems in (unit.own, *unit.mates) if stems)


def _rivals(units: Sequence[ReportUnit], places: Sequence[Place], view: CommitView, words: RepositoryWords) -> _Rivals:
    told, untold = told_of_subject(units, places, view)
    rarest = max((words.rarity((stem(word.lower()),)) for word in untold), default=0.0)
    return _Rivals(word=rarest if told else rarest / 2, name=float(bool(_identifiers(view.info.subject) & untold)))


def _slots(units: Sequence[ReportUnit], places: Sequence[Place], view: CommitView) -> set[int]:
    """Return the places of units that stand beside a word as an untold word of the subject does.

    «unused variables» has a unit in the slot of «imports» in «Remove unused imports».
    """
    untold = told_of_subject(units, places, view)[1]
    subject = [word for word in _WORD.findall(view.info.subject) if not _is_plain(word)]
    beside = [
        subject[other]
        for at, word in enumerate(subject)
        if word in untold
        for other in (at - 1, at + 1)
        if 0 <= other < len(subject)
    ]
    return {
        at
        for at in range(len(units))
        for other in (at - 1, at + 1)
        if 0 <= other < len(units) and places[other] and any(_same(units[other], word) for word in beside)
    }


def _same(unit: ReportUnit, word: str) -> bool:
    """Return whether *word* is one of the words that *unit* may be told by."""
    stems = stems_of(word)
    return any(
        one and set(one) <= {*stems, stem(word.lower())} for one in (unit.own or stems_of(unit.text), *unit.mates)
    )


def told_of_subject(
    units: Sequence[ReportUnit], places: Sequence[Place], view: CommitView
) -> tuple[set[str], set[str]]:
    """Return the words of the subject that say something: those that the report tells, and the others."""
    held, names = set[str](), set[str]()
    for unit, place in zip(units, places, strict=True):
        if place:
            file = place == "path" and unit.own in FILE_STEMS  # «changelog» tells no «history» of the subject
            held.update(unit.own or stems_of(unit.text), *(() if file else unit.mates))
            names.add(re.sub(r"[^a-z0-9]", "", unit.text.lower()))
    told, untold = set[str](), set[str]()
    for word in _subject_words(view.info.subject):
        parts = {part for part in stems_of(word) if part not in _plain_stems() and len(part) > 1 and not part.isdigit()}
        if parts and not word[0].isdigit():
            known = parts <= held or stem(word.lower()) in held or re.sub(r"[^a-z0-9]", "", word.lower()) in names
            (told if known else untold).add(word)
    return told, untold


def _subject_words(subject: str) -> set[str]:
    """Return the words of a subject without endings and without its first, which mostly names a sort of change."""
    first = _FIRST.match(subject)
    rest = subject[first.end() :] if first else subject
    return {match.group() for match in _WORD.finditer(rest)}


def exchanged_name(units: Sequence[ReportUnit], places: Sequence[Place], view: CommitView) -> str:
    """Return the one identifier of the subject that a report leaves out while it has something else, or nothing."""
    told, untold = told_of_subject(units, places, view)
    pairs = zip(units, places, strict=True)
    beside = any(place not in {"message", "mates"} and unit.kind != "path" for unit, place in pairs)
    named = _identifiers(view.info.subject) & untold
    return next(iter(named)) if beside and len(told) > 1 and len(untold) == 1 and named else ""


def usurped(
    units: Sequence[ReportUnit], places: Sequence[Place], text: str, view: CommitView, words: RepositoryWords
) -> str:
    """Return a word of the subject in whose place *text* has another one, or an empty string.

    Both stand on the same side of the same word, with light words between at most: «option internals» for «help
    internals». The word beside must be more than the sort of the change.
    """
    subject, untold = view.info.subject, told_of_subject(units, places, view)[1]
    said = [match for match in _WORD.finditer(subject) if not _is_plain(match.group())]
    for before, after in _neighbours(units, text):
        for left, right in pairwise(said):
            if not _light_gap(subject[left.end() : right.start()]):
                continue
            sides = ((before, after, left, right), (after, before, right, left))
            for other, beside, untold_word, word in sides:
                kind = units[other].kind
                named = kind == "word" or (kind in {"proper", "symbol"} and other == 0)
                weak = named and places[other] not in {"message", "mates", "body"}
                if not weak or untold_word.group() not in untold or not places[beside]:
                    continue
                if word.start() == 0 and not _says_much(units[beside], word.group(), words):
                    continue
                if _same(units[beside], word.group()):
                    return untold_word.group()
    return ""


def _neighbours(units: Sequence[ReportUnit], text: str) -> list[tuple[int, int]]:
    """Return the pairs of units with light words between. «Message of a custom exception» is «exception message»."""
    found = []
    for at in range(len(units) - 1):
        gap = text[units[at].end : units[at + 1].start]
        if gap.split()[:1] == ["of"]:
            last = at + 1
            while last + 1 < len(units) and text[units[last].end : units[last + 1].start] == " ":
                last += 1
            found.append((last, at))
        elif _light_gap(gap):
            found.append((at, at + 1))
    return found


def _light_gap(text: str) -> bool:
    """Return whether *text* between two words is only light words."""
    return not text.strip() or (_GAP.fullmatch(text) is not None and all(map(_is_plain, text.split())))


def _says_much(unit: ReportUnit, word: str, words: RepositoryWords) -> bool:
    """Return whether the first word of a subject is the report's own word, and rare."""
    return stem(word.lower()) in unit.own and not unit.mates and words.rarity(unit.own) > _RARE


def _identifiers(subject: str) -> set[str]:
    """Return the words of a commit's subject that are written as code is."""
    return {next(filter(None, match.groups())) for match in _IDENTIFIER.finditer(subject)}


def _is_plain(word: str) -> bool:
    return word.lower() in word_table("function_words") or word.lower() in light_words()


@cache
def _plain_stems() -> frozenset[str]:
    return frozenset(stem(word) for word in word_table("function_words") | light_words())
