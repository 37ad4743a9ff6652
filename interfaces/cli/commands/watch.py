"""Define ``memory watch``."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from ..invocation import Invocation, home_command
from ..render import write_json, write_line

if TYPE_CHECKING:
    from recall.index.watch import WatchEvent

__all__ = ["watch"]


@home_command(
    "watch",
    examples=(
        ("Keep the index up to date until Ctrl-C", "memory watch"),
        ("Watch a network drive", "memory watch --poll"),
        ("Sync until nothing changes any more, then stop", "memory watch --once"),
    ),
)
@click.option("--once", is_flag=True, help="Sync until nothing changes any more, then stop.")
@click.option("--words-only", is_flag=True, help="Index words, and leave the vectors to a later sync.")
@click.option("--poll", is_flag=True, help="Read all files every two seconds, for network drives.")
@click.option(
    "--quiet-ms", default=300, type=click.IntRange(1, 60_000), metavar="N", show_default=True,
    help="Sync after N milliseconds without a change, or every 5 seconds under constant change.",
)  # fmt: skip
def watch(invocation: Invocation, once: bool, words_only: bool, poll: bool, quiet_ms: int) -> None:
    """Keep the search index up to date until Ctrl-C.

    Words are indexed first, then vectors. Searches never wait. A failure is reported on standard error, and the sync is
    tried again. --json prints one JSON document per line for each sync. It has the keys of `memory sync` and "phase",
    which is "words" or "vectors".
    """
    from recall.index.file_scan import scan
    from recall.index.watch import Watcher, WatchProblem, WatchTiming

    from ...indexing import home_embedder
    from ..progress import ProgressMeter

    home = invocation.home
    watcher = Watcher(
        home,
        open_embedder=None if words_only else lambda at: home_embedder(at, invocation.warn, build_missing=True),
        progress=ProgressMeter(),
        timing=WatchTiming(quiet_s=quiet_ms / 1000),
        polling=poll,
    )
    last: WatchEvent | None = None
    printer = _Printer(invocation)
    with _stopping(watcher.stop), closing(watcher.run(once=once)) as outcomes:
        invocation.warn(f"watching {len(scan(home))} files in {home.root}")
        for last in outcomes:
            printer.show(last)
    if once and isinstance(last, WatchProblem) and last.error is not None:
        raise last.error


class _Printer:
    """Printer of outcomes, which reports a problem once and not again at every sync."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._reported: set[str] = set()

    def show(self, outcome: WatchEvent) -> None:
        from recall.index.watch import Synced

        from .sync import report_data, report_lines

        if not isinstance(outcome, Synced):
            self._warn({outcome.message: None})
            return
        report = outcome.report
        self._warn(dict.fromkeys((*report.skipped, *report.degraded)))
        data: dict[str, Any] = {"phase": outcome.phase, **report_data(report)}
        if self._invocation.as_json:
            write_json(data)
            return
        for line in report_lines(report):
            write_line(line)

    def _warn(self, lines: dict[str, None]) -> None:
        for line in lines:
            if line not in self._reported:
                self._invocation.warn(line)
        self._reported = set(lines)


@contextmanager
def _stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Call *stop* on the first Ctrl-C or SIGTERM. A second signal has its usual effect."""
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
