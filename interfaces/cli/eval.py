"""``memory eval``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .frame import Frame, home_command
from .search import MAX_HITS, layer_names

if TYPE_CHECKING:
    from recall.evaluation import Grain, Report, Scores

__all__ = ["eval_", "table"]


def _depths(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        depths = tuple(sorted({int(part) for part in value.split(",")}))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no list of numbers; write for example 5,10") from error
    if depths[0] < 1 or depths[-1] > MAX_HITS:
        raise click.BadParameter(f"{value!r} is out of range; wanted numbers from 1 to {MAX_HITS}")
    return depths


@home_command("eval")
@click.argument("file", metavar="FILE.jsonl", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-k", "depths", default="5,10", callback=_depths, metavar="K,...", help="Hits that are looked at.")
@click.option("--in", "layers", callback=layer_names, metavar="LAYER,...", help="Search only these layers.")
@click.option(
    "--grain", default="message", type=click.Choice(("message", "session", "file")), help="What counts as found."
)
def eval_(frame: Frame, file: Path, depths: tuple[int, ...], layers: tuple[str, ...] | None, grain: Grain) -> None:
    """Measure how well search answers questions whose sources are known.

    Each line of FILE is {"query": "...", "expect": ["SOURCE", ...], "category": "..."}. Printed are, for words alone,
    vectors alone and both: found gold in the first K (frac), any or all of it, MRR, nDCG, and the latency.
    """
    from recall.evaluation import evaluate, read_questions
    from recall.settings import RecallSettings
    from recall.sync import ensure_fresh

    from .sync import meter, opened_embedder

    questions = read_questions(file)
    home = frame.home
    settings = home.manifest.settings("recall", RecallSettings)
    embedder = opened_embedder(home, frame, build_missing=False)
    for problem in ensure_fresh(home, settings, embedder).degraded:
        frame.warn(problem)
    report = evaluate(
        home, questions, settings=settings, embedder=embedder, ks=depths, layers=layers, grain=grain, progress=meter()
    )
    for problem in report.degraded:
        frame.warn(problem)
    frame.show(report.as_json(), table(report))


def table(report: Report) -> Iterator[str]:
    """The report in lines: all questions first, then each category."""
    names = next((tuple(scores.measures) for scores in report.modes.values() if scores.n), ())
    yield f"{'':28}{'mode':8}{'n':>6}" + "".join(f"{name:>10}" for name in names) + f"{'p50 ms':>9}{'p95 ms':>9}"
    for mode, scores in report.modes.items():
        yield _row("all questions", mode, scores)
    for category, modes in report.categories.items():
        for mode, scores in modes.items():
            yield _row(category or "(no category)", mode, scores)


def _row(name: str, mode: str, scores: Scores) -> str:
    figures = "".join(f"{value:10.3f}" for value in scores.measures.values())
    times = "".join(f"{value:9.1f}" for value in scores.latency_ms.values())
    return f"{name[:27]:28}{mode:8}{scores.n:6}{figures}{times}"
