"""Show how far long work is, in one line of standard error that is replaced and at the end removed.

Where standard error is no terminal, nothing is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .columns import fitted
from .render import clear_progress, line_width, shows_progress, write_progress

__all__ = ["ProgressMeter"]

#: Seconds between two updates, and before the first rate is worth reading.
_BETWEEN_S, _RATE_AFTER_S = 0.1, 1.0


class ProgressMeter:
    """A line such as ``vectors: 512 of 3000, 310/s, 8 s left``. A step that is complete removes it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._what = ""
        self._begun = self._told = 0.0
        self._first = 0

    def __call__(self, what: str, done: int, total: int = 0, *, note: str = "") -> None:
        """Say that of *what*, *done* steps are done, of *total* if that is known. *note* stands at the end."""
        if not shows_progress():
            return
        now = self._clock()
        if what != self._what:
            self._what, self._begun, self._told, self._first = what, now, 0.0, done
        if total and done >= total:
            clear_progress()
            self._what = ""
        elif now - self._told >= _BETWEEN_S:
            self._told = now
            write_progress(fitted(self._line(done, total, note, now), line_width(error=True) - 1))

    def _line(self, done: int, total: int, note: str, now: float) -> str:
        parts = [f"{self._what}: {done} of {total}" if total else f"{self._what}: {done}"]
        elapsed, steps = now - self._begun, done - self._first
        if elapsed >= _RATE_AFTER_S and steps > 0:
            rate = steps / elapsed
            parts.append(f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
            if total:
                parts.append(_left((total - done) / rate))
        return ", ".join([*parts, *([note] if note else [])])


def _left(seconds: float) -> str:
    return f"{seconds:.0f} s left" if seconds < 100 else f"{seconds / 60:.0f} min left"
