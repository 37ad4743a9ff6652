"""``memory watch``."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from ..frame import Frame, home_command

if TYPE_CHECKING:
    from recall.index.watch import Outcome

__all__ = ["watch"]


@home_command("watch")
@click.option("--once", is_flag=True, help="Sync what changed until nothing changes any more, then stop.")
@click.option("--words-only", is_flag=True, help="Index words and leave the vectors to a later sync.")
@click.option("--poll", is_flag=True, help="Look at all files every two seconds: for network drives.")
@click.option(
    "--quiet-ms", default=300, type=click.IntRange(1, 60_000), metavar="N", show_default=True,
    help="Sync when nothing has changed for N milliseconds, under constant change every 5 seconds.",
)  # fmt: skip
def watch(frame: Frame, once: bool, words_only: bool, poll: bool, quiet_ms: int) -> None:
    """Keep the search index in step with the files until Ctrl-C.

    Words are indexed first, vectors follow; searches never wait. What fails is said on standard error and tried
    again. --json prints a stream, one JSON document in a line for each sync: the keys of `memory sync` and "phase",
    which is "words" or "vectors".
    """
    from recall.index.file_scan import scan
    from recall.index.watch import Problem, Timing, Watcher

    from .sync import meter, opened_embedder

    home = frame.home
    watcher = Watcher(
        home,
        open_embedder=None if words_only else lambda at: opened_embedder(at, frame, build_missing=True),
        progress=meter(),
        timing=Timing(quiet_s=quiet_ms / 1000),
        polling=poll,
    )
    last: Outcome | None = None
    told = _Told(frame)
    with _stopping(watcher.stop), closing(watcher.run(once=once)) as outcomes:
        frame.warn(f"watching {len(scan(home))} files in {home.root}")
        for last in outcomes:
            told.outcome(last)
    if once and isinstance(last, Problem) and last.error is not None:
        raise last.error


class _Told:
    """Prints outcomes; what is wrong is said once and not again at every sync."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._before: set[str] = set()

    def outcome(self, outcome: Outcome) -> None:
        from recall.index.watch import Synced

        from .sync import report_data, report_lines

        if not isinstance(outcome, Synced):
            self._warn({outcome.message: None})
            return
        report = outcome.report
        self._warn(dict.fromkeys((*report.skipped, *report.degraded)))
        data: dict[str, Any] = {"phase": outcome.phase, **report_data(report)}
        for line in [json.dumps(data, ensure_ascii=False)] if self._frame.as_json else report_lines(report):
            click.echo(line)

    def _warn(self, lines: dict[str, None]) -> None:
        for line in lines:
            if line not in self._before:
                self._frame.warn(line)
        self._before = set(lines)


@contextmanager
def _stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call *stop*; a second one does what it does elsewhere."""
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, _frame: object) -> None:
        signal.signal(number, before[number])
        stop()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
