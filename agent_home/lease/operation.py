"""Spans of writes to a home of a fleet: who may begin one, and how a write becomes acknowledged.

A plain write is published when it is done, under the write lock. An operation, such as a closing or a nightly run, is
published once at its end, and the host does not give the home away while it runs. Everything here does nothing for a
home that no fleet serves.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import MappingProxyType

from .. import storage
from ..errors import HomeError, NotHeld
from ..home import Home
from ..lock import DEFAULT_TIMEOUT_S, hold
from .publication import publish
from .published import note_pending
from .record import Lease, read_lease, require_time

__all__ = ["await_operations", "gate", "operation"]

#: Homes in whose operation the code runs, with the lease at its beginning.
_RUNNING: ContextVar[Mapping[str, Lease | None]] = ContextVar("running", default=MappingProxyType({}))
_LOCK = "operations.lock"
_POLL_S = 0.05


@contextmanager
def gate(home: Home) -> Iterator[None]:
    """Let the block write *home*, and publish what it wrote. Call with the write lock held.

    Inside an operation the block may write while the home is being given away, and the operation publishes.

    Raises:
        NotHeld: this host may not write the home.
        NotPublished: the remote of the home did not take what was written.
    """
    lease = _lease(home)
    if lease is None:
        yield
        return
    running = _RUNNING.get()
    inside = str(home.root) in running
    if inside:
        _refuse_other(running[str(home.root)], lease)
    else:
        _refuse_draining(lease)
    require_time(home, lease)
    note_pending(home)
    yield
    if not inside:
        publish(home, lease)


@contextmanager
def operation(home: Home, timeout_s: float = DEFAULT_TIMEOUT_S) -> Iterator[None]:
    """Publish all writes of the block together, at its end. Operations may be nested, and the outermost one publishes.

    The block must not hold the write lock at its end. What it wrote before an error is published as well, if it can be.

    Raises:
        NotHeld: this host may not begin to write the home.
        NotPublished: the remote of the home did not take what was written.
        Locked: the write lock was not free within *timeout_s* seconds at the end.
    """
    running, place = _RUNNING.get(), str(home.root)
    if place in running or _lease(home) is None:
        yield
        return
    with _shared(home):
        lease = _lease(home)
        if lease is not None:
            _refuse_draining(lease)
            require_time(home, lease)
            note_pending(home)
        token = _RUNNING.set({**running, place: lease})
        try:
            yield
        except BaseException:
            with suppress(HomeError, OSError):
                _publish(home, lease, timeout_s)
            raise
        finally:
            _RUNNING.reset(token)
        _publish(home, lease, timeout_s)


def await_operations(home: Home, timeout_s: float) -> bool:
    """Wait until no operation runs in *home*, and return whether none does. A draining lease keeps new ones away."""
    until = time.monotonic() + timeout_s
    descriptor = storage.open_to_append(home.machine / _LOCK)
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(_POLL_S)
    finally:
        os.close(descriptor)


def _publish(home: Home, before: Lease | None, timeout_s: float) -> None:
    with hold(home.lock, timeout_s):
        lease = _lease(home)
        if lease is not None:
            _refuse_other(before, lease)
            require_time(home, lease)
            publish(home, lease)


@contextmanager
def _shared(home: Home) -> Iterator[None]:
    """Hold the lock of operations together with other operations. It is free when nothing is given away."""
    descriptor = storage.open_to_append(home.machine / _LOCK)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NotHeld(f"{home.root} is being moved to another host. Try again in a moment") from error
        yield
    finally:
        os.close(descriptor)


def _lease(home: Home) -> Lease | None:
    """Return the lease of *home*, or ``None`` for a home that no fleet serves.

    Raises:
        NotHeld: the home is not here any more, or its lease does not count here.
    """
    lease = read_lease(home)
    if lease is None and not os.path.lexists(home.root):
        raise NotHeld(f"{home.root} is not here any more. `memory fleet status` says which host has the home")
    return lease


def _refuse_other(before: Lease | None, lease: Lease) -> None:
    """Refuse an operation that began under another lease: what it has read may not be what is here now."""
    if before is not None and (before.epoch, before.incarnation) != (lease.epoch, lease.incarnation):
        raise NotHeld(f"the home {lease.home} was taken over anew while this ran, so this was not stored. Try again")


def _refuse_draining(lease: Lease) -> None:
    if lease.state == "draining":
        raise NotHeld(f"the home {lease.home} is being moved to another host. Try again in a moment")
