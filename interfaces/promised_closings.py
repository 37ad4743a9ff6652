"""Own the closings that a service has promised: each lies in the home's machine state until it is done.

A service that is asked to end by a signal finishes the closings that run. It leaves the others, and so does one that is
killed. The next service of the home works them off. Closing twice adds nothing.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from agent_home import storage
from agent_home.home import Home
from agent_home.lease.operation import operation

__all__ = ["PromisedClosing", "forget_promise", "left_closings", "promise"]

_FOLDER = "promised-closings"
#: Seconds after which a closing that always failed is given up. Its transcript stays.
_KEPT_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedClosing:
    """A closing that *caller* asked for, whose answers are for *audience*. *id* is that of its job.

    *at* is the time of the request, in seconds since 1970.
    """

    id: str
    session: str
    caller: str
    audience: str
    at: float


def promise(home: Home, session: str, *, caller: str, audience: str) -> PromisedClosing:
    """Write down that *session* will be closed.

    Raises:
        OSError: it could not be written, so nothing is promised.
        NotHeld, NotPublished: a fleet serves the home, and this host may not write it, or its remote did not take it.
    """
    made = PromisedClosing(id=uuid.uuid4().hex[:16], session=session, caller=caller, audience=audience, at=time.time())
    path = _path(home, made.id)
    staged = path.with_suffix(".tmp")
    with operation(home):
        try:
            storage.stage(staged, json.dumps(asdict(made)).encode())
            storage.replace(staged, path)
        finally:
            staged.unlink(missing_ok=True)
    return made


def left_closings(home: Home) -> list[PromisedClosing]:
    """Return the closings that were promised in *home* and are not done, oldest first. Each is kept for 30 days."""
    found = []
    for path in (home.machine / _FOLDER).glob("*.json"):
        try:
            row = PromisedClosing(**json.loads(storage.read_state(path)))
        except (OSError, ValueError, TypeError, RecursionError):
            continue
        texts = (row.id, row.session, row.caller, row.audience)
        if not (all(isinstance(text, str) for text in texts) and isinstance(row.at, float) and path.stem == row.id):
            continue
        if time.time() - row.at > _KEPT_S:
            path.unlink(missing_ok=True)
            continue
        found.append(row)
    return sorted(found, key=lambda row: (row.at, row.id))


def forget_promise(home: Home, promised: PromisedClosing) -> None:
    """Drop a promise that is kept."""
    storage.remove(_path(home, promised.id))


def _path(home: Home, job_id: str) -> Path:
    return home.machine / _FOLDER / f"{job_id}.json"
