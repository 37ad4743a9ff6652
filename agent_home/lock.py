"""The write lock of a home. A process holds it while it changes files.

The lock file is never removed, because a process with an open lock file would hold the lock of a deleted name. The
operating system frees the lock of a killed process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import Changed, Locked
from .storage import PRIVATE_FILE, make_folder
from .waiting import announce_wait, shortened

__all__ = ["DEFAULT_TIMEOUT_S", "hold"]

#: A commit takes some 50 ms, so this is the time of hundreds of queued writers.
DEFAULT_TIMEOUT_S = 30.0
#: A wait this long is announced.
_ANNOUNCED_AFTER_S = 1.0


@contextmanager
def hold(path: Path, timeout_s: float = DEFAULT_TIMEOUT_S, *, mode: int = PRIVATE_FILE) -> Iterator[None]:
    """Hold the lock file *path* for the block. Not reentrant across threads. A wait of a second is announced.

    A new lock file has *mode*. :data:`~agent_home.waiting.most_wait_s` may shorten the wait.

    Raises:
        Locked: the lock was not free within *timeout_s* seconds.
        Changed: the folder of the lock was removed meanwhile, as when a home goes to another host.
    """
    timeout_s = shortened(timeout_s)
    make_folder(path.parent)
    lock = FileLock(path, poll_interval=0.01, mode=mode)
    try:
        _acquire(lock, timeout_s)
    except Timeout as error:
        raise Locked(path, timeout_s) from error
    except FileNotFoundError as error:
        raise Changed(str(path)) from error
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, timeout_s: float) -> None:
    announce = announce_wait.get()
    if announce is None or not timeout_s > _ANNOUNCED_AFTER_S:
        lock.acquire(timeout=timeout_s)
        return
    try:
        lock.acquire(timeout=_ANNOUNCED_AFTER_S)
    except Timeout:
        announce()
        lock.acquire(timeout=timeout_s - _ANNOUNCED_AFTER_S)
