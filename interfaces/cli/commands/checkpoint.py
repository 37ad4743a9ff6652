"""Define ``memory checkpoint``, which is also the console script ``checkpoint``."""

from __future__ import annotations

from typing import Any

import click

from ...answers import checkpoint_answer
from ..command import Command, Group
from ..invocation import Invocation, options
from ..surroundings import surroundings

__all__ = ["checkpoint"]


@click.group(
    "checkpoint",
    cls=Group,
    examples=(
        ("Note where the work stands", 'memory checkpoint now --notes "Integration tests complete"'),
        ("Go on after a reset", "memory checkpoint load"),
    ),
)
def checkpoint() -> None:
    """Note where work stands, and go on from there.

    A checkpoint holds what an agent needs after its context was reset, by reference. `checkpoint` is a program of its
    own as well.
    """


@checkpoint.command(
    "now",
    cls=Command,
    examples=(
        ("Note where the work stands", 'memory checkpoint now --notes "After test run"'),
        ("Name the phase and what it rests on", 'memory checkpoint now --phase Testing --depends "schema 14"'),
    ),
)
@click.option("--notes", default="", metavar="TEXT", help="What to remember about it.")
@click.option("--phase", default="", metavar="TEXT", help="Phase of the work (default: that of STATUS.md here).")
@click.option("--depends", multiple=True, metavar="TEXT", help="Something that the work rests on. May be repeated.")
@click.option("--session", default="", metavar="NAME", help="Session in which it is made.")
@options
def now(invocation: Invocation, **given: Any) -> None:
    """Make a checkpoint of the work in this folder.

    It holds the phase, git's branch and commit, what the STATUS.md files here and below say, the open threads of
    memory, and references to the newest outputs with their tokens. It holds no content.
    """
    from ...api import AgentHome

    agent = AgentHome(invocation.home, warn=invocation.warn)
    made = agent.checkpoints.make(folder=surroundings().folder, now=invocation.moment, **given)
    entries = "1 entry" if made.outputs == 1 else f"{made.outputs} entries"
    lines = [f"Checkpoint: {made.id} (memory: {entries}, {made.tokens} tokens)", "  memory checkpoint load"]
    invocation.show(checkpoint_answer(made), lines)


@checkpoint.command(
    "load",
    cls=Command,
    examples=(
        ("Go on from the newest one", "memory checkpoint load"),
        ("Go on from an older one", "memory checkpoint load ckpt-20260123-123456"),
    ),
)
@click.argument("name", required=False, default="", metavar="[ID]")
@options
def load(invocation: Invocation, name: str) -> None:
    """Print what an agent needs to go on, in fewer than 800 tokens.

    Without an ID, or with ckpt-latest, it is the newest checkpoint.
    """
    from agent_home.checkpoints.checkpoint import find_checkpoint
    from agent_home.checkpoints.rendering import resume_block

    found = find_checkpoint(invocation.home, name)
    invocation.show_text(checkpoint_answer(found), resume_block(found))


@checkpoint.command(
    "report", cls=Command, examples=(("Show everything that the newest one holds", "memory checkpoint report"),)
)
@click.argument("name", required=False, default="", metavar="[ID]")
@options
def report(invocation: Invocation, name: str) -> None:
    """Print everything that a checkpoint holds, with every reference to outputs."""
    from agent_home.checkpoints.checkpoint import find_checkpoint
    from agent_home.checkpoints.rendering import report as report_of

    found = find_checkpoint(invocation.home, name)
    invocation.show_text(checkpoint_answer(found), report_of(found))


@checkpoint.command(
    "list", cls=Command, examples=(("List the newest checkpoints", "memory checkpoint list --limit 5"),)
)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most checkpoints.")
@options
def list_(invocation: Invocation, limit: int) -> None:
    """List checkpoints, newest first."""
    from itertools import islice

    from agent_home.checkpoints.checkpoint import checkpoints

    found = list(islice(checkpoints(invocation.home), limit))
    lines = [
        f"{item.id}: {item.phase or 'no phase'}, {item.outputs} outputs{f', {item.notes}' if item.notes else ''}"
        for item in found
    ] or ["no checkpoint yet. `memory checkpoint now` makes one"]
    invocation.show({"checkpoints": [checkpoint_answer(item) for item in found]}, lines)
