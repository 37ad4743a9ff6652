"""Define ``memory eval``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command
from .search import MAX_HITS, layer_names

if TYPE_CHECKING:
    from recall.evaluation.comparison import CaseChange, EvalComparison, Floor
    from recall.evaluation.metrics import EvalCase, Grain, Report, Scores

__all__ = ["changes_table", "eval_", "table"]


def _depths(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        depths = tuple(sorted({int(part) for part in value.split(",")}))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a list of numbers. Write for example 5,10") from error
    if depths[0] < 1 or depths[-1] > MAX_HITS:
        raise click.BadParameter(f"{value!r} is out of range. Give numbers from 1 to {MAX_HITS}")
    return depths


def _floors(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Floor, ...]:
    if not values:
        return ()
    from recall.evaluation.comparison import Floor

    try:
        return tuple(Floor.parse(value) for value in values)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@home_command(
    "eval",
    examples=(
        ("Measure search on the questions of a file", "memory eval questions.jsonl"),
        ("Compare with an earlier run", "memory eval questions.jsonl --compare before.json"),
        ("Fail when hybrid search finds too little", "memory eval questions.jsonl --floor hybrid.frac@5=0.7"),
    ),
)
@click.argument("file", metavar="FILE.jsonl", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-k",
    "depths",
    default="5,10",
    callback=_depths,
    metavar="K,...",
    show_default=True,
    help="Numbers of hits to measure.",
)
@click.option("--in", "layers", callback=layer_names, metavar="LAYER,...", help="Search only these layers.")
@click.option(
    "--grain",
    default="message",
    type=click.Choice(("message", "session", "file")),
    help="Unit that must match: the message, its session or its file.",
)
@click.option(
    "--compare", "earlier", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="PREVIOUS.json",
    help="Compare with the --json output of an earlier run: measures, and questions won and lost.",
)  # fmt: skip
@click.option(
    "--floor", "floors", multiple=True, callback=_floors, metavar="MODE.MEASURE=VALUE",
    help="Exit with 1 when this measure is lower, as in hybrid.frac@5=0.7. May be repeated.",
)  # fmt: skip
@click.option(
    "--tolerance", default=0.01, type=click.FloatRange(0, 1), metavar="X", show_default=True,
    help="With --compare, exit with 1 when a --floor measure, or hybrid frac@K, fell by more.",
)  # fmt: skip
@click.pass_context
def eval_(
    context: click.Context, invocation: Invocation, file: Path, depths: tuple[int, ...], layers: tuple[str, ...] | None,
    grain: Grain, earlier: Path | None, floors: tuple[Floor, ...], tolerance: float,
) -> None:  # fmt: skip
    """Measure search on questions with known answers.

    Each line of FILE is {"query": "...", "expect": ["SOURCE", ...], "category": "..."}. The command prints measures for
    words alone, vectors alone and both: the share of expected sources in the first K hits (frac), any and all of them,
    MRR, nDCG and the latency. A question may have "before", an ISO 8601 time: only earlier texts count. Keep FILE
    beside a home as a regression test of its memory (see --floor and --compare).
    """
    from recall.evaluation.comparison import compare, read_previous, shortfalls, worsenings
    from recall.evaluation.metrics import read_cases

    previous = read_previous(earlier, grain=grain) if earlier else None
    questions = read_cases(file)
    if not any(question.expect for question in questions):
        example = '{"query": "...", "expect": ["SOURCE", ...]}'
        raise click.UsageError(
            f"{file} has {len(questions)} questions, and none expects a source. Write lines {example}"
        )
    report = _measured(invocation, questions, depths=depths, layers=layers, grain=grain)
    try:
        findings = shortfalls(report, floors)
    except ValueError as error:
        raise click.UsageError(f"--floor: {error}") from error
    data, lines = report.as_json(), [*table(report)]
    if previous is not None:
        comparison = compare(previous, report, floors)
        findings += worsenings(comparison, floors, tolerance)
        data["comparison"] = comparison.as_json()
        lines += ["", *changes_table(comparison)]
    data["findings"] = findings
    invocation.show(data, lines)
    for finding in findings:
        invocation.warn(finding)
    context.exit(FINDINGS if findings else 0)


def _measured(
    invocation: Invocation,
    questions: list[EvalCase],
    *,
    depths: tuple[int, ...],
    layers: tuple[str, ...] | None,
    grain: Grain,
) -> Report:
    """Bring the index up to date and search for every question."""
    from recall.evaluation.metrics import evaluate
    from recall.index.sync import ensure_fresh
    from recall.settings import RecallSettings

    from ...indexing import home_embedder
    from ..progress import ProgressMeter

    home = invocation.home
    settings = home.manifest.settings("recall", RecallSettings)
    embedder = home_embedder(home, invocation.warn, build_missing=False)
    for problem in ensure_fresh(home, settings, embedder).degraded:
        invocation.warn(problem)
    report = evaluate(
        home,
        questions,
        settings=settings,
        embedder=embedder,
        ks=depths,
        layers=layers,
        grain=grain,
        progress=ProgressMeter(),
    )
    for problem in report.degraded:
        invocation.warn(problem)
    return report


def table(report: Report) -> Iterator[str]:
    """Yield the report in lines: all questions first, then each category."""
    names = next((tuple(scores.measures) for scores in report.modes.values() if scores.n), ())
    yield f"{'':28}{'mode':8}{'n':>6}" + "".join(f"{name:>10}" for name in names) + f"{'p50 ms':>9}{'p95 ms':>9}"
    for mode, scores in report.modes.items():
        yield _row("all questions", mode, scores)
    for category, modes in report.categories.items():
        for mode, scores in modes.items():
            yield _row(category or "(no category)", mode, scores)


def changes_table(comparison: EvalComparison) -> Iterator[str]:
    """Yield the changes since the earlier run in lines: the measures, then the questions won and lost."""
    yield f"{'mode':10}{'measure':10}{'before':>8}{'after':>8}{'change':>9}"
    for change in comparison.changes:
        difference = change.after - change.before
        yield f"{change.mode:10}{change.measure:10}{change.before:8.3f}{change.after:8.3f}{difference:+9.3f}"
    for name, turns in (("won", comparison.won), ("lost", comparison.lost)):
        yield f"{name}: {len(turns)}"
        for turn in turns:
            yield f"  {turn.mode:8} {turn.query}"
            yield from (f"           {line}" for line in _moves(turn))
    yield from comparison.notes


def _moves(turn: CaseChange) -> Iterator[str]:
    for source, after in turn.after.items():
        before = turn.before[source]
        if before != after:
            yield f"{source}: {before or 'not found'} -> {after or 'not found'}"


def _row(name: str, mode: str, scores: Scores) -> str:
    figures = "".join(f"{value:10.3f}" for value in scores.measures.values())
    times = "".join(f"{value:9.1f}" for value in scores.latency_ms.values())
    return f"{name[:27]:28}{mode:8}{scores.n:6}{figures}{times}"
