"""Own the queue of host events in a home's machine state: hooks append to it within a moment, a worker empties it.

A hook has a second or less, and its host may kill it. So it writes one line and goes. Imports nothing slow.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_home.git_folder import state_folder

from .event import HostEvent

__all__ = [
    "ERRORS",
    "MOST_CHARS",
    "append",
    "drop",
    "ended",
    "folder",
    "forget_first_prompt",
    "is_first_prompt",
    "note_error",
    "take",
    "waits",
]

_QUEUE, _TAKEN = "queue.jsonl", "taken.jsonl"
#: Log of hooks that failed: a time, the kind of the error and its place, one a line.
ERRORS = "hooks.log"
_MAX_LOG_BYTES = 64 << 10
#: Characters of a last message that are kept. A longer one stands in the transcript.
MOST_CHARS = 200_000


def folder(root: Path) -> Path:
    """Return the folder of host events of the home *root*."""
    return state_folder(root) / "hosts"


def append(root: Path, event: HostEvent) -> None:
    """Append *event* to the queue.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    row = {"at": time.time(), **event._asdict(), "prompt": "", "last_message": event.last_message[:MOST_CHARS]}
    place = folder(root)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    _append(place / _QUEUE, json.dumps(row).encode() + b"\n")


def note_error(root: Path, line: str) -> None:
    """Append *line* to the log of hooks that failed, which begins anew when it is large.

    Raises:
        OSError: the folder cannot be written.
    """
    path = folder(root) / ERRORS
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > _MAX_LOG_BYTES:
        path.unlink()
    _append(path, f"{line}\n".encode())


def take(root: Path) -> list[dict[str, Any]]:
    """Return the queued events, oldest first, and those of a worker that died, and keep them until :func:`drop`.

    A line that was cut off is left out.
    """
    from agent_home import storage  # hooks do without it

    place = folder(root)
    queue, taken = place / _QUEUE, place / _TAKEN
    if queue.exists() and queue.stat().st_size:
        descriptor = _open_locked(queue)
        try:
            _append(taken, storage.read_state(queue), durable=True)
            os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)
    return list(_rows(storage.read_state(taken))) if taken.exists() else []


def ended(root: Path) -> set[str]:
    """Return the sessions whose end waits for a worker, or is worked on now."""
    from agent_home import storage  # hooks do without it

    found: dict[str, bool] = {}
    for name in (_TAKEN, _QUEUE):
        with contextlib.suppress(OSError):
            for row in _rows(storage.read_state(folder(root) / name)):
                found[row["session"]] = row["kind"] == "session-end"
    return {session for session, is_over in found.items() if is_over}


def drop(root: Path) -> None:
    """Forget the events that :func:`take` returned: what they ask for is done."""
    (folder(root) / _TAKEN).unlink(missing_ok=True)


def is_first_prompt(root: Path, session: str) -> bool:
    """Return whether this is the first prompt of *session*, and note that it was."""
    place = folder(root)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(_mark(root, session), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    return True


def forget_first_prompt(root: Path, session: str) -> None:
    """Let the next prompt of *session* be a first one, as after its context was cleared."""
    _mark(root, session).unlink(missing_ok=True)


def _mark(root: Path, session: str) -> Path:
    return folder(root) / f"prompted-{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _rows(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the events in *data*, and leave out what is none."""
    for line in data.split(b"\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and _is_event(row):
            yield row


def _is_event(row: dict[str, Any]) -> bool:
    texts = ("host", "kind", "session", "transcript", "cwd", "last_message")
    return all(isinstance(row.get(name), str) for name in texts) and isinstance(row.get("at"), float)


def waits(root: Path) -> bool:
    """Return whether an event waits for a worker."""
    try:
        return (folder(root) / _QUEUE).stat().st_size > 0
    except OSError:
        return False


def _append(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Append *data* to *path*, or nothing of it."""
    descriptor = _open_locked(path)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":  # a line that was cut off must not take this one along
            data = b"\n" + data
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            if durable:
                os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def _open_locked(path: Path) -> int:
    """Open the queue to append to it, and hold its lock until it is closed."""
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
