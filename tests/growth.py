"""Measure whether the time of a function grows with the length of a text, and not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["is_linear"]


def is_linear(work: Callable[[str], object], unit: str, chars: int) -> bool:
    """Return whether *work* takes a text of *unit*, four times as long as *chars*, at most eight times the time.

    Quadratic growth is sixteen times. The constant allows for the clock.
    """

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        begun = time.thread_time()
        work(text)
        return time.thread_time() - begun

    seconds(len(unit))
    short = min(seconds(chars) for _ in range(3))
    return any(seconds(4 * chars) < 8 * short + 0.05 for _ in range(2))
