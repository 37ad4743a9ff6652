"""Read the event log: the newest events that fit, and those that come."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .. import storage
from ..home import Home
from .event import LoggedEvent, parse_line
from .recording import event_files

__all__ = ["EventFilter", "events", "follow_events"]

_POLL_S = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """A choice of events: those for which everything holds that is given. *start* belongs to it, and *end* does not."""

    type: str = ""
    session: str = ""
    start: datetime | None = None
    end: datetime | None = None

    def fits(self, event: LoggedEvent) -> bool:
        """Return whether *event* is chosen."""
        return (
            (not self.type or event.type == self.type)
            and (not self.session or event.session == self.session)
            and (self.start is None or event.moment >= self.start)
            and (self.end is None or event.moment < self.end)
        )

    def marks(self) -> tuple[bytes, ...]:
        """Return what the line of a chosen event holds. Only lines that do are parsed."""
        return tuple(json.dumps(text).encode() for text in (self.type, self.session) if text)


def events(
    home: Home, wanted: EventFilter = EventFilter(), *, limit: int = 100, most_bytes: int | None = None
) -> list[LoggedEvent]:
    """Return the newest events that *wanted* chooses, at most *limit*, in the order in which they happened.

    Lines that are damaged are left out. After *most_bytes* of the log, no further file of it is read.
    """
    found: deque[LoggedEvent] = deque()
    marks = wanted.marks()
    read_bytes = 0
    for path in reversed(event_files(home)):
        if most_bytes is not None and read_bytes >= most_bytes:
            break
        lines = _lines(path)
        read_bytes += sum(map(len, lines))
        for line in reversed(lines):
            event = parse_line(line) if all(mark in line for mark in marks) else None
            if event is not None and wanted.fits(event):
                found.appendleft(event)
                if len(found) >= limit:
                    return list(found)
    return list(found)


def follow_events(
    home: Home, wanted: EventFilter = EventFilter(), *, ended: Callable[[], bool] = lambda: False
) -> Iterator[LoggedEvent]:
    """Return an iterator over the events that come from this call on, until *ended* returns true.

    A file that becomes full meanwhile is read to its end first.
    """
    newest = home.machine / "events.jsonl"
    return _followed(home, wanted, ended, newest, *_state(newest))


def _followed(
    home: Home, wanted: EventFilter, ended: Callable[[], bool], newest: Path, inode: int, offset: int
) -> Iterator[LoggedEvent]:
    while not ended():
        now_inode, _ = _state(newest)
        if inode and now_inode != inode:
            old = next((path for path in event_files(home) if _state(path)[0] == inode), None)
            yield from _chosen(_from(old, offset)[0] if old else (), wanted)
            inode, offset = 0, 0
        if now_inode and not inode:
            inode, offset = now_inode, 0
        if inode:
            lines, offset = _from(newest, offset)
            yield from _chosen(lines, wanted)
        time.sleep(_POLL_S)


def _chosen(lines: tuple[bytes, ...] | list[bytes], wanted: EventFilter) -> Iterator[LoggedEvent]:
    for line in lines:
        event = parse_line(line)
        if event is not None and wanted.fits(event):
            yield event


def _state(path: Path) -> tuple[int, int]:
    """Return the inode and the size of a file, or zeros."""
    with suppress(OSError):
        status = path.stat()
        return status.st_ino, status.st_size
    return 0, 0


def _lines(path: Path) -> list[bytes]:
    with suppress(OSError):
        return storage.read_bytes(path).splitlines()
    return []


def _from(path: Path, offset: int) -> tuple[list[bytes], int]:
    """Return the whole lines of a file from *offset* on, and where they end."""
    with suppress(OSError), storage.open_file(path) as file:
        file.seek(offset)
        data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        return whole.splitlines(), offset + len(whole)
    return [], offset
