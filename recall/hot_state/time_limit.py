"""Own the limit of time and size for what a thread asks of Redis, so that no prompt waits for a server.

The limit holds for everything within the block together: names that are looked up, connections, handshakes, questions
and answers. Outside of a block there is no time at all, so that nothing waits that the client does by itself, such as a
goodbye when an object goes away.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

__all__ = ["MOST_BYTES", "remaining_s", "take_bytes", "within"]

#: Bytes of all answers within a limit: more than every value of a session together may have.
MOST_BYTES = 96 << 20


class _Limit(local):
    until: float | None = None
    room = 0


_LIMIT = _Limit()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let what this thread asks of Redis in the block take *seconds* in all. An outer block's limit holds as well."""
    outer = _LIMIT.until, _LIMIT.room
    until = time.monotonic() + seconds
    _LIMIT.until, _LIMIT.room = until if outer[0] is None else min(outer[0], until), MOST_BYTES
    try:
        yield
    finally:
        _LIMIT.until, _LIMIT.room = outer


def remaining_s(most: float) -> float:
    """Return the seconds that are left, at most *most*.

    Raises:
        TimeoutError: none is left.
    """
    left = 0.0 if _LIMIT.until is None else min(most, _LIMIT.until - time.monotonic())
    if left <= 0:
        raise TimeoutError("it took too long")
    return left


def take_bytes(count: int) -> bool:
    """Count *count* bytes of an answer, and return whether they were within the limit."""
    _LIMIT.room -= count
    return _LIMIT.room >= 0
