"""Define ``memory pull``."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...counts import counted
from ...indexing import index_changes
from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from agent_home.pulling.incoming import Incoming
    from agent_home.pulling.pull import Pulled
    from agent_home.screening.personal_text import LocatedFinding

__all__ = ["pull"]

#: Most things of one kind that a person is shown. JSON has them all.
_MAX_LINES = 30


@home_command(
    "pull",
    examples=(
        ("Show what the other clone would bring", "memory pull --dry-run"),
        ("Merge it", "memory pull"),
        ("Merge a clone in another folder", "memory pull ~/backup/agent"),
    ),
)
@click.argument("remote", default="origin")
@click.option("--dry-run", is_flag=True, help="Print what would be merged, and merge nothing.")
@click.option("--skip-refused", is_flag=True, help="Go on without files that memory cannot take.")
@click.option("--accept-removals", is_flag=True, help="Take a file that would lose many entries.")
@click.pass_context
def pull(
    context: click.Context, invocation: Invocation, remote: str, *, dry_run: bool, skip_refused: bool,
    accept_removals: bool,
) -> None:  # fmt: skip
    """Merge another clone of this home.

    REMOTE is a configured remote (default: origin), an address or a folder. --dry-run prints the lines that would
    change. The home's configuration runs nothing. What comes in is screened as text of other people and merged by
    entries. What the guard holds back waits in `memory review`. Links, programs, machine state, binary files,
    conflict markers and names that the guard holds back stop the pull, exit code 4. With --skip-refused such files
    stay as they are here, and later pulls do not bring them again. Settings and approvals that others wrote wait in
    `memory trust`. The exit code is 1 when something waits.
    """
    from agent_home.pulling.pull import pull as pull_from

    if "/" in remote and ":" not in remote and Path(remote).is_dir():
        remote = str(Path(remote).resolve())  # as a person means it who stands in a folder
    pulled = pull_from(
        invocation.home, remote, now=invocation.moment, dry_run=dry_run, skip_refused=skip_refused,
        accept_removals=accept_removals,
    )  # fmt: skip
    problems = index_changes(invocation.home, invocation.warn) if pulled.commit else ()
    for problem in problems:
        invocation.warn(problem)
    invocation.show(
        {**_as_dict(pulled), "dry_run": dry_run, "degraded": list(problems)}, _lines(pulled, dry_run=dry_run)
    )
    incoming = pulled.incoming
    waits = incoming and (
        incoming.findings or incoming.refused or incoming.waiting or incoming.foreign or incoming.forgotten
    )
    context.exit(FINDINGS if waits else 0)


def _as_dict(pulled: Pulled) -> dict[str, Any]:
    incoming = pulled.incoming
    shown: dict[str, Any] = {
        "commits": 0, "files": [], "entries": [], "changes": [], "held_back": [], "refused": [], "settings": [],
        "approvals": [], "forgotten": [], "secrets_in_history": [],
    }  # fmt: skip
    if incoming is not None:
        shown = {
            "commits": incoming.commits,
            "files": [{"path": file.path, "action": file.action} for file in incoming.files if not file.refused],
            "entries": [dataclasses.asdict(entry) for entry in incoming.entries],
            "changes": [dataclasses.asdict(change) for change in incoming.changes],
            "held_back": [
                {"path": one.path, "line": one.line, "entry": one.entry, "finding": one.name}
                for one in incoming.findings
            ],
            "refused": [{"path": file.path, "reason": file.refused} for file in incoming.refused],
            "settings": list(incoming.waiting),
            "approvals": list(incoming.foreign),
            "forgotten": list(incoming.forgotten),
            "secrets_in_history": [one.where for one in _secrets(incoming)],
        }
    quarantined = [item.id for item in pulled.quarantined]
    return {
        "remote": pulled.remote, "branch": pulled.branch, **shown, "quarantined": quarantined, "commit": pulled.commit
    }  # fmt: skip


def _lines(pulled: Pulled, *, dry_run: bool) -> Iterator[str]:
    incoming = pulled.incoming
    if incoming is None:
        yield f"nothing new on {pulled.branch} of {pulled.remote}"
        return
    done = f"merged, commit {pulled.commit[:7]}" if pulled.commit else "nothing merged"
    yield f"{incoming.commits} commits of {pulled.remote}: {done}"
    yield from _limited(_details(incoming))
    if dry_run:
        yield from _changes(incoming)
        name = "" if pulled.remote == "origin" else f" {pulled.remote}"
        skip = " --skip-refused" if incoming.refused else ""
        yield f"`memory pull{name}{skip}` merges it{' without the refused files' if skip else ''}"
    for item in pulled.quarantined:
        yield f"  {item.id} waits in `memory review`: {item.reason}"


def _details(incoming: Incoming) -> Iterator[str]:
    for file in incoming.refused:
        yield f"  refused  {file.path}: {file.refused}"
    for one in incoming.findings:
        yield f"  held     {one.where}: {one.name}"
    if secrets := _secrets(incoming):
        kept = counted(len(secrets), "secret")
        yield f"  history  the commits of the other side keep {kept} that the merge leaves out. Revoke what it opens."
        yield "           `memory guard scan --history` finds it, and `memory forget - --apply --purge` erases it here"
    for name in incoming.forgotten:
        yield f"  history  {name} holds what was forgotten here. Forget it in the other clone, and then here again:"
        yield "           `memory forget ID --apply --purge`, or `-` with the text on standard input"
    for key in incoming.waiting:
        yield f"  setting  {key} waits in `memory trust`"
    for name in incoming.foreign:
        yield f"  approval {name} does not count here. See `memory trust`"
    claims = Counter(
        f"{name}: {value.split(',')[0]}" for entry in incoming.entries for name, value in entry.says.items()
    )
    for claim, number in claims.most_common():
        yield f"  says     {claim} ({number} entries)"
    for entry in incoming.entries:
        yield f"  {entry.action:8} {entry.id} in {entry.path}"
    with_entries = {entry.path for entry in incoming.entries}
    for file in incoming.files:
        if not file.refused and file.path not in with_entries:
            yield f"  {file.action:8} {file.path}"


def _secrets(incoming: Incoming) -> list[LocatedFinding]:
    return [one for one in incoming.findings if one.layer == "secret"]


def _changes(incoming: Incoming) -> Iterator[str]:
    """Yield the lines that the merge would add and remove, file by file."""
    for change in incoming.changes:
        yield f"{change.path}:"
        yield from (f"  {line}" for line in change.lines)
        if change.more:
            yield f"  and {change.more} more lines"


def _limited(lines: Iterator[str]) -> Iterator[str]:
    found = list(lines)
    yield from found[:_MAX_LINES]
    if len(found) > _MAX_LINES:
        yield f"  and {len(found) - _MAX_LINES} more lines. --json prints them all"
