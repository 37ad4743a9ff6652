"""Own the pause of the cyclic garbage collector while a prompt or a view of the page is made.

A prompt makes some ten thousand objects that live as long as it takes, and references alone free them all. The
collector would look at them, and at every object that the process keeps, again and again. That took a tenth of the time
of most prompts, and half of the time of one in five.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]

_HELD = threading.Lock()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector for the block. A collector that was off stays off.

    One thread at a time holds a pause. Others do not extend it, so that the collector runs in a busy process as well.
    """
    if not gc.isenabled() or not _HELD.acquire(blocking=False):
        yield
        return
    try:
        gc.disable()
        yield
    finally:
        gc.enable()
        _HELD.release()
