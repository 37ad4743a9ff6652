"""Comparison of an evaluation with an earlier one and with the floors that it must not fall below.

An earlier evaluation is the output of ``memory eval --json``. Measures are compared where both runs have them.
Questions are compared where both runs asked them with the same expected sources.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_home.errors import DocumentInvalid
from guard.lazy_regex import lazy_regex

from .metrics import CaseRanks, Report

__all__ = [
    "CaseChange",
    "EvalComparison",
    "Floor",
    "MeasureChange",
    "PreviousReport",
    "compare",
    "read_previous",
    "shortfalls",
    "worsenings",
]

#: Averages that differ by less are equal. Sums of floats depend on their order.
_EQUAL = 1e-9
_FLOOR = lazy_regex(r"(?P<mode>[a-z]+)\.(?P<measure>[a-z]+@\d+)=(?P<value>\d+(\.\d*)?|\.\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A measure of a mode and the least that it may be."""

    mode: str
    measure: str
    value: float

    @classmethod
    def parse(cls, text: str) -> Floor:
        """Read ``hybrid.frac@5=0.7``.

        Raises:
            ValueError: it is not written so, or the value is over 1.
        """
        match = _FLOOR.fullmatch(text.strip())
        if match is None or float(match["value"]) > 1:
            raise ValueError(f"{text!r} is not a floor. Write MODE.MEASURE=VALUE from 0 to 1, like hybrid.frac@5=0.7")
        return cls(mode=match["mode"], measure=match["measure"], value=float(match["value"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousReport:
    """The measures of an earlier run, by mode and measure. *questions* is empty when the run did not name them."""

    path: Path
    modes: Mapping[str, Mapping[str, float]]
    counts: Mapping[str, int]
    questions: tuple[CaseRanks, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureChange:
    """One measure of one mode, then and now."""

    mode: str
    measure: str
    before: float
    after: float

    def as_json(self) -> dict[str, Any]:
        change = round(self.after - self.before, 9)
        return {
            "mode": self.mode, "measure": self.measure, "before": self.before, "after": self.after, "change": change,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """A question that finds more or less of what is expected than before, with the ranks then and now."""

    mode: str
    query: str
    category: str
    before: Mapping[str, int | None]
    after: Mapping[str, int | None]

    def as_json(self) -> dict[str, Any]:
        return {
            "mode": self.mode, "query": self.query, "category": self.category,
            "before": dict(self.before), "after": dict(self.after),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalComparison:
    """The changes since an earlier run. *notes* name the parts that could not be compared."""

    changes: tuple[MeasureChange, ...]
    won: tuple[CaseChange, ...]
    lost: tuple[CaseChange, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "changes": [change.as_json() for change in self.changes],
            "won": [turn.as_json() for turn in self.won],
            "lost": [turn.as_json() for turn in self.lost],
            "notes": list(self.notes),
        }


def compare(previous: PreviousReport, report: Report, floors: Sequence[Floor] = ()) -> EvalComparison:
    """Set *report* beside *previous*. :func:`worsenings` judges the result by the same *floors*.

    A question is won in a mode when more of its sources stand in the first K than before, averaged over the K of
    both runs (``frac@K``), and lost when less do.

    Raises:
        DocumentInvalid: *previous* has not the measures that are judged.
    """
    changes = tuple(
        MeasureChange(mode=mode, measure=measure, before=previous.modes[mode][measure], after=after)
        for mode, scores in report.modes.items()
        for measure, after in scores.measures.items()
        if measure in previous.modes.get(mode, {})
    )
    common = {(change.mode, change.measure) for change in changes}
    missing = [f"{floor.mode}.{floor.measure}" for floor in floors if (floor.mode, floor.measure) not in common]
    if not floors and not any(_judged(change, set()) for change in changes):
        missing = ["hybrid.frac@K of this run"]
    if missing:
        raise _invalid(
            previous.path,
            "not-measured",
            f"has no {', '.join(missing)}. Compare runs with the same -k, or run it again",
        )
    depths = sorted({int(change.measure[5:]) for change in changes if change.measure.startswith("frac@")})
    notes = [
        f"{mode}: {scores.n} questions now, {previous.counts[mode]} in {previous.path.name}"
        for mode, scores in report.modes.items()
        if mode in previous.counts and previous.counts[mode] != scores.n
    ]
    won, lost = _case_changes(previous.questions, report.questions, depths)
    if not previous.questions and report.questions:
        notes.append(f"{previous.path.name} names no questions, so won and lost ones are not listed")
    return EvalComparison(changes=changes, won=won, lost=lost, notes=tuple(notes))


def shortfalls(report: Report, floors: Sequence[Floor]) -> list[str]:
    """Return a line for each measure of *report* that is below its floor.

    Raises:
        ValueError: a floor names a mode or a measure that was not measured.
    """
    found = []
    for floor in floors:
        measures = report.modes[floor.mode].measures if floor.mode in report.modes else {}
        if floor.measure not in measures:
            known = ", ".join(next(iter(report.modes.values())).measures) if report.modes else "nothing"
            raise ValueError(
                f"{floor.mode}.{floor.measure} was not measured. Measured are {known} of {', '.join(report.modes)}"
            )
        if measures[floor.measure] < floor.value - _EQUAL:
            found.append(f"{floor.mode}.{floor.measure} is {measures[floor.measure]:.3f}, below {floor.value:g}")
    return found


def worsenings(comparison: EvalComparison, floors: Sequence[Floor], tolerance: float) -> list[str]:
    """Return a line for each measure that fell by more than *tolerance*.

    The measures are those that *floors* name, or else frac@K of hybrid search.
    """
    named = {(floor.mode, floor.measure) for floor in floors}
    return [
        f"{change.mode}.{change.measure} fell from {change.before:.3f} to {change.after:.3f}, more than {tolerance:g}"
        for change in comparison.changes
        if change.before - change.after > tolerance + _EQUAL and _judged(change, named)
    ]


def read_previous(path: Path, *, grain: str) -> PreviousReport:
    """Read the output of ``memory eval --json`` from *path*, measured at the same *grain*.

    Raises:
        DocumentInvalid: it is something else.
        OSError: it cannot be read.
    """
    try:
        data = json.loads(path.read_bytes())
    except ValueError as error:  # from the JSON or from its encoding
        raise _invalid(path, "not-json", f"is not valid JSON ({error}). {_EXPECTED}") from error
    modes = data.get("modes") if isinstance(data, dict) else None
    if not isinstance(modes, dict) or not modes or not all(isinstance(scores, dict) for scores in modes.values()):
        raise _invalid(path, "no-modes", f'has no "modes". {_EXPECTED}')
    if data.get("grain", grain) != grain:
        raise _invalid(path, "other-grain", f"counts by {data['grain']}, this run by {grain}. Give --grain accordingly")
    questions = data.get("questions", [])
    if not isinstance(questions, list):
        raise _invalid(path, "bad-questions", f'"questions" is not a list. {_EXPECTED}')
    return PreviousReport(
        path=path,
        modes={mode: _measures(path, mode, scores) for mode, scores in modes.items()},
        counts={mode: scores["n"] for mode, scores in modes.items() if isinstance(scores.get("n"), int)},
        questions=tuple(_case_ranks(path, number, row) for number, row in enumerate(questions, 1)),
    )


_EXPECTED = "Give the output of `memory eval --json`"


def _invalid(path: Path, rule: str, problem: str) -> DocumentInvalid:
    return DocumentInvalid(path, 0, rule, problem)


def _judged(change: MeasureChange, named: set[tuple[str, str]]) -> bool:
    if named:
        return (change.mode, change.measure) in named
    return change.mode == "hybrid" and change.measure.startswith("frac@")


def _measures(path: Path, mode: str, scores: Mapping[str, Any]) -> dict[str, float]:
    measures = {name: value for name, value in scores.items() if "@" in name}
    for name, value in measures.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise _invalid(path, "bad-measure", f"{mode}.{name} is {value!r}, not a number. {_EXPECTED}")
    return {name: float(value) for name, value in measures.items()}


def _case_ranks(path: Path, number: int, row: object) -> CaseRanks:
    ranks = row.get("ranks") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(row.get("query"), str) or not _are_ranks(ranks):
        raise _invalid(path, "bad-questions", f"question {number} is not as it was printed. {_EXPECTED}")
    return CaseRanks(query=row["query"], category=str(row.get("category") or ""), ranks=dict(ranks or {}))


def _are_ranks(ranks: object) -> bool:
    return isinstance(ranks, dict) and all(
        isinstance(places, dict)
        and all(rank is None or (isinstance(rank, int) and rank > 0) for rank in places.values())
        for places in ranks.values()
    )


def _case_changes(
    before: Sequence[CaseRanks], after: Sequence[CaseRanks], depths: Sequence[int]
) -> tuple[tuple[CaseChange, ...], tuple[CaseChange, ...]]:
    """Return the questions won and those lost, in the order of the file, each mode by itself."""
    known = {(case.query, case.category): case.ranks for case in before}
    won: list[CaseChange] = []
    lost: list[CaseChange] = []
    for case in after:
        earlier = known.get((case.query, case.category), {})
        for mode, ranks in case.ranks.items():
            if earlier.get(mode, {}).keys() != ranks.keys():
                continue
            gain = _within(ranks, depths) - _within(earlier[mode], depths)
            if gain:
                turn = CaseChange(
                    mode=mode, query=case.query, category=case.category, before=earlier[mode], after=ranks
                )
                (won if gain > 0 else lost).append(turn)
    return tuple(won), tuple(lost)


def _within(ranks: Mapping[str, int | None], depths: Sequence[int]) -> int:
    """Count the sources that stand in the first K, summed over every K."""
    return sum(rank is not None and rank <= depth for rank in ranks.values() for depth in depths)
