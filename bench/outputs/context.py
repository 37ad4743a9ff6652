"""Measure the tokens that a failure log takes in a context, whole and by reference, and which failures are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from agent_home.home import Home
from agent_home.outputs.reading import output_chunk
from agent_home.outputs.store import store_output
from agent_home.tokens import count_tokens as count

from .failure_logs import FailureLog

__all__ = ["HEAD", "context_rows"]

HEAD = ("log", "whole", "cut by a host", "failures named there", "summary", "failures named there", "and a chunk")
#: Characters of a tool's output that Claude Code keeps: the first and the last half of them.
_HOST_CHARS = 30_000


def context_rows(home: Home, logs: Iterable[FailureLog]) -> Iterator[Sequence[str]]:
    """Yield a row of :data:`HEAD` for each log. Sizes are in tokens, and the chunk is that of the first failure."""
    for log in logs:
        text = log.content.decode("utf-8", "replace")
        cut = text if len(text) <= _HOST_CHARS else f"{text[: _HOST_CHARS // 2]}\n...\n{text[-_HOST_CHARS // 2 :]}"
        stored = store_output(home, [log.content], now=datetime.now(UTC), tool=log.name.partition(" ")[0])
        told = f"Stored: {stored.id} ({stored.tokens} tokens, {len(stored.chunks)} chunks)\n{stored.summary}"
        place = stored.failures[0][1] if stored.failures else 0
        chunk = output_chunk(home, stored, place).decode("utf-8", "replace")
        yield (
            log.name, str(count(text)), str(count(cut)), _share(log, cut), str(count(told)), _share(log, told),
            str(count(told) + count(chunk)),
        )  # fmt: skip


def _share(log: FailureLog, text: str) -> str:
    return f"{sum(name in text for name in log.failed)} of {len(log.failed)}"
