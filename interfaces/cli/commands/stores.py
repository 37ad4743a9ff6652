"""Define ``memory stores``: where the index and the hot state of a home are, and moves of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...answers import index_move_answer, stores_answer
from ...counts import counted
from ..command import Group
from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command
from ..progress import ProgressMeter

if TYPE_CHECKING:
    from ...doctor.store_report import StoresReport

__all__ = ["stores"]


@click.group(
    "stores",
    cls=Group,
    examples=(
        ("Show where the index and the hot state are", "memory stores status"),
        ("Move the index to PostgreSQL", "memory stores migrate postgresql"),
        ("Move it back into a file", "memory stores migrate sqlite"),
    ),
)
def stores() -> None:
    """Show where memory is kept beside the files, and move it.

    The files of a home are the truth. The search index is made from them. It is a SQLite file beside the home, or a
    namespace in PostgreSQL, as this machine chose.
    """


@home_command(
    "status",
    examples=(
        ("Show both stores", "memory stores status"),
        ("The same with counts and a checksum of all rows", "memory stores status --count --json"),
    ),
)
@click.option("--count", is_flag=True, help="Read every row of the index, and print counts and a checksum.")
@click.pass_context
def status(context: click.Context, invocation: Invocation, *, count: bool) -> None:
    """Show where the index and the hot state are, and whether their servers answer.

    The exit code is 1 when a server that is in use does not answer.
    """
    from ...doctor.store_report import report_stores

    report = report_stores(invocation.home, count=count)
    invocation.show(stores_answer(report), _lines(report))
    context.exit(FINDINGS if report.problems else 0)


def _lines(report: StoresReport) -> list[str]:
    index = report.index
    place = f"namespace {index.namespace} at {index.address}" if index.namespace else index.address
    lines = [f"index      {index.store}, {place}"]
    if index.passages is not None:
        lines.append(f"           {counted(index.passages, 'passage', 'passages')}, {index.pending} without a vector")
    if index.server:
        lines.append(f"           {index.server}")
    if index.counts is not None:
        lines.append(
            f"           {counted(index.counts.files, 'file', 'files')}, "
            f"{counted(index.counts.vectors, 'vector', 'vectors')}, checksum {index.counts.sha256[:16]}"
        )
    lines.append(f"hot state  {report.hot_state}")
    return [*lines, *(f"problem    {problem}" for problem in report.problems)]


@home_command(
    "migrate",
    examples=(
        ("Move the index of this home to PostgreSQL", "memory stores migrate postgresql"),
        ("Show what would be moved", "memory stores migrate postgresql --dry-run"),
        ("Move it back into a file", "memory stores migrate sqlite"),
    ),
)
@click.argument("target", type=click.Choice(("sqlite", "postgresql")))
@click.option("--dry-run", is_flag=True, help="Print what would be moved, and write nothing.")
@click.option("--abandon", is_flag=True, help="Build the SQLite file from the files alone, when PostgreSQL is gone.")
def migrate(invocation: Invocation, target: str, *, dry_run: bool, abandon: bool) -> None:
    """Move the search index of this home, on this machine.

    The new index is built from the files, and gets the vectors of the old one. The home uses the old index until both
    have the same counts and the same checksum. A move that was interrupted goes on when the command runs again.
    AGENT_HOME_DATABASE_URL names the database.
    """
    from recall.index.migration import STORES, abandon_database, move_index
    from recall.settings import RecallSettings

    from ...doctor.store_report import report_stores, require_database

    home = invocation.home
    settings = home.manifest.settings("recall", RecallSettings)
    if abandon:
        if target != "sqlite" or dry_run:
            raise click.UsageError("--abandon goes with sqlite, and not with --dry-run")
        made = abandon_database(home, settings, progress=ProgressMeter())
        line = f"{counted(made.passages, 'passage is', 'passages are')} in the file. `memory sync` makes their vectors"
        invocation.show({"target": target, "abandoned": True, "passages": made.passages}, [line])
        return
    if dry_run:
        report = report_stores(home, count=True)
        counts = report.index.counts
        moved = counted(counts.passages, "passage", "passages") if counts else "no passages"
        same = report.index.store == target
        if not same:
            require_database()
        line = (
            f"the index is in {target} already" if same else f"would move {moved} from {report.index.store} to {target}"
        )
        invocation.show({**stores_answer(report), "dry_run": True, "target": target}, [line])
        return
    (wanted,) = (name for name in STORES if name == target)
    done = move_index(home, settings, wanted, progress=ProgressMeter())
    if done.source == done.target:
        lines = [f"the index is in {target} already"]
    else:
        passages, vectors = done.counts.passages, done.copied
        moved = f"{counted(passages, 'passage', 'passages')} and {counted(vectors, 'vector', 'vectors')}"
        lines = [
            f"moved {moved} from {done.source} to {done.target} in {done.seconds:.1f} s",
            f"both sides have the checksum {done.counts.sha256[:16]}",
        ]
    invocation.show(index_move_answer(done), lines)


stores.add_command(status)
stores.add_command(migrate)
