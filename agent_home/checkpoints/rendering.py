"""Own the texts of a checkpoint: a block to go on from after a reset, and a report with every reference."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TypeVar

from ..tokens import count_tokens
from .checkpoint import Checkpoint, FolderStatus, OutputReference

Item = TypeVar("Item")
#: Returns a text in at most so many tokens.
Cut = Callable[[str, int], str]

__all__ = ["RESUME_TOKENS", "report", "resume_block", "status_line"]

#: Most tokens of the block to go on from.
RESUME_TOKENS = 800
#: Most tokens of the notes in it, and of any other text.
_NOTES_TOKENS, _SHORT_TOKENS = 200, 40
#: No more characters than these for a token are looked at.
_CHARS_OF_TOKEN = 16
_ADVICE = "`memory fetch ID --summary-only` and `memory fetch ID --chunk N` read them."


def resume_block(checkpoint: Checkpoint, *, most_tokens: int = RESUME_TOKENS - 20) -> str:
    """Return what an agent needs after a reset, in at most *most_tokens*.

    Lists are cut at their ends and long texts behind some tokens, and each cut says what it left out.
    """
    counts = _counts(checkpoint)
    while True:
        text = "\n".join(_lines(checkpoint, *counts, cut=_cut))
        if count_tokens(text) <= most_tokens or not any(counts):
            return text
        longest = max(range(len(counts)), key=lambda place: (counts[place], -place))
        counts[longest] -= max(1, counts[longest] // 8)


def report(checkpoint: Checkpoint) -> str:
    """Return everything that a checkpoint holds."""
    return "\n".join(_lines(checkpoint, *_counts(checkpoint), cut=lambda text, _tokens: text))


def _counts(checkpoint: Checkpoint) -> list[int]:
    lists = (checkpoint.references, checkpoint.statuses, checkpoint.threads, checkpoint.depends)
    return [len(items) for items in lists]


def _lines(
    checkpoint: Checkpoint, references: int, statuses: int, threads: int, depends: int, *, cut: Cut
) -> Iterator[str]:
    entries = "1 entry" if checkpoint.outputs == 1 else f"{checkpoint.outputs} entries"
    phase = cut(checkpoint.phase, _SHORT_TOKENS) or "not said"
    yield f"Checkpoint {checkpoint.id} of {checkpoint.ts[:16].replace('T', ' ')}"
    yield from (f"Notes: {cut(checkpoint.notes, _NOTES_TOKENS)}",) if checkpoint.notes else ()
    yield f"Phase: {phase}, Memory: {entries} ({checkpoint.tokens} tokens)"
    yield f"Folder: {cut(checkpoint.directory, _SHORT_TOKENS)}{_revision(checkpoint, cut)}"
    yield from (f"Depends on: {cut(text, _SHORT_TOKENS)}" for text in checkpoint.depends[:depends])
    if depends < len(checkpoint.depends):
        yield f"Depends on: {len(checkpoint.depends) - depends} more: `checkpoint report`"
    yield from _section("[STATUS]", checkpoint.statuses, statuses, status_line, "memory status show --tree")
    yield from _section(
        "[OPEN WORK]", checkpoint.threads, threads, lambda thread: f"{thread.id}: {thread.title}", "memory prompt"
    )
    more = f"memory refs --checkpoint {checkpoint.id}"
    yield from _section("[MEMORY REFERENCES]", checkpoint.references, references, _reference, more)
    yield from (_ADVICE,) if references else ()
    yield from _session(checkpoint.session, cut)


def _session(name: str, cut: Cut) -> Iterator[str]:
    shown = cut(name, _SHORT_TOKENS)
    if name:
        yield f"Session: {shown}" + (f". `memory prompt --resume {name}` goes on with it." if shown == name else "")


def _cut(text: str, most_tokens: int) -> str:
    """Return the beginning of *text* that has at most *most_tokens*, and how much more there is."""
    most = min(len(text), most_tokens * _CHARS_OF_TOKEN)
    if most == len(text) and count_tokens(text) <= most_tokens:
        return text
    kept = bisect_right(range(most), most_tokens, key=lambda end: count_tokens(text[:end])) - 1
    return f"{text[: max(0, kept)]}... ({len(text) - max(0, kept)} more characters: checkpoint report)"


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


def _revision(checkpoint: Checkpoint, cut: Cut) -> str:
    if not checkpoint.commit:
        return ""
    branch = f" on {cut(checkpoint.branch, _SHORT_TOKENS)}" if checkpoint.branch else ""
    return f" (commit {checkpoint.commit}{branch})"
