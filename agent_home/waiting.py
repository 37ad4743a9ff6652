"""Own the announcement that this process waits for another one, and how long it may wait.

A library call announces nothing. The command line sets :data:`announce_wait`. Where a person looks at an empty page
meanwhile, :data:`most_wait_s` is set.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["announce_wait", "most_wait_s", "shortened"]

#: Called once when a lock is not free after a second. ``None`` announces nothing.
announce_wait: ContextVar[Callable[[], None] | None] = ContextVar("announce_wait", default=None)
#: Seconds that a lock is waited for at most, whatever its caller would wait. ``None`` leaves it to the caller.
most_wait_s: ContextVar[float | None] = ContextVar("most_wait_s", default=None)


def shortened(wait_s: float) -> float:
    """Return *wait_s*, or fewer seconds where :data:`most_wait_s` says so."""
    most_s = most_wait_s.get()
    return wait_s if most_s is None else min(wait_s, most_s)
