"""Define ``memory diff``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from agent_home.errors import NoSuchRevision
from agent_home.visible import revealed

from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from agent_home.git.entry_diff import EntryChange, EntryDiff

__all__ = ["diff"]

_ENTRY_ID = re.compile(r"[A-Za-z]{2}-[0-9A-Za-z]{4,8}")
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "archived": ">", "restored": "<", "moved": ">"}


@home_command(
    "diff",
    examples=(
        ("Show what is not committed yet", "memory diff"),
        ("Show what changed in the last five commits", "memory diff HEAD~5"),
        ("Compare two revisions", "memory diff HEAD~20..HEAD~10"),
    ),
)
@click.argument("revisions", metavar="[REV[..REV]]", nargs=-1)
def diff(invocation: Invocation, revisions: tuple[str, ...]) -> None:
    """Show what changed in memory, entry by entry.

    An entry was added, changed, removed, archived or restored. Without REV, the changes are those on disk that are not
    committed. With one REV, they are those from REV to the disk. With A..B, they are those from A to B, and an omitted
    side is HEAD. Changes of other files are listed by name.
    """
    from agent_home.git.entry_diff import compare

    if len(revisions) > 1:
        raise click.UsageError(f"write {revisions[0]}..{revisions[1]} to compare two revisions")
    revision = revisions[0] if revisions else "HEAD"
    first, dots, last = revision.partition("..")
    try:
        found = compare(invocation.home, first or "HEAD", (last.lstrip(".") or "HEAD") if dots else None)
    except NoSuchRevision as error:
        if _ENTRY_ID.fullmatch(revision):
            problem = f"{revision!r} is not a revision. `memory history {revision}` shows an entry"
            raise click.UsageError(problem) from error
        raise
    data = {"from": found.old, "to": found.new, "entries": [dataclasses.asdict(entry) for entry in found.entries],
            "files": [dataclasses.asdict(file) for file in found.files]}  # fmt: skip
    invocation.show(data, _lines(found, uncommitted=not revisions))


def _lines(found: EntryDiff, *, uncommitted: bool) -> Iterator[str]:
    if not found.entries and not found.files:
        yield ("Nothing changed since the last commit. Try `memory diff HEAD~1`." if uncommitted else "nothing changed")
    for change in found.entries:
        place = f"{change.path} / {change.section}" if change.section else change.path
        yield f"{_SIGNS[change.action]} [{change.id}] {change.action}, {place}"
        yield from (f"    {revealed(line)}" for line in _texts(change))
    for file in found.files:
        yield f"{_SIGNS[file.action]} {revealed(file.path)} {file.action}"


def _texts(change: EntryChange) -> Iterator[str]:
    """Yield the lines of an entry that differ, or all lines of an added or removed entry."""
    before, after = change.before.splitlines(), change.after.splitlines()
    if change.action == "changed" and before[0] == after[0]:
        yield f"  {before[0]}"
    if change.action in {"archived", "restored", "moved"} and change.before == change.after:
        yield f"from {change.old_path}"
        return
    yield from (f"- {line}" for line in before if line not in after)
    yield from (f"+ {line}" for line in after if line not in before)
