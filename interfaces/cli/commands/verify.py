"""Define ``memory verify``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from ...counts import counted
from ...indexing import index_changes
from ..completion import entries
from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command
from ..progress import ProgressMeter
from ..render import shortened

if TYPE_CHECKING:
    from distill.evidence.verification import VerificationReport

__all__ = ["verify"]


@home_command(
    "verify",
    examples=(
        ("Check entries whose repositories changed", "memory verify"),
        ("Write the new evidence to MEMORY.md", "memory verify --apply"),
        ("Check one entry", "memory verify KD-7F3A"),
    ),
)
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=entries)
@click.option("--all", "everything", is_flag=True, help="Check every entry, even if its repository did not change.")
@click.option("--apply", is_flag=True, help="Write the changes (default: only show them).")
@click.pass_context
def verify(context: click.Context, invocation: Invocation, ids: tuple[str, ...], everything: bool, apply: bool) -> None:
    """Check the evidence of entries against git again.

    An entry is marked stale, with the reason, on its line "Evidence:" when git no longer confirms it: its file was
    deleted, its commit was reverted or rewritten, or its function is gone. An entry that git now confirms is marked
    verified. The line stays as it is when git gives no answer, when a repository or transcript is not on this machine,
    and when a repository has another branch checked out.

    Only entries whose repositories have a new HEAD, branch or tag since the last `memory verify --apply` are checked.
    --all checks every entry, and IDs check just these. The exit code is 1 when an entry is no longer confirmed.
    """
    from distill.evidence.verification import verify as ask

    home = invocation.home
    entry_ids = [name.strip().strip("[]").upper() for name in ids]
    found = ask(home, entry_ids, now=invocation.moment, everything=everything, apply=apply, progress=_progress())
    problems = index_changes(home, invocation.warn) if found.commit else []
    for problem in problems:
        invocation.warn(problem)
    data = {
        "entries": [{**dataclasses.asdict(entry), "changed": bool(entry.line)} for entry in found.entries],
        "checked": len(found.entries),
        "unmoved": found.unmoved,
        "applied": apply,
        "commit": found.commit,
        "degraded": problems,
    }
    invocation.show(data, _lines(found, apply))
    context.exit(FINDINGS if any(entry.fell for entry in found.entries) else 0)


def _progress() -> Callable[[str, int, int], None]:
    meter = ProgressMeter()
    return lambda entry_id, number, total: meter("entries checked", number - 1, total, note=entry_id)


def _lines(found: VerificationReport, apply: bool) -> Iterator[str]:
    checked = counted(len(found.entries), "entry", "entries")
    yield f"checked {checked}. Skipped {found.unmoved} whose repositories did not change"
    for entry in found.entries:
        title = shortened(entry.title)
        if entry.line:
            yield f"  [{entry.id}] {title}: {entry.was} -> {entry.line}"
        elif entry.now == "unchecked":
            yield f"  [{entry.id}] {title}: left {entry.was}, {entry.detail or 'git gave no answer'}"
    if found.commit:
        yield f"commit {found.commit[:7]}"
    elif found.changed and not apply:
        yield "Nothing was changed. Run `memory verify --apply` to write it"
