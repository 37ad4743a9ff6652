"""Own the texts of a checkpoint: a block to go on from after a reset, and a report with every reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TypeVar

from ..tokens import count_tokens
from .checkpoint import Checkpoint, FolderStatus, OutputReference

Item = TypeVar("Item")

__all__ = ["RESUME_TOKENS", "report", "resume_block", "status_line"]

#: Most tokens of the block to go on from.
RESUME_TOKENS = 800
_ADVICE = "`memory fetch ID --summary-only` and `memory fetch ID --chunk N` read them."


def resume_block(checkpoint: Checkpoint, *, most_tokens: int = RESUME_TOKENS - 20) -> str:
    """Return what an agent needs after a reset, in at most *most_tokens*: lists are cut at their ends."""
    counts = [len(checkpoint.references), len(checkpoint.statuses), len(checkpoint.threads)]
    while True:
        text = "\n".join(_lines(checkpoint, *counts))
        if count_tokens(text) <= most_tokens or not any(counts):
            return text
        longest = max(range(3), key=lambda place: (counts[place], -place))
        counts[longest] -= max(1, counts[longest] // 8)


def report(checkpoint: Checkpoint) -> str:
    """Return everything that a checkpoint holds."""
    every = len(checkpoint.references), len(checkpoint.statuses), len(checkpoint.threads)
    return "\n".join(_lines(checkpoint, *every))


def _lines(checkpoint: Checkpoint, references: int, statuses: int, threads: int) -> Iterator[str]:
    entries = "1 entry" if checkpoint.outputs == 1 else f"{checkpoint.outputs} entries"
    yield f"Checkpoint {checkpoint.id} of {checkpoint.ts[:16].replace('T', ' ')}"
    yield from (f"Notes: {checkpoint.notes}",) if checkpoint.notes else ()
    yield f"Phase: {checkpoint.phase or 'not said'}, Memory: {entries} ({checkpoint.tokens} tokens)"
    yield f"Folder: {checkpoint.directory}{_revision(checkpoint)}"
    yield from (f"Depends on: {text}" for text in checkpoint.depends)
    yield from _section("[STATUS]", checkpoint.statuses, statuses, status_line, "memory status show --tree")
    yield from _section(
        "[OPEN WORK]", checkpoint.threads, threads, lambda thread: f"{thread.id}: {thread.title}", "memory prompt"
    )
    more = f"memory refs --checkpoint {checkpoint.id}"
    yield from _section("[MEMORY REFERENCES]", checkpoint.references, references, _reference, more)
    yield from (_ADVICE,) if references else ()
    if checkpoint.session:
        yield f"Session: {checkpoint.session}. `memory prompt --resume {checkpoint.session}` goes on with it."


def _section(
    title: str, items: tuple[Item, ...], shown: int, render: Callable[[Item], str], more: str
) -> Iterator[str]:
    """Yield a title and the first *shown* items, and how to see the rest. Nothing for no items."""
    if not items:
        return
    yield title
    rest = (f"and {len(items) - shown} more: `{more}`",) if shown < len(items) else ()
    yield from (f"  {line}" for line in chain(map(render, items[:shown]), rest))


def status_line(status: FolderStatus) -> str:
    """Return what a folder's status file says, in one line."""
    state = ", ".join(filter(None, (status.phase, status.state))) or "no phase"
    task = f". Next: {status.task}" if status.task else ""
    count = f" ({status.open_tasks} open tasks)" if status.open_tasks > 1 else ""
    return f"{status.folder}: {state}{task}{count}"


def _reference(reference: OutputReference) -> str:
    return f"{reference.output}: {reference.headline} ({reference.tokens} tokens)"


def _revision(checkpoint: Checkpoint) -> str:
    if not checkpoint.commit:
        return ""
    return f" (commit {checkpoint.commit}{f' on {checkpoint.branch}' if checkpoint.branch else ''})"
