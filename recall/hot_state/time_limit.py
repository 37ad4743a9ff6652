"""Own the limit of time and size for what a thread asks of Redis, so that no prompt waits for a server.

The limit holds for everything within the block together: names that are looked up, connections, handshakes, questions
and answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

__all__ = ["MOST_BYTES", "remaining_s", "take_bytes", "within"]

#: Bytes of all answers within a limit: more than every value of a session together may have.
MOST_BYTES = 96 << 20


class _Limit(local):
    until = math.inf
    room = MOST_BYTES


_LIMIT = _Limit()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let what this thread asks of Redis in the block take *seconds* in all. An outer block's limit holds as well."""
    outer = _LIMIT.until, _LIMIT.room
    _LIMIT.until, _LIMIT.room = min(outer[0], time.monotonic() + seconds), MOST_BYTES
    try:
        yield
    finally:
        _LIMIT.until, _LIMIT.room = outer


def remaining_s(most: float) -> float:
    """Return the seconds that are left, at most *most*.

    Raises:
        TimeoutError: none is left.
    """
    left = min(most, _LIMIT.until - time.monotonic())
    if left <= 0:
        raise TimeoutError("it took too long")
    return left


def take_bytes(count: int) -> bool:
    """Count *count* bytes of an answer, and return whether they were within the limit."""
    _LIMIT.room -= count
    return _LIMIT.room >= 0
