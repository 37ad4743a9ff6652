"""Define ``memory stores``: where the index and the hot state of a home are, and moves of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...answers import index_move_answer, stored_indexes_answer, stores_answer
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
        ("List the indexes in the database, left ones too", "memory stores list"),
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
    address = index.address or "an address that is not set"
    place = f"namespace {index.namespace} at {address}" if index.namespace else address
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
@click.option("--dry-run", is_flag=True, help="Print what would be moved, ask the server, and write nothing.")
@click.option("--abandon", is_flag=True, help="Build the SQLite file from the files alone, when PostgreSQL is gone.")
def migrate(invocation: Invocation, target: str, *, dry_run: bool, abandon: bool) -> None:
    """Move the search index of this home, on this machine.

    The new index is built from the files, and gets the vectors of the old one. The home uses the old index until both
    have the same counts and the same checksum. A move that was interrupted goes on when the command runs again.
    AGENT_HOME_DATABASE_URL names the database.
    """
    from recall.index.migration import STORES, abandon_database, move_index
    from recall.settings import RecallSettings

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
        _show_plan(invocation, target)
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


def _show_plan(invocation: Invocation, target: str) -> None:
    """Print what a move to *target* would do.

    Raises:
        RecallError: one of both stores does not answer, so the move would fail.
    """
    from recall.errors import RecallError
    from recall.servers import database_url

    from ...doctor.store_report import database_server, report_stores

    report = report_stores(invocation.home, count=True)
    index = report.index
    if index.counts is None and report.problems:
        raise RecallError(report.problems[0])
    lines, server = [f"the index is in {target} already"], index.server
    if index.store != target:
        server = server or database_server(database_url())
        passages, vectors = (index.counts.passages, index.counts.vectors) if index.counts else (0, 0)
        moved = f"{counted(passages, 'passage', 'passages')} and {counted(vectors, 'vector', 'vectors')}"
        lines = [f"would move {moved} from {index.store} to {target}", f"{server} answers"]
    data = {**stores_answer(report), "dry_run": True, "target": target, "server": server}
    invocation.show(data, lines)


@home_command(
    "list",
    examples=(
        ("List the indexes in the database", "memory stores list"),
        ("The same for a program", "memory stores list --json"),
    ),
)
def list_command(invocation: Invocation) -> None:
    """List the indexes in the database, with the home and the machine that each is from.

    A home that was deleted, moved to another machine, or that was taken out with --abandon leaves its index there.
    """
    from recall.index.postgresql.stored_indexes import list_indexes
    from recall.index.store_choice import chosen_namespace
    from recall.servers import database_url

    found, own = list_indexes(database_url()), chosen_namespace(invocation.home)
    lines = [
        f"{one.namespace}  {one.made:%Y-%m-%d}  {counted(one.passages, 'passage', 'passages')}"
        f"  {one.home or 'unknown'} on {one.machine or 'unknown'}{'  (this home)' if one.namespace == own else ''}"
        for one in found
    ]
    invocation.show(stored_indexes_answer(found, own), lines or ["no index is in the database"])


@home_command(
    "remove",
    examples=(
        ("Show what would be deleted", "memory stores remove 0f6c1d"),
        ("Delete it", "memory stores remove 0f6c1d --apply"),
    ),
)
@click.argument("namespace")
@click.option("--apply", is_flag=True, help="Delete it. Without this option nothing is deleted.")
def remove(invocation: Invocation, namespace: str, *, apply: bool) -> None:
    """Delete an index from the database. The beginning of its NAMESPACE is enough.

    No memory is lost: an index is made from the files of its home. A home that still uses it makes it again, with all
    vectors, at its next sync. The index of this home is not deleted: `memory stores migrate sqlite` moves it out.
    """
    from recall.index.postgresql.stored_indexes import list_indexes, remove_index
    from recall.index.store_choice import chosen_namespace
    from recall.servers import database_url
    from recall.settings import RecallSettings

    url, home = database_url(), invocation.home
    found = [one for one in list_indexes(url) if one.namespace.startswith(namespace)]
    found = [one for one in found if one.namespace == namespace] or found
    if len(found) != 1 or not namespace:
        raise click.UsageError(f"{len(found)} indexes begin with {namespace!r}. `memory stores list` names them")
    (index,) = found
    if index.namespace == chosen_namespace(home):
        raise click.UsageError("this home uses that index. Run `memory stores migrate sqlite`")
    what = f"{counted(index.passages, 'passage', 'passages')} of {index.home or 'an unknown home'}"
    what += f" on {index.machine or 'an unknown machine'} (namespace {index.namespace})"
    left = []
    if apply:
        settings = home.manifest.settings("recall", RecallSettings)
        left = remove_index(url, index.namespace, settings.sync_timeout_s)
    lines = [f"deleted {what}" if apply else f"would delete {what}. Nothing was deleted: add --apply", *left]
    invocation.show(
        {"namespace": index.namespace, "passages": index.passages, "deleted": apply, "problems": left}, lines
    )


stores.add_command(status)
stores.add_command(migrate)
stores.add_command(list_command)
stores.add_command(remove)
