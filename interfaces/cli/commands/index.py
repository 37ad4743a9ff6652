"""``memory reindex`` and ``memory index verify``."""

from __future__ import annotations

import time

import click

from ..frame import FINDINGS, Frame, home_command
from .sync import meter, opened_embedder, report_data, report_lines, warn_of

__all__ = ["index", "reindex"]


@home_command("reindex")
def reindex(frame: Frame) -> None:
    """Build the search index anew from the files.

    Needed after the embedding model was changed. Vectors of unchanged texts are kept when the model is the same; the
    old index answers until the new one is complete.
    """
    from recall.index.sync import reindex as rebuild
    from recall.settings import RecallSettings

    home = frame.home
    settings = home.manifest.settings("recall", RecallSettings)
    report = rebuild(home, settings, opened_embedder(home, frame, build_missing=True), progress=meter())
    warn_of(frame, report)
    frame.show(report_data(report), report_lines(report))


@click.group("index")
def index() -> None:
    """Look after the search index."""


@home_command("verify")
@click.pass_context
def verify(context: click.Context, frame: Frame) -> None:
    """Prove that the index is what the files say: every file is cut anew and all rows are compared.

    Exit code 1 when there is a difference.
    """
    from recall.index.verify import verify as compare
    from recall.settings import RecallSettings

    start = time.perf_counter()
    home = frame.home
    found = compare(home, home.manifest.settings("recall", RecallSettings))
    seconds = round(time.perf_counter() - start, 3)
    if found.pending:
        frame.warn(f"{found.pending} passages wait for vectors; run `memory sync`")
    data = {
        "ok": found.ok,
        "differences": list(found.differences),
        "passages": found.passages,
        "pending": found.pending,
        "seconds": seconds,
    }
    frame.show(data, found.differences or [f"{found.passages} passages, all as the files say; {seconds:.2f} s"])
    context.exit(0 if found.ok else FINDINGS)


index.add_command(verify)
