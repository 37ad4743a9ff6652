"""Compare a report of work with one commit: features for the model, and reasons why the commit cannot be the work.

A commit must have every file, symbol, proper name and number of the report, on the side of the change that the report
says. What is left is a matter of degree: the weight of the words that the commit has and lacks, rare ones first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recall.text.stems import stem
from recall.text.word_tables import word_table

from . import direction
from .claims import content_pairs
from .commit_view import CommitView, RepositoryWords, Sides, is_prose
from .direction import Direction
from .placement import Place, in_lines, in_message, place_of
from .unit_support import UnitFeatures, exchanged_name, support, told_of_subject, usurped
from .wording import ReportUnit, opposites, parts_of, read_units, stems_of

__all__ = ["FEATURES", "Fit", "WorkReport", "fit", "lacking", "read_report", "turned_round"]

#: Names of the features, in the order of the model's weights.
FEATURES = (
    "specific", "weakest", "lacking_known", "lacking_new", "lacking_chinese", "lacking_soft", "lacking_rival", "share",
    "covered", "explicit", "cohesion", "in_message",
)  # fmt: skip
#: Longest sentence that is read. A longer one is cut.
_MAX_CHARS = 2000
#: From this rarity on, a plain word is a name when the changed lines have it.
_NAMELIKE = 0.6
#: From so much rare wording on, more of it adds nothing.
_ENOUGH = 2.0
#: A word in a message of so many characters says about half of what it says in a subject.
_LONG_MESSAGE = 400
#: Weight of a name that added and removed lines have equally often.
_STEADY = 0.5
#: A word in so many changed lines says about half of what it says in one.
_FEW_LINES = 50
_NO_WORDS = RepositoryWords.of((), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """A sentence that reports work, with what it names and the direction of each name."""

    text: str
    units: tuple[ReportUnit, ...]
    directions: tuple[Direction, ...]

    @staticmethod
    def of(text: str) -> WorkReport:
        """Return *text*, whatever it says, with what it names."""
        text = text[:_MAX_CHARS]
        units = read_units(text)
        return WorkReport(text=text, units=units, directions=tuple(direction.directions(text, units)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A comparison of a commit with a report. *veto* says why it cannot be the work, and is empty otherwise.

    *units* are the features of each thing that the report names, and *rarities* its weight in the repository.
    """

    features: tuple[float, ...]
    units: tuple[UnitFeatures, ...] = ()
    rarities: tuple[float, ...] = ()
    veto: str = ""


def read_report(text: str) -> WorkReport | None:
    """Return *text* as a report, or ``None`` when it names nothing or reports no finished work."""
    report = WorkReport.of(text)
    return report if report.units and direction.is_report(report.text) else None


def fit(report: WorkReport, view: CommitView, words: RepositoryWords) -> Fit:
    """Return how well *view* fits *report*."""
    places = [place_of(unit, view) for unit in report.units]
    rarities = tuple(round(_weight(unit, view, words), 3) for unit in report.units)
    return Fit(
        features=_features(report, places, view, words),
        units=support(report.units, places, report.directions, rarities, view, words),
        rarities=rarities,
        veto=_veto(report, places, view, words),
    )


def lacking(report: WorkReport, view: CommitView) -> list[str]:
    """Return the files, symbols, proper names and numbers of *report* that *view* does not have."""
    return [unit.text for unit in report.units if unit.explicit and not place_of(unit, view)]


def turned_round(report: WorkReport, view: CommitView) -> str:
    """Return why *view* does the opposite of an exchange or of a move that *report* tells, or an empty string."""
    for unit, heading in zip(report.units, report.directions, strict=True):
        if heading == "new" and (removed := _against(unit, place_of(unit, view), heading, view, _NO_WORDS)):
            return removed
    return _exchanged(report, view) or _moved_back(report, view)


def _features(
    report: WorkReport, places: Sequence[Place], view: CommitView, words: RepositoryWords
) -> tuple[float, ...]:
    sums = dict.fromkeys(FEATURES, 0.0)
    thin = 1 / (1 + math.log1p(len(view.lines) / _FEW_LINES))
    body = 1 / (1 + math.log1p(len(view.info.message) / _LONG_MESSAGE))
    strengths = {
        "message": 1.0,
        "body": body,
        "lines": thin,
        "steady": _STEADY * thin,
        "mates": 0.8,
        "mates_in_lines": 0.8 * thin,
    }
    got = 0.0
    sums["weakest"] = 1.0
    for unit, place in zip(report.units, places, strict=True):
        weight = _weight(unit, view, words)
        if place:
            strength = weight if place == "path" else strengths[place]
            got += weight * strength
            sums["weakest"] = min(sums["weakest"], strength)
            sums["explicit"] += unit.explicit
            sums["in_message"] += weight * (place in {"message", "path", "body", "mates"})
        elif unit.soft:
            sums["lacking_soft"] += 1.0
        elif unit.kind == "unknown":
            sums["lacking_chinese"] += len(unit.text) / 2
        elif words.knows(unit.own) or any(words.knows(mate) for mate in unit.mates):
            sums["lacking_known"] += weight
        else:
            sums["lacking_new"] += weight
    lacking = sums["lacking_known"] + sums["lacking_new"] + sums["lacking_chinese"]
    sums["specific"] = min(got, _ENOUGH)
    sums["share"] = got / (got + lacking) if got else 0.0
    sums["in_message"] = min(sums["in_message"], _ENOUGH)
    sums["explicit"] = min(sums["explicit"], _ENOUGH)
    sums["covered"] = _covered(report, places, view, words)
    sums["lacking_rival"] = _has_rival(report, places, view)
    sums["cohesion"] = _cohesion(report, places, view)
    return tuple(round(sums[name], 4) for name in FEATURES)


def _has_rival(report: WorkReport, places: Sequence[Place], view: CommitView) -> bool:
    """Return whether the commit's subject names something that the report does not, which has another name instead."""
    strange = any(
        place in {"body", "lines", "steady"}
        and unit.kind in {"symbol", "proper", "word"}
        and not unit.soft
        and not unit.mates
        for unit, place in zip(report.units, places, strict=True)
    )
    if not strange:
        return False
    told = report.text.casefold()
    named = [unit.text for unit in read_units(view.info.subject) if unit.kind in {"symbol", "proper"}]
    return any(name.casefold() not in told for name in named)


def _covered(report: WorkReport, places: Sequence[Place], view: CommitView, words: RepositoryWords) -> float:
    """Return the share of the commit's subject that the report tells, rare words first."""
    told, untold = told_of_subject(report.units, places, view)
    chinese = content_pairs(view.info.subject)
    got = sum(words.rarity((stem(word.lower()),)) for word in told) + len(chinese & content_pairs(report.text))
    left = sum(words.rarity((stem(word.lower()),)) for word in untold) + len(chinese - content_pairs(report.text))
    return got / (got + left) if got else 0.0


def _weight(unit: ReportUnit, view: CommitView, words: RepositoryWords) -> float:
    """Return the rarity of *unit* in the repository. A concept is as rare as its commonest word that the commit has."""
    if unit.kind in {"path", "symbol", "number", "count", "unknown"}:
        return 1.0
    if unit.own:
        return words.rarity(unit.own)
    present = [mate for mate in unit.mates if in_message(mate, view) or in_lines(mate, view)]
    return min((words.rarity(mate) for mate in present or unit.mates if mate[0].isascii()), default=1.0)


def _cohesion(report: WorkReport, places: Sequence[Place], view: CommitView) -> float:
    """Return the least share of words near a number that stand on a line with it, 1 without numbers."""
    shares = []
    for index, unit in enumerate(report.units):
        if unit.kind != "number" or not places[index]:
            continue
        near = [other for other in report.units[max(0, index - 3) : index] if other.kind in {"word", "proper", "term"}]
        lines = view.lines_with_number(unit.text)
        if near and lines:
            shares.append(max(sum(_on(other, line) for other in near) for line in lines) / len(near))
    return min(shares, default=1.0)


def _on(unit: ReportUnit, line: frozenset[str]) -> bool:
    return any(all(one in line for one in stems) for stems in (unit.own, *unit.mates) if stems)


def _veto(report: WorkReport, places: Sequence[Place], view: CommitView, words: RepositoryWords) -> str:
    told = {one for unit in report.units for one in (unit.text, *unit.own)}
    for unit, place, heading in zip(report.units, places, report.directions, strict=True):
        if unit.explicit and not place:
            return f"has no {unit.text}"
        if unit.kind == "count" and not place and any(word.isdigit() for word in view.subject):
            return f"counts otherwise than {unit.text}"
        # «last instead of first»: the commit may say only what it is now
        beside = told if heading == "old" else set()
        if place != "message" and _opposed(unit, view, beside, whole=not place):
            return f"says the opposite of {unit.text}"
    for unit, place, heading in zip(report.units, places, report.directions, strict=True):
        if place and (reason := _against(unit, place, heading, view, words)):
            return reason
    return (
        _exchanged_thing(report, places, view, words)
        or _polarity(report, view)
        or _exchanged(report, view)
        or _moved_back(report, view)
    )


def _exchanged_thing(report: WorkReport, places: Sequence[Place], view: CommitView, words: RepositoryWords) -> str:
    """Return which thing of the commit the report exchanges for another, or that it names nothing in particular."""
    told, untold = told_of_subject(report.units, places, view)
    if all(unit.soft for unit in report.units) and len(told) <= len(untold):
        return "names nothing in particular"
    if other := _misnumbered(report, places, view):
        return f"has another number beside {other}"
    if other := exchanged_name(report.units, places, view):
        return f"is about {other}"
    if other := usurped(report.units, places, report.text, view, words):
        return f"has {other} in the place of another word"
    return ""


def _misnumbered(report: WorkReport, places: Sequence[Place], view: CommitView) -> str:
    """Return a word that changed lines only have beside other numbers than the report, or an empty string."""
    for index, unit in enumerate(report.units):
        if unit.kind != "number" or places[index] not in {"lines", "steady"}:
            continue
        for other in report.units[max(0, index - 2) : index]:
            name = other.own or stems_of(other.text)
            if other.kind in {"word", "proper", "symbol"} and name:
                numbers = view.numbers_beside(name)
                if numbers and unit.text not in numbers:
                    return other.text
    return ""


def _opposed(unit: ReportUnit, view: CommitView, told: set[str], *, whole: bool) -> bool:
    """Return whether the commit's subject, or with *whole* all that it says, has an opposite that is not *told* too."""
    names = {unit.text, *(stems[0] for stems in (unit.own, *unit.mates) if len(stems) == 1)}
    others = {other for name in names for other in opposites().get(name, ())} - names - told
    if any(other in view.subject or (other >= "\u4e00" and other in view.info.subject) for other in others):
        return not any(name in view.subject for name in names)
    return whole and any(other in view.message or other in view.words or other in view.chinese for other in others)


def _against(unit: ReportUnit, place: Place, heading: Direction, view: CommitView, words: RepositoryWords) -> str:
    """Return why the changed lines speak against the direction of a name, or an empty string."""
    if unit.kind == "path":
        return _path_against(unit, heading, view)
    if unit.kind == "number" and heading != "old" and unit.text in direction.superseded_numbers(view.info.message):
        return "" if view.sides(unit.text).balance[0] else f"supersedes {unit.text}"
    sides = _sides(unit, view, words) if heading == "present" or unit.explicit else _named_sides(unit, view)
    if not sides.found and heading == "present" and place == "lines" and unit.kind == "word" and len(unit.own) == 1:
        sides = view.stem_sides(unit.own[0])
        sides = sides if not sides.balance[0] else Sides()
    if not sides.found:
        return ""
    added, removed = sides.balance
    issue = place == "message" and f"#{unit.text}" in view.info.subject
    if heading == "old" and (added > removed) and not direction.takes_away(view.info.subject):
        return f"adds {unit.text}"
    if heading == "new" and removed > added:
        return f"removes {unit.text}"
    if heading == "present" and removed and not added and not issue:
        return f"only removes {unit.text}"
    return ""


def _path_against(unit: ReportUnit, heading: Direction, view: CommitView) -> str:
    """Return why the files that came and went speak against the direction of a path, or an empty string."""
    touched = [change for change in view.info.changes if f"/{change.path}".endswith(f"/{unit.text}")]
    states = {change.status for change in touched}
    if heading == "old" and "A" in states and "D" not in states:
        return f"adds {unit.text}"
    if heading != "old" and states == {"D"}:
        return f"removes {unit.text}"
    return ""


def _sides(unit: ReportUnit, view: CommitView, words: RepositoryWords) -> Sides:
    """Return where a name stands in changed lines. A common word is no name."""
    if unit.kind in {"symbol", "number", "proper"}:
        return (
            view.sides(unit.text)
            if unit.kind != "proper" or view.sides(unit.text).found
            else view.stem_sides("".join(unit.own))
        )
    if unit.kind == "word" and len(unit.own) == 1 and not unit.mates and words.rarity(unit.own) >= _NAMELIKE:
        return view.sides(unit.text)
    return Sides()


def _named_sides(unit: ReportUnit, view: CommitView) -> Sides:
    """Return where a word that the report says went or came stands in changed lines of code, or in the only lines."""
    if unit.kind == "proper" and "-" in unit.text:
        return view.joined_sides(unit.text)
    if unit.kind != "word" or any(one in view.path_words for one in unit.own):
        return Sides()
    sides = view.sides(unit.text) if len(unit.own) == 1 else view.joined_sides(unit.text)
    return sides if any(sides.code) or all(prose for prose in map(is_prose, view.paths)) else Sides()


def _polarity(report: WorkReport, view: CommitView) -> str:
    """Return whether one of report and commit takes away what the other does not."""
    message, (added, removed) = view.info.message, view.added_and_removed
    if (
        direction.takes_away(view.info.subject)
        and not direction.negative(report.text)
        and not direction.mends(report.text)
    ):
        return "its message takes away"
    if direction.claims_absence(report.text) and not (
        direction.negative(message) or direction.mends(view.info.subject)
    ):
        old = [unit for unit, heading in zip(report.units, report.directions, strict=True) if heading == "old"]
        gone = any(taken > given for unit in old for given, taken in [view.sides(unit.text).balance])
        if not gone and added >= removed:
            return "its message takes nothing away"
    return ""


def _exchanged(report: WorkReport, view: CommitView) -> str:
    """Return whether report and message exchange the same two things in opposite directions."""
    claim, said = direction.exchange(report.text), direction.exchange(view.info.subject)
    if claim is None or said is None:
        return ""
    old, new = (_stems_within(report, span) for span in claim)
    told_old, told_new = (frozenset(stems_of_text(view.info.subject[start:end])) for start, end in said)
    crossed = (old & told_new) and (new & told_old)
    return "its message exchanges them the other way" if crossed and not (old & told_old and new & told_new) else ""


def _moved_back(report: WorkReport, view: CommitView) -> str:
    """Return whether the file that the report moves from grew and the one that it moves to shrank."""
    growth = {"old": 0, "new": 0, "present": 0}
    for unit, heading in zip(report.units, report.directions, strict=True):
        names = unit.own or stems_of(unit.text)
        for path, net in view.growth.items():
            stems = stems_of(path.rpartition("/")[2].partition(".")[0])
            if heading != "present" and names and (unit.text == path or names == stems):
                growth[heading] += net
    return "moves it the other way" if growth["new"] < 0 < growth["old"] else ""


def _stems_within(report: WorkReport, span: tuple[int, int]) -> frozenset[str]:
    inside = [unit for unit in report.units if span[0] <= unit.start and unit.end <= span[1]]
    mates = {one for unit in inside for stems in unit.mates for one in stems}
    return frozenset(stems_of_text(report.text[span[0] : span[1]]) | mates)


def stems_of_text(text: str) -> set[str]:
    """Return the stems of the words of *text* that are no grammar words."""
    words = {word for part in text.split() for word in parts_of(part)} - word_table("function_words")
    return {stem(word) for word in words}
