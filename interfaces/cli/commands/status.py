"""Define ``memory status``, for the ``STATUS.md`` of a folder."""

from __future__ import annotations

from pathlib import Path

import click

from ...answers import status_file_answer
from ..command import Command, Group
from ..invocation import Invocation, options
from ..surroundings import surroundings

__all__ = ["status"]


@click.group(
    "status",
    cls=Group,
    examples=(
        ("Say what is worked on in a folder", 'memory status update ./tests --task "Fixing test_auth"'),
        ("Show a folder and all below it", "memory status show --tree"),
    ),
)
def status() -> None:
    """Keep the state of work in a folder's STATUS.md.

    The file is yours to edit. `alias status="memory status"` gives the short form.
    """


@status.command(
    "update",
    cls=Command,
    examples=(
        ("Begin a task", 'memory status update ./tests --task "Fixing test_auth" --phase Testing'),
        ("End it", 'memory status update ./tests --task "Fixing test_auth" --done'),
        ("Refer to an output", "memory status update ./tests --ref mem-20260123-123456-abcd1234"),
    ),
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--task", default="", metavar="TEXT", help="Task that is worked on.")
@click.option("--done", is_flag=True, help="The task is done.")
@click.option("--phase", default="", metavar="TEXT", help="Phase of the work.")
@click.option("--state", default="", metavar="TEXT", help="State of the work.")
@click.option("--ref", "references", multiple=True, metavar="ID", help="Output to refer to. May be repeated.")
@options
def update(
    invocation: Invocation,
    folder: Path,
    task: str,
    phase: str,
    state: str,
    references: tuple[str, ...],
    *,
    done: bool,
) -> None:
    """Write what is worked on into the STATUS.md of DIR.

    Only what is named is changed, and every other line stays as it is.
    """
    from ...folder_status import update_status

    if done and not task:
        raise click.UsageError("--done needs --task TEXT")
    if not (task or phase or state or references):
        raise click.UsageError("name --task, --phase, --state or --ref")
    changed = update_status(
        invocation.home, surroundings().folder / folder, now=invocation.moment, task=task, done=done, phase=phase,
        state=state, references=references,
    )  # fmt: skip
    invocation.show(status_file_answer(changed), [f"Updated: {changed.path}"])


@status.command(
    "show",
    cls=Command,
    examples=(
        ("Show the status of this folder", "memory status show"),
        ("Show it with all folders below", "memory status show ./pipeline --tree"),
    ),
)
@click.argument("folder", type=click.Path(path_type=Path), default=".", metavar="[DIR]")
@click.option("--tree", is_flag=True, help="Show the folders below, too.")
@options
def show(invocation: Invocation, folder: Path, *, tree: bool) -> None:
    """Show the STATUS.md of a folder, or a line for each folder below it.

    `[held back: rule]` stands for what the guard keeps out of prompts.
    """
    from ...folder_status import read_status, status_lines, status_tree

    place = surroundings().folder / folder
    if tree:
        found = status_tree(invocation.home, place)
        lines = [line for line, _ in found] or ["no STATUS.md here. `memory status update DIR --task TEXT` makes one"]
        invocation.show({"folders": [row for _, row in found]}, lines)
        return
    shown = read_status(invocation.home, place)
    invocation.show(status_file_answer(shown), status_lines(shown))
