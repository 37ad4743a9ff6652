"""Own how often a person may do something that costs the owner: call the agent, begin a thread, leave a note."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

__all__ = ["Allowance"]

#: People of whom is known what they did. Those of whom nothing was heard for longest are forgotten first.
_MOST_PEOPLE = 5_000


class Allowance:
    """Lets each person do something *most* times within *per_s* seconds."""

    def __init__(self, most: int, per_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._per_s = per_s
        self._clock = clock
        self._done: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, person: str) -> bool:
        """Return whether *person* may do it now, and count it then."""
        with self._lock:
            done = self._done.pop(person, deque[float]())
            self._done[person] = done
            if len(self._done) > _MOST_PEOPLE:
                self._done.popitem(last=False)
            while done and done[0] <= self._clock() - self._per_s:
                done.popleft()
            if len(done) >= self._most:
                return False
            done.append(self._clock())
            return True
