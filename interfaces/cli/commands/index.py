"""Define ``memory reindex`` and ``memory index verify``."""

from __future__ import annotations

import time

import click

from ...counts import counted
from ...indexing import home_embedder
from ..command import Group
from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command
from ..progress import ProgressMeter
from .sync import report_data, report_lines, warn_about

__all__ = ["index", "reindex"]


@home_command(
    "reindex",
    examples=(
        ("Rebuild the index after a change of the embedding model", "memory reindex"),
        ("Rebuild the index of another home", "memory reindex --home ~/agent"),
    ),
)
def reindex(invocation: Invocation) -> None:
    """Rebuild the search index from the files.

    A rebuild is necessary after a change of the embedding model. If the model is the same, vectors of unchanged texts
    are kept. Searches use the old index until the new one is complete.
    """
    from recall.index.sync import reindex as rebuild
    from recall.settings import RecallSettings

    home = invocation.home
    settings = home.manifest.settings("recall", RecallSettings)
    report = rebuild(home, settings, home_embedder(home, invocation.warn, build_missing=True), progress=ProgressMeter())
    warn_about(invocation, report)
    invocation.show(report_data(report), report_lines(report))


@click.group("index", cls=Group, examples=(("Prove that the index agrees with the files", "memory index verify"),))
def index() -> None:
    """Inspect the search index."""


@home_command(
    "verify",
    examples=(
        ("Compare the index with the files", "memory index verify"),
        ("Print the differences as JSON", "memory index verify --json"),
    ),
)
@click.pass_context
def verify(context: click.Context, invocation: Invocation) -> None:
    """Prove that the index agrees with the files.

    The command cuts every file into passages again and compares all rows. The exit code is 1 when there is a
    difference.
    """
    from recall.index.verify import verify as compare
    from recall.settings import RecallSettings

    start = time.perf_counter()
    home = invocation.home
    found = compare(home, home.manifest.settings("recall", RecallSettings))
    seconds = round(time.perf_counter() - start, 3)
    if found.pending:
        invocation.warn(f"{counted(found.pending, 'passage has', 'passages have')} no vectors yet. Run `memory sync`")
    data = {
        "ok": found.ok,
        "differences": list(found.differences),
        "passages": found.passages,
        "pending": found.pending,
        "seconds": seconds,
    }
    invocation.show(
        data,
        found.differences
        or [f"{counted(found.passages, 'passage agrees', 'passages agree')} with the files, {seconds:.2f} s"],
    )
    context.exit(0 if found.ok else FINDINGS)


index.add_command(verify)
