"""``memory sync``, and what the commands that fill the index share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from ..frame import Frame, home_command

if TYPE_CHECKING:
    from agent_home.home import Home
    from recall.embedding.embedder import Embedder, NoEmbedder
    from recall.index.sync import SyncReport

__all__ = ["follow", "meter", "opened_embedder", "report_data", "report_lines", "sync", "warn_of"]


@home_command("sync")
@click.option("--words-only", is_flag=True, help="Index words now and leave the vectors to a later sync.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Make at most N vectors; the rest waits.")
def sync(frame: Frame, words_only: bool, limit: int | None) -> None:
    """Bring the search index up to the files.

    Only what changed is read again. Words are searchable first, vectors follow; stopped at any time, the next sync
    goes on from there. Without an embedding model words alone are indexed.
    """
    from recall.index.sync import sync as bring_up
    from recall.settings import RecallSettings

    home = frame.home
    settings = home.manifest.settings("recall", RecallSettings)
    embedder = None if words_only else opened_embedder(home, frame, build_missing=True)
    report = bring_up(home, settings, embedder, progress=meter(), embed_limit=limit)
    warn_of(frame, report)
    frame.show(report_data(report), report_lines(report))


#: Vectors that a command makes in passing, some two seconds' work; more wait for `memory sync`.
IN_PASSING = 1000


def follow(home: Home, frame: Frame) -> list[str]:
    """Index what a command has just written: words at once, and the vectors if they are few.

    Never fails the command that it follows: what is not as it should be is returned, in lines.
    """
    from agent_home.errors import Locked
    from recall.errors import RecallError
    from recall.index.sync import ensure_fresh
    from recall.index.sync import sync as bring_up
    from recall.settings import RecallSettings

    settings = home.manifest.settings("recall", RecallSettings)
    report = ensure_fresh(home, settings, None)
    if not 0 < report.pending <= IN_PASSING:
        return list(report.degraded)
    try:
        embedder = opened_embedder(home, frame, build_missing=True)
        return list(bring_up(home, settings, embedder).degraded)
    except (RecallError, Locked) as error:
        return [str(error)]


def opened_embedder(home: Home, frame: Frame, *, build_missing: bool) -> Embedder | NoEmbedder:
    """The model that the home's settings name. *build_missing*: whether it may be put into the cache first."""
    from recall.embedding.embedder import open_embedder
    from recall.embedding.model import EmbeddingSettings

    settings = home.manifest.settings("embedding", EmbeddingSettings)
    return open_embedder(settings, build_missing=build_missing, progress=frame.warn)


def meter() -> Callable[[str, int, int], None] | None:
    """Progress as one line that is written over, where standard error is a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(what: str, done: int, total: int) -> None:
        click.echo(f"\r{what}: {done} of {total}", err=True, nl=done >= total)

    return show


def warn_of(frame: Frame, report: SyncReport) -> None:
    """Say what was left out and what is not as it should be."""
    for problem in (*report.skipped, *report.degraded):
        frame.warn(problem)


def report_data(report: SyncReport) -> dict[str, Any]:
    """The report as JSON."""
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
    """The report for a person."""
    yield (
        f"{report.passages} passages: {report.added} added, {report.changed} changed, {report.removed} removed; "
        f"{report.embedded} vectors made, {report.pending} to be made; {report.seconds:.2f} s"
    )
