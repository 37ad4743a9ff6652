"""Measure whether the time of a function grows with the length of a text, and not with its square."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

__all__ = ["is_linear"]

_ROUNDS = 4


def is_linear(work: Callable[[str], object], unit: str, chars: int) -> bool:
    """Return whether *work* takes a text of *unit*, four times as long as *chars*, at most eight times the time.

    Quadratic growth is sixteen times. The constant allows for the clock.
    """

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        begun = time.thread_time()
        work(text)
        return time.thread_time() - begun

    collects = gc.isenabled()
    gc.disable()  # a collection looks at everything that the process holds
    try:
        seconds(len(unit))
        short = long = float("inf")
        for _ in range(_ROUNDS):
            short, long = min(short, seconds(chars)), min(long, seconds(4 * chars))
            if long < 8 * short + 0.05:
                return True
        return False
    finally:
        if collects:
            gc.enable()
