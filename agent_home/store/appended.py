"""Record of how far each transcript was written on this machine: machine state, one line for each append.

Transcripts are not in git, so a shorter or deleted one looks as if nothing had been said. The record lets
``memory doctor`` name it. It is bounded: only transcripts that nobody wrote to for a long time drop out of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass

from .. import storage
from ..home import Home

__all__ = ["Written", "note", "shortened"]

_RECORD = "appended.jsonl"
#: Size from which on the record is reduced to one line for each transcript: some thirty thousand appends.
MAX_RECORD_BYTES = 2 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The *size* in bytes to which this machine wrote the transcript *path* of *session*."""

    session: str
    path: str
    size: int


def note(home: Home, written: Written) -> None:
    """Record how far a transcript is written. Call with the lock held, after the append."""
    record, line = home.machine / _RECORD, _line(written)
    if record.exists() and record.stat().st_size + len(line) > MAX_RECORD_BYTES:
        storage.write_cache(record, _reduced(_latest(home)))
    storage.append(record, line)


def shortened(home: Home) -> list[Written]:
    """Return what was recorded of the transcripts that are shorter now, or are not there, ordered by path."""
    short = [written for written in _latest(home) if _size_of(home, written.path) < written.size]
    return sorted(short, key=lambda written: written.path)


def _size_of(home: Home, path: str) -> int:
    try:
        return (home.root / path).stat().st_size
    except FileNotFoundError:
        return 0


def _latest(home: Home) -> list[Written]:
    """Return the last row of each transcript, the one that was written longest ago first."""
    found: dict[str, Written] = {}
    with suppress(FileNotFoundError):
        for line in storage.read_bytes(home.machine / _RECORD).splitlines():
            with suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                written = Written(session=str(row["session"]), path=str(row["path"]), size=int(row["size"]))
                found.pop(written.path, None)
                found[written.path] = written
    return list(found.values())


def _line(written: Written) -> bytes:
    return json.dumps(asdict(written)).encode() + b"\n"


def _reduced(rows: Iterable[Written]) -> bytes:
    """Return the lines of *rows*, without the oldest ones if they take more than half of the record's room."""
    lines = [_line(written) for written in rows]
    while sum(map(len, lines)) > MAX_RECORD_BYTES // 2:
        del lines[: len(lines) // 2 + 1]
    return b"".join(lines)
