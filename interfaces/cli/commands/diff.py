"""``memory diff``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..frame import Frame, home_command
from .review import printable

if TYPE_CHECKING:
    from agent_home.git.entry_diff import Comparison, EntryChange

__all__ = ["diff"]

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "archived": ">", "restored": "<", "moved": ">"}


@home_command("diff")
@click.argument("revisions", metavar="[REV[..REV]]", default="HEAD")
def diff(frame: Frame, revisions: str) -> None:
    """Tell what changed in memory, by entries: added, changed, removed, archived, restored.

    Without REV: what is on disk and not committed. With REV: from REV to what is on disk. With A..B: from A to B, a
    side that is left out being HEAD. Other files are named, with what happened to them.
    """
    from agent_home.git.entry_diff import compare

    first, dots, last = revisions.partition("..")
    found = compare(frame.home, first or "HEAD", (last.lstrip(".") or "HEAD") if dots else None)
    data = {"from": found.old, "to": found.new, "entries": [dataclasses.asdict(entry) for entry in found.entries],
            "files": [dataclasses.asdict(file) for file in found.files]}  # fmt: skip
    frame.show(data, _lines(found))


def _lines(found: Comparison) -> Iterator[str]:
    if not found.entries and not found.files:
        yield "nothing changed"
    for change in found.entries:
        place = f"{change.path} / {change.section}" if change.section else change.path
        yield f"{_SIGNS[change.action]} [{change.id}] {change.action}, {place}"
        yield from (f"    {printable(line)}" for line in _texts(change))
    for file in found.files:
        yield f"{_SIGNS[file.action]} {printable(file.path)} {file.action}"


def _texts(change: EntryChange) -> Iterator[str]:
    """The lines of an entry that differ, or all of one that came or went."""
    before, after = change.before.splitlines(), change.after.splitlines()
    if change.action in {"archived", "restored", "moved"} and change.before == change.after:
        yield f"from {change.old_path}"
        return
    yield from (f"- {line}" for line in before if line not in after)
    yield from (f"+ {line}" for line in after if line not in before)
