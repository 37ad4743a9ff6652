"""Define ``memory merge-driver``, which git calls."""

from __future__ import annotations

from pathlib import Path

import click

from ..command import Command
from ..render import write_line

__all__ = ["merge_driver"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    "merge-driver",
    cls=Command,
    examples=(
        ("Merge two versions of MEMORY.md, as git does", "memory merge-driver base.md ours.md theirs.md MEMORY.md"),
    ),
)
@click.argument("base", type=_FILE)
@click.argument("ours", type=_FILE)
@click.argument("theirs", type=_FILE)
@click.argument("path")
def merge_driver(base: Path, ours: Path, theirs: Path, path: str) -> None:
    """Merge two versions of a memory file.

    Git calls this command when it merges clones of a home. It merges entries and sections instead of lines, and writes
    the result to OURS. BASE is the common ancestor, and PATH is the file's name in the home. `memory init` configures
    git, in a new home and in a clone. Additions of both sides stay. An entry that both sides changed becomes one entry
    if the changes are compatible. Otherwise both versions stay, the second one under its own id with a line "State:
    conflict with ...". A file with a broken structure is merged by lines, with conflict markers, and left to you.
    """
    from agent_home.documents.document_merge import merge_files
    from agent_home.errors import DocumentInvalid
    from agent_home.git.line_merge import write_both_sides

    try:
        merged = merge_files(base, ours, theirs, path)
    except DocumentInvalid:
        write_both_sides(base, ours, theirs, path)
        remedy = "Keep the lines that hold, remove the markers and commit. `memory check` names what else is wrong"
        undo = "`git merge --abort` or `git rebase --abort` undoes the attempt"
        write_line(f"memory: {path} has both sides, with conflict markers. {remedy}. {undo}", error=True)
        raise
    for name in merged.flagged:
        write_line(f"memory: {path}: both sides changed the same entry, and both versions stay: {name}", error=True)
