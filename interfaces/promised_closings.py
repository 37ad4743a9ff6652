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
from typing import TYPE_CHECKING, Any

from agent_home import storage
from agent_home.errors import Locked
from agent_home.home import MEMORY, Home

from .answers import closed_answer
from .api import AgentHome

if TYPE_CHECKING:
    from distill.closing_result import Closed

__all__ = ["PromisedClosing", "keep_promise", "left_closings", "promise"]

_FOLDER = "promised-closings"
#: Times that a closing waits for the lock of the home.
_TRIES = 4


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
    """
    made = PromisedClosing(id=uuid.uuid4().hex[:16], session=session, caller=caller, audience=audience, at=time.time())
    path = _path(home, made.id)
    staged = path.with_suffix(".tmp")
    storage.stage(staged, json.dumps(asdict(made)).encode())
    storage.replace(staged, path)
    return made


def left_closings(home: Home) -> list[PromisedClosing]:
    """Return the closings that an earlier service of *home* promised and did not do, oldest first."""
    found = []
    for path in (home.machine / _FOLDER).glob("*.json"):
        try:
            row = PromisedClosing(**json.loads(storage.read_state(path)))
        except (OSError, ValueError, TypeError, RecursionError):
            continue
        texts = (row.id, row.session, row.caller, row.audience)
        if all(isinstance(text, str) for text in texts) and isinstance(row.at, float) and path.stem == row.id:
            found.append(row)
    return sorted(found, key=lambda row: (row.at, row.id))


def keep_promise(home: Home, promised: PromisedClosing) -> dict[str, Any]:
    """Close the session, and return the answer for the one who asked.

    The promise is kept then, whatever became of it. One that finds the home locked is tried again, and stays for the
    next service if the home stays locked.

    Raises:
        HomeError, DistillError: see :meth:`interfaces.api.AgentHome.close`.
    """
    try:
        done = _closed(home, promised.session)
    except Locked:
        raise
    except Exception:
        storage.remove(_path(home, promised.id))
        raise
    storage.remove(_path(home, promised.id))
    return closed_answer(done) if home.may_read(MEMORY, promised.audience) else {"session": promised.session}


def _closed(home: Home, session: str) -> Closed:
    """Close *session*. Each try waits for the lock, which other closings of a busy service may hold for long."""
    for _ in range(_TRIES - 1):
        try:
            return AgentHome(home).close(session)
        except Locked:
            continue
    return AgentHome(home).close(session)


def _path(home: Home, job_id: str) -> Path:
    return home.machine / _FOLDER / f"{job_id}.json"
