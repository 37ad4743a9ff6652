"""Own what an event is, and its line in the log."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..clock import parse_time

__all__ = ["EVENT_TYPE", "EVENT_TYPES", "LoggedEvent", "parse_line"]

#: Types of the events that this program records. Programs may log events of other types.
EVENT_TYPES = (
    "append", "archival", "checkpoint", "citation", "closing", "fetch", "output", "prompt", "prune", "review",
    "verdict", "write",
)  # fmt: skip
#: What a type may be called.
EVENT_TYPE = re.compile(r"[a-z][a-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """Something that happened.

    Attributes:
        id: its name, which no other event has.
        ts: when, ISO 8601 with microseconds and zone.
        type: one of :data:`EVENT_TYPES`, or a program's own.
        session: the session in which it happened, or empty.
        details: what it was about, as JSON types: ids, counts and kinds, and no text of memory.
    """

    id: str
    ts: str
    type: str
    session: str
    details: Mapping[str, Any]

    @property
    def moment(self) -> datetime:
        """The time at which it happened."""
        return parse_time(self.ts)

    def line(self) -> bytes:
        """Return the event as a line of the log."""
        row = {"id": self.id, "ts": self.ts, "type": self.type, "session": self.session, "details": dict(self.details)}
        return json.dumps(row).encode() + b"\n"


def parse_line(line: bytes) -> LoggedEvent | None:
    """Return the event in a *line* of the log, or ``None`` for a line that a killed process or a bad disk left."""
    try:
        row = json.loads(line)
        event = LoggedEvent(**{key: row[key] for key in ("id", "ts", "type", "session", "details")})
        whole = all(isinstance(value, str) for value in (event.id, event.ts, event.type, event.session))
        return event if whole and isinstance(event.details, dict) and event.moment else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
