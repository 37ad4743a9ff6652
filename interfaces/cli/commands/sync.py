"""Define ``memory sync``, and own how commands that fill the index report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ...counts import counted
from ...indexing import home_embedder
from ..invocation import Invocation, home_command
from ..progress import ProgressMeter

if TYPE_CHECKING:
    from recall.index.sync import SyncReport

__all__ = ["report_data", "report_lines", "sync", "warn_about"]


@home_command(
    "sync",
    examples=(
        ("Index everything that changed", "memory sync"),
        ("Index words only, without vectors", "memory sync --words-only"),
    ),
)
@click.option("--words-only", is_flag=True, help="Index words, and leave the vectors to a later sync.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help="Compute at most N vectors, and leave the rest to a later sync.",
)
def sync(invocation: Invocation, words_only: bool, limit: int | None) -> None:
    """Bring the search index up to date.

    Only changed files are read. Words are indexed first, then vectors. An interrupted sync continues with the next one.
    Without an embedding model, only words are indexed.
    """
    from recall.index.sync import sync as bring_up
    from recall.settings import RecallSettings

    home = invocation.home
    settings = home.manifest.settings("recall", RecallSettings)
    embedder = None if words_only else home_embedder(home, invocation.warn, build_missing=True)
    report = bring_up(home, settings, embedder, progress=ProgressMeter(), embed_limit=limit)
    warn_about(invocation, report)
    invocation.show(report_data(report), report_lines(report))


def warn_about(invocation: Invocation, report: SyncReport) -> None:
    """Warn of files that were skipped and of degraded parts."""
    for problem in (*report.skipped, *report.degraded):
        invocation.warn(problem)


def report_data(report: SyncReport) -> dict[str, Any]:
    """Return the report as JSON."""
    return {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "embedded": report.embedded,
        "pending": report.pending,
        "passages": report.passages,
        "seconds": round(report.seconds, 3),
        "skipped": list(report.skipped),
        "degraded": list(report.degraded),
    }


def report_lines(report: SyncReport) -> Iterator[str]:
    """Yield the report in lines for a person."""
    passages = counted(report.passages, "passage")
    yield (
        f"{passages}: {report.added} added, {report.changed} changed, {report.removed} removed. "
        f"{counted(report.embedded, 'vector')} computed, {report.pending} pending, {report.seconds:.2f} s"
    )
