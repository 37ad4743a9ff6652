"""The one lock of a home: whoever changes a file of it holds this.

The lock file is never removed: a process that has it open would go on holding a name that no longer exists. The
operating system frees the lock of a killed process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import Locked

__all__ = ["DEFAULT_TIMEOUT_S", "hold"]

#: A commit takes some 50 ms; this is a queue of hundreds of writers.
DEFAULT_TIMEOUT_S = 30.0


@contextmanager
def hold(path: Path, timeout_s: float = DEFAULT_TIMEOUT_S) -> Iterator[None]:
    """Hold the lock file *path* for the block. Not reentrant across threads.

    Raises:
        Locked: it was not free within *timeout_s* seconds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, poll_interval=0.01)
    try:
        lock.acquire(timeout=timeout_s)
    except Timeout as error:
        raise Locked(path, timeout_s) from error
    try:
        yield
    finally:
        lock.release()
