"""Run the doctor's checks of a home beside the requests, because a large home takes seconds for them."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agent_home.home import Home

from ..doctor.health import Check, examine

__all__ = ["CheckRun", "forget_checks", "latest_checks"]

#: Seconds that a request waits for checks that run, and the age after which they run again.
_WAIT_S = 0.1
_OLD_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """The last finished checks of a home and when they began. *running* says that newer ones are on their way."""

    checks: Sequence[Check] = ()
    at: datetime | None = None
    running: bool = False


class _Checks:
    """The checks of one home: the last result, and the thread that makes the next one."""

    def __init__(self) -> None:
        self.result = CheckRun()
        self.thread: threading.Thread | None = None


_known: dict[Path, _Checks] = {}
_lock = threading.Lock()


def latest_checks(home: Home, now: datetime) -> CheckRun:
    """Return the last checks of *home*, and start new ones where they are a minute old. Waits a tenth of a second."""
    with _lock:
        known = _known.setdefault(home.root, _Checks())
        at = known.result.at
        if known.thread is None and (at is None or abs((now - at).total_seconds()) > _OLD_S):
            known.thread = threading.Thread(target=_run, args=(known, Home(home.root), now), name="checks")
            known.thread.start()
        thread = known.thread
    if thread is not None:
        thread.join(_WAIT_S)
    with _lock:
        return CheckRun(checks=known.result.checks, at=known.result.at, running=known.thread is not None)


def forget_checks(home: Home) -> None:
    """Let the next request run the checks anew, because something was mended."""
    with _lock:
        known = _known.get(home.root)
        if known is not None:
            known.result = CheckRun(checks=known.result.checks)


def _run(known: _Checks, home: Home, now: datetime) -> None:
    try:
        found: Sequence[Check] = examine(home, now)
    except Exception as error:  # noqa: BLE001 - nothing else hears of it in a thread: the page says so
        found = [Check(name="checks", status="failed", detail=_place(error))]
    with _lock:
        known.result, known.thread = CheckRun(checks=found, at=now), None


def _place(error: Exception) -> str:
    """Return what *error* is and where it was raised. Its message may hold memory."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"they ended with {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}. Run `memory doctor`"
