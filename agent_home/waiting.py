"""Own the announcement that this process waits for another one.

A library call announces nothing. The command line sets :data:`announce_wait`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["announce_wait"]

#: Called once when a lock is not free after a second. ``None`` announces nothing.
announce_wait: ContextVar[Callable[[], None] | None] = ContextVar("announce_wait", default=None)
