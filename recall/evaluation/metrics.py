"""Measures of recall on questions whose answers are known, per mode and per category.

Measures are taken for each question and then averaged, with equal weight for every question. Questions without an
expected source are left out.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agent_home.errors import DocumentInvalid
from agent_home.home import Home

from ..embedding.embedder import Embedder, NoEmbedder
from ..index.passage import session_of
from ..search.hybrid import MAX_HITS, MODES, Mode, Unit, search
from ..settings import RecallSettings

__all__ = ["CaseRanks", "EvalCase", "Grain", "Report", "Scores", "evaluate", "measure", "percentile", "read_cases"]

Grain = Literal["message", "session", "file"]
#: Depth at which mrr and ndcg are cut.
DEPTH = 10
#: Deadline of each retriever. A late one would measure the machine, not the ranking.
_PATIENCE_MS = 60_000.0
#: Hits fetched for each result at the grain of files, where many hits fall together.
_OVERFETCH = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """A question and the sources that answer it.

    With *before*, an ISO 8601 time, only what was said earlier can be found.
    """

    query: str
    expect: tuple[str, ...]
    category: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The averages over *n* questions, by the names of the contract: ``frac@5``, ``mrr@10``, ..."""

    n: int
    measures: dict[str, float] = field(default_factory=dict)
    latency_ms: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"n": self.n, **self.measures, "latency_ms": self.latency_ms}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRanks:
    """The outcome of one question: by mode, the rank from 1 of each expected source, or ``None`` for one not found."""

    query: str
    category: str
    ranks: dict[str, dict[str, int | None]]

    def as_json(self) -> dict[str, Any]:
        return {"query": self.query, "category": self.category, "ranks": self.ranks}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Scores by mode, and by category and mode. *degraded* says what was missing while it was measured."""

    modes: dict[str, Scores]
    categories: dict[str, dict[str, Scores]]
    degraded: tuple[str, ...] = ()
    questions: tuple[CaseRanks, ...] = ()
    grain: Grain = "message"

    def as_json(self) -> dict[str, Any]:
        return {
            "modes": {mode: scores.as_json() for mode, scores in self.modes.items()},
            "categories": {
                category: {mode: scores.as_json() for mode, scores in modes.items()}
                for category, modes in self.categories.items()
            },
            "degraded": list(self.degraded),
            "grain": self.grain,
            "questions": [question.as_json() for question in self.questions],
        }


@dataclass(frozen=True, slots=True)
class _TimedSources:
    found: list[str]
    ms: float


def evaluate(
    home: Home,
    questions: Iterable[EvalCase],
    *,
    settings: RecallSettings,
    embedder: Embedder | NoEmbedder | None,
    ks: Sequence[int] = (5, 10),
    layers: Sequence[str] | None = None,
    grain: Grain = "message",
    modes: Sequence[Mode] = MODES,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Ask every question in every mode. The time to embed the question is part of its latency.

    Raises:
        ValueError: a *k* below 1 or over :data:`recall.search.hybrid.MAX_HITS`, or an unknown mode or layer.
    """
    if not ks or min(ks) < 1 or max(ks) > MAX_HITS:
        raise ValueError(f"k is {list(ks)}, expected numbers from 1 to {MAX_HITS}")
    cases = [question for question in questions if question.expect]
    deepest = max(*ks, DEPTH)
    count = min(deepest * _OVERFETCH, MAX_HITS) if grain == "file" else deepest
    unit: Unit = "session" if grain == "session" else "passage"
    groups: dict[str, list[int]] = defaultdict(list)
    for number, question in enumerate(cases):
        groups[question.category].append(number)
    modes_scores: dict[str, Scores] = {}
    categories: dict[str, dict[str, Scores]] = {category: {} for category in sorted(groups)}
    degraded: dict[str, None] = {}
    gold = [_at_grain(question.expect, grain) for question in cases]
    ranks: list[dict[str, dict[str, int | None]]] = [{} for _ in cases]
    for mode in modes:
        answers = []
        for done, question in enumerate(cases, 1):
            result = search(
                home, question.query, settings=settings, embedder=embedder, k=count, layers=layers, mode=mode,
                deadline_ms=_PATIENCE_MS, before=question.before, unit=unit,
            )  # fmt: skip
            answers.append(_TimedSources(_at_grain([hit.source for hit in result.hits], grain), result.ms))
            degraded |= dict.fromkeys(result.degraded)
            if progress is not None:
                progress(mode, done, len(cases))
        for outcome, answer, expected in zip(ranks, answers, gold, strict=True):
            outcome[mode] = _ranks(answer.found, expected)
        rows = [measure(answer.found, expected, ks) for answer, expected in zip(answers, gold, strict=True)]
        times = [answer.ms for answer in answers]
        names = tuple(measure((), ("",), ks))
        modes_scores[mode] = _averaged(names, rows, times, range(len(cases)))
        for category, numbers in groups.items():
            categories[category][mode] = _averaged(names, rows, times, numbers)
    questions_asked = tuple(
        CaseRanks(query=question.query, category=question.category, ranks=outcome)
        for question, outcome in zip(cases, ranks, strict=True)
    )
    return Report(
        modes=modes_scores, categories=categories, degraded=tuple(degraded), questions=questions_asked, grain=grain
    )


def measure(found: Sequence[str], gold: Sequence[str], ks: Sequence[int]) -> dict[str, float]:
    """Return the measures of one answer. *found* is best first without repeats. *gold* is not empty.

    >>> measure(["a", "x", "b"], ["a", "b"], [1, 3])["frac@1"]
    0.5
    """
    expected = set(gold)
    scores: dict[str, float] = {}
    for k in ks:
        hits = len(expected.intersection(found[:k]))
        scores[f"frac@{k}"] = hits / len(expected)
        scores[f"any@{k}"] = float(hits > 0)
        scores[f"all@{k}"] = float(hits == len(expected))
    ranks = [rank for rank, source in enumerate(found[:DEPTH], 1) if source in expected]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(expected), DEPTH) + 1))
    scores[f"mrr@{DEPTH}"] = 1 / ranks[0] if ranks else 0.0
    scores[f"ndcg@{DEPTH}"] = sum(1 / math.log2(rank + 1) for rank in ranks) / ideal
    return scores


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least *percent* of the values do not exceed, or 0 for no values.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50)
    2.0
    """
    if not values:
        return 0.0
    return sorted(values)[max(math.ceil(len(values) * percent / 100) - 1, 0)]


def read_cases(path: Path) -> list[EvalCase]:
    """Read questions from JSON lines ``{"query", "expect": [source, ...], "category", "before"}``.

    The last two may be absent. Blank lines are skipped.

    Raises:
        DocumentInvalid: a line is not like that; it is named.
        OSError: the file cannot be read.
    """
    questions = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(_decoded(lines, path), 1):
            if line.strip():
                questions.append(_case(line, path, number))
    return questions


def _decoded(lines: Iterable[str], path: Path) -> Iterable[str]:
    try:
        yield from lines
    except UnicodeDecodeError as error:
        raise DocumentInvalid(path, 0, "not-utf8", "is not UTF-8. Save it as UTF-8") from error


def _case(line: str, path: Path, number: int) -> EvalCase:
    shape = 'Write {"query": "...", "expect": ["SOURCE", ...], "category": "..."}'
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DocumentInvalid(path, number, "not-json", f"is not valid JSON ({error}). {shape}") from error
    if not isinstance(row, dict) or not isinstance(row.get("query"), str):
        raise DocumentInvalid(path, number, "no-query", f"has no query. {shape}")
    expect = row.get("expect", [])
    if not isinstance(expect, list) or not all(isinstance(source, str) for source in expect):
        raise DocumentInvalid(path, number, "bad-expect", f"expect is {expect!r}. {shape}")
    return EvalCase(
        query=row["query"],
        expect=tuple(expect),
        category=str(row.get("category") or ""),
        before=str(row.get("before") or ""),
    )


def _at_grain(sources: Sequence[str], grain: Grain) -> list[str]:
    """Return *sources* in order at that grain, each once."""
    return list(dict.fromkeys(sources if grain == "message" else map(session_of, sources)))


def _ranks(found: Sequence[str], gold: Sequence[str]) -> dict[str, int | None]:
    places = {source: rank for rank, source in enumerate(found, 1)}
    return {source: places.get(source) for source in gold}


def _averaged(
    names: Sequence[str], rows: Sequence[dict[str, float]], times: Sequence[float], numbers: Sequence[int]
) -> Scores:
    """Return the mean of each measure over the questions *numbers*, or 0 when there are none."""
    count = max(len(numbers), 1)
    return Scores(
        n=len(numbers),
        measures={name: sum(rows[number][name] for number in numbers) / count for name in names},
        latency_ms={f"p{p}": round(percentile([times[number] for number in numbers], p), 3) for p in (50, 95)},
    )
