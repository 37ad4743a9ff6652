"""Own what is known about sessions of hosts that are not closed yet: which ones, and whether saving them fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from agent_home import storage
from agent_home.home import Home

from .queue import ended, folder

__all__ = ["OpenSession", "capture_problem", "ending_sessions", "read_open", "write_open"]

_FILE = "open.json"
#: A failure counts when it happened this often, because a locked home or a lagging file is no reason to worry.
_FAILURES = 3
#: Seconds after which a session that cannot be saved is given up. Its host's file stays.
_GIVEN_UP_S = timedelta(days=30).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session of a host that is not closed yet. *at* is the time of its last event, in seconds since 1970.

    *last_message* is an answer that the host's file lacked. In the record it is as the guard left it, and *said* is a
    salted digest of the words before that.
    """

    host: str
    session: str
    transcript: str
    cwd: str
    at: float
    ended: bool = False
    last_message: str = ""
    said: str = ""
    failures: int = 0
    problem: str = ""


def read_open(root: Path) -> dict[str, OpenSession]:
    """Return the sessions that are not closed yet, by host and session. A damaged record has none."""
    try:
        rows = json.loads(storage.read_state(folder(root) / _FILE))
        found = {key: OpenSession(**row) for key, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {key: item for key, item in found.items() if _is_whole(item)}


def _is_whole(item: OpenSession) -> bool:
    """Return whether the values of *item* have the types that they should have."""
    texts = (item.host, item.session, item.transcript, item.cwd, item.last_message, item.said, item.problem)
    numbers = isinstance(item.at, float | int) and isinstance(item.failures, int) and isinstance(item.ended, bool)
    return numbers and all(isinstance(text, str) for text in texts)


def write_open(root: Path, sessions: Mapping[str, OpenSession], now: float) -> None:
    """Write the sessions that are not closed yet. One that could not be saved for 30 days is given up.

    Raises:
        OSError: nothing was written.
    """
    kept = {key: asdict(item) for key, item in sessions.items() if now - item.at < _GIVEN_UP_S}
    path = folder(root) / _FILE
    staged = path.with_name(f"{_FILE}.tmp")
    storage.stage(staged, json.dumps(kept).encode())
    storage.replace(staged, path)


def ending_sessions(home: Home) -> frozenset[str]:
    """Return the sessions of hosts that ended and will be closed within moments: nobody left them open."""
    recorded = (item.session for item in read_open(home.root).values() if item.ended and not item.failures)
    return frozenset(recorded) | ended(home.root)


def capture_problem(home: Home) -> str:
    """Return one line when sessions cannot be saved, or an empty text."""
    failing = [item for item in read_open(home.root).values() if item.failures >= _FAILURES]
    if not failing:
        return ""
    reason = failing[-1].problem
    return f"Memory of {len(failing)} earlier sessions could not be saved: {reason}. Tell the user: `memory doctor`."
