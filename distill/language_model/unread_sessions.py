"""List of session parts that a configured model has not read yet, because it gave no answer when they were closed.

The rules closed these parts. The nightly run lets the model read them again. The list is machine state.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from agent_home import storage
from agent_home.home import Home
from agent_home.store.machine_state import hold_home

__all__ = ["UnreadPart", "forget_unread", "note_unread", "unread_parts"]

_FILE = "unread.json"
#: Older parts are forgotten when a model stays away for long.
_MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPart:
    """The bytes from *start* to *end* of the transcript of *session*."""

    session: str
    start: int
    end: int


def unread_parts(home: Home) -> list[UnreadPart]:
    """Return the unread parts, oldest first. A damaged list is empty."""
    try:
        rows = json.loads(storage.read_state(home.machine / _FILE))
        return [UnreadPart(session=str(name), start=int(start), end=int(end)) for name, start, end in rows]
    except (OSError, ValueError, TypeError):
        return []


def note_unread(home: Home, part: UnreadPart) -> None:
    """Add *part* to the list.

    Raises:
        Locked, OSError: the list cannot be written.
    """
    with hold_home(home):
        parts = unread_parts(home)
        if part not in parts:
            _write(home, [*parts, part][-_MOST:])


def forget_unread(home: Home, part: UnreadPart) -> None:
    """Remove *part* from the list.

    Raises:
        Locked, OSError: the list cannot be written.
    """
    with hold_home(home):
        _write(home, [known for known in unread_parts(home) if known != part])


def _write(home: Home, parts: list[UnreadPart]) -> None:
    rows = [(part.session, part.start, part.end) for part in parts]
    staged = home.machine / f"{_FILE}.new"
    storage.stage(staged, json.dumps(rows).encode())
    storage.replace(staged, home.machine / _FILE)
