"""Append events to the log, ``events.jsonl`` in the machine's state.

The order of lines is the order of events: each line is one write under a lock of the file. The log explains what
happened and is no memory, so it does not wait for the disk, and no write of memory fails because an event could not be
recorded. A full file is renamed to ``events-000001.jsonl`` and so on, and old ones are dropped.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from .. import storage
from ..clock import now as present
from ..errors import GuardRefused, HomeError
from ..home import Home
from ..screening.scan.json_values import is_plain_name, json_without_values
from ..screening.service import ScreeningService
from .event import EVENT_TYPE, EVENT_TYPES, LoggedEvent

__all__ = ["KEEP_DAYS", "EventRefused", "event_files", "log_event", "loggable_details", "record_event"]

#: Days after which a full file is dropped, and files that are kept besides the newest.
KEEP_DAYS, _MOST_FILES = 90, 16
_MOST_FILE_BYTES = 4 << 20
#: Bytes of the details that a program may log, as JSON.
MOST_DETAIL_BYTES = 16 << 10
_ATTEMPTS = 5


class EventRefused(HomeError):
    """A program's event cannot be logged as it is."""


def record_event(
    home: Home,
    type: str,  # noqa: A002
    *,
    session: str = "",
    now: datetime | None = None,
    **details: Any,
) -> str:
    """Append an event of this program, and return its id, or an empty string where the log cannot be written.

    *details* are ids, counts and kinds that hold no text of memory. Those that are ``None`` are left out.
    """
    try:
        known = {name: value for name, value in details.items() if value is not None}
        return _append(home, type, session, now or present(), known)
    except (OSError, ValueError, HomeError):
        return ""


def log_event(
    home: Home, session: str, event_type: str, details: Mapping[str, Any], *, now: datetime | None = None
) -> str:
    """Append a program's event, without secrets and personal data, and return its id.

    Raises:
        EventRefused: *event_type* is no name, or one of this program's, or *details* is no JSON or larger than 16 KB.
        GuardRefused: the guard cannot run, or only several details together are a secret.
        OSError: the log cannot be written.
    """
    checked = loggable_details(event_type, details)
    clean, whole = json_without_values(ScreeningService(home), checked, "tool")
    if not whole:
        raise GuardRefused("the event log", "the details hold a secret in several parts. Leave it out")
    return _append(home, event_type, session, now or present(), clean)


def loggable_details(event_type: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return *details* of a program's event as JSON gives them back.

    Raises:
        EventRefused: see :func:`log_event`.
    """
    if event_type in EVENT_TYPES:
        raise EventRefused(f"{event_type!r} is a type of agent-home's own events. Give yours another name")
    if not EVENT_TYPE.fullmatch(event_type):
        raise EventRefused(f"{event_type[:70]!r} is no type of an event. Write lower case letters, digits, _ . and -")
    try:
        text = json.dumps(dict(details), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise EventRefused(f"the details are no JSON: {error}") from error
    if len(text.encode("utf-8", "surrogatepass")) > MOST_DETAIL_BYTES:
        raise EventRefused(f"the details are larger than {MOST_DETAIL_BYTES >> 10} KB. Store them: memory log")
    checked: dict[str, Any] = json.loads(text)
    return checked


def event_files(home: Home) -> list[Path]:
    """Return the files of the log, oldest first."""
    full = sorted(home.machine.glob("events-[0-9][0-9][0-9][0-9][0-9][0-9].jsonl"))
    newest = home.machine / "events.jsonl"
    return [*full, newest] if newest.exists() else full


def _append(home: Home, type: str, session: str, moment: datetime, details: Mapping[str, Any]) -> str:  # noqa: A002
    event = LoggedEvent(
        id=f"ev-{uuid.uuid4().hex}", ts=moment.isoformat(timespec="microseconds"), type=type,
        session=_safe_session(home, session), details=details,
    )  # fmt: skip
    line = event.line()
    with _locked(home.machine / "events.jsonl") as descriptor:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":  # a killed writer's half line
            line = b"\n" + line
        os.write(descriptor, line)
        if size + len(line) >= _MOST_FILE_BYTES:
            _rotate(home, moment)
    return event.id


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Hold the lock of the newest file. Another process may rename it between opening and locking."""
    for _ in range(_ATTEMPTS):
        descriptor = storage.open_to_append(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    yield descriptor
                    return
        finally:
            os.close(descriptor)
    raise OSError(f"{path} is renamed again and again")


def _rotate(home: Home, moment: datetime) -> None:
    """Give the newest file a number, and drop files that are too old or too many. The lock is held."""
    full = event_files(home)[:-1]
    number = int(full[-1].stem[-6:]) + 1 if full else 1
    (home.machine / "events.jsonl").rename(home.machine / f"events-{number:06d}.jsonl")
    oldest = (moment - timedelta(days=KEEP_DAYS)).timestamp()
    for place, path in enumerate(reversed(full)):
        if place >= _MOST_FILES - 1 or path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def _safe_session(home: Home, session: str) -> str:
    return _screened_name(ScreeningService(home), session) if session else ""


def _screened_name(screening: ScreeningService, session: str) -> str:
    """Return the name of a session without secrets and personal data: programs choose names as they like."""
    text = session[:256]
    return text if is_plain_name(text) else screening.without_values("events.jsonl", text, "tool")[0]
