"""``memory merge-driver``, which git calls."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["merge_driver"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("merge-driver")
@click.argument("base", type=_FILE)
@click.argument("ours", type=_FILE)
@click.argument("theirs", type=_FILE)
@click.argument("path")
def merge_driver(base: Path, ours: Path, theirs: Path, path: str) -> None:
    """Merge two versions of a memory file into OURS, by entries and sections instead of lines.

    Git calls this when clones of a home are merged: BASE is what both started with, PATH the file's name in the home.
    `memory init` tells git so, in a new home and in a clone. What either side added stays, what both changed is one
    entry where the changes fit together; where they do not, both versions stand, the second one under an id of its own
    with a line "State: conflict with ...". A file whose structure is broken is left to you, as a conflict without
    markers.
    """
    from agent_home.documents.document_merge import merge_files

    merged = merge_files(base, ours, theirs, path)
    for name in merged.flagged:
        click.echo(f"memory: {path}: both sides changed the same, both versions stand: {name}", err=True)
