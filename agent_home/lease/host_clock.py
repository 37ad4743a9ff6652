"""A clock of this machine that all of its processes share, and that no change of the date moves."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from .. import storage

__all__ = ["boot", "elapsed"]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
#: Counts while the machine sleeps. Systems without it have a clock that stops then, and a lease may seem longer there.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def elapsed() -> float:
    """Return the seconds since this machine was started."""
    return time.clock_gettime(_CLOCK)


@cache
def boot() -> str:
    """Return a name of this start of the machine. Times of :func:`elapsed` compare only under the same name."""
    try:
        return storage.read_bytes(_BOOT_ID).decode("ascii").strip()
    except (OSError, ValueError):  # another system than Linux: the minute in which it was started
        return f"minute {round((time.time() - elapsed()) / 60)}"
