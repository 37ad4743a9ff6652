"""How far each session is closed: what the daily log says, and what this machine remembers of it.

The daily log is in git, and ``git revert`` takes a closing's watermark back together with its entries. What a person
took back must stay away, so each closing is also written down in ``.memory/closings.jsonl``, which git does not know;
the larger watermark counts. Losing that file loses this protection and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from .. import storage
from ..clock import parse_time
from ..documents.daily_log import Closing, anchor_of, covers_session, daily_files, parse_closings
from ..home import Home
from . import transcript
from .transcript import Turn

__all__ = ["ClosedEnds", "closed_ends", "first_day", "open_sessions", "record", "recorded_end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedEnds:
    """The byte up to which each session is closed.

    *named* is by session; *unnamed* are closings whose session's name the guard took for something private, by where
    they start and the anchor of their section.
    """

    named: Mapping[str, int] = field(default_factory=dict)
    unnamed: Mapping[tuple[int, str], int] = field(default_factory=dict)

    def of(self, session: str) -> int:
        """The end of *session*'s furthest closing; 0 for a session that was never closed."""
        ends = [self.unnamed.get((start, anchor_of(session, start)), 0) for start in {at for at, _ in self.unnamed}]
        return max(self.named.get(session, 0), *ends, 0)


def closed_ends(home: Home, since: str = "") -> ClosedEnds:
    """How far every session is closed, by daily files dated *since* or later and by this machine's own record.

    Raises:
        DocumentInvalid: a daily file of these days is not UTF-8.
    """
    named: dict[str, int] = {}
    unnamed: dict[tuple[int, str], int] = {}
    for session, end in _recorded(home):
        named[session] = max(end, named.get(session, 0))
    for path in daily_files(home):
        if path.stem < since:
            continue
        for closing in _of_day(storage.read_text(path), path.stem):
            if covers_session(closing, closing.session):
                named[closing.session] = max(closing.end, named.get(closing.session, 0))
            else:
                key = (closing.start, closing.recorded_anchor)
                unnamed[key] = max(closing.end, unnamed.get(key, 0))
    return ClosedEnds(named=named, unnamed=unnamed)


def open_sessions(home: Home) -> list[tuple[str, list[Turn]]]:
    """The sessions with turns that no closing covers, and these turns; by the time of the first of them, then by name.

    What this machine closed itself it knows from its own record; daily logs are read only for the others, from the
    first day that one of them can be filed under. So this costs what is new, and a look at each transcript's size.
    """
    recorded: dict[str, int] = {}
    for session, end in _recorded(home):
        recorded[session] = max(end, recorded.get(session, 0))
    unsure = []
    for file in transcript.sessions(home):
        start = recorded.get(file.session, 0)
        if file.size > start and transcript.read(file.path, start):
            unsure.append((file.session, transcript.read(file.path)))
    if not unsure:
        return []
    ends = closed_ends(home, min(first_day(turns) for _, turns in unsure))
    starts = [(session, turns, ends.of(session)) for session, turns in unsure]
    waiting = [(session, [turn for turn in turns if turn.start >= start]) for session, turns, start in starts]
    found = [(session, turns) for session, turns in waiting if turns]
    return sorted(found, key=lambda one: (one[1][0].message.ts, one[0]))


def first_day(turns: Sequence[Turn]) -> str:
    """A date before which no closing of these turns can be filed, so that older days need not be read; else empty.

    A closing is filed under a message's date, in some zone; a message without a time is filed under any day.
    """
    times = [turn.message.ts for turn in turns]
    with suppress(ValueError):
        for ts in times:
            parse_time(ts)
        return (min(datetime.fromisoformat(ts).date() for ts in times) - timedelta(days=2)).isoformat()
    return ""


def recorded_end(home: Home, session: str) -> int:
    """The byte up to which this machine itself closed *session*, whatever git says now; 0 when it did not."""
    return max((end for name, end in _recorded(home, json.dumps(session).encode()) if name == session), default=0)


def record(home: Home, closing: Closing, commit: str | None, now: datetime) -> None:
    """Write down that *closing* was committed. Call with the lock held, after the commit."""
    row = {
        "session": closing.session, "start": closing.start, "end": closing.end, "commit": commit,
        "ts": now.isoformat(),
    }  # fmt: skip
    storage.append(home.machine / "closings.jsonl", json.dumps(row).encode() + b"\n")


def _recorded(home: Home, naming: bytes = b"") -> Iterator[tuple[str, int]]:
    """Session and end of every line of the record that can be read, and that holds *naming*."""
    path = home.machine / "closings.jsonl"
    if not path.is_file():
        return
    for line in path.read_bytes().splitlines():
        if naming not in line:
            continue
        try:
            row = json.loads(line)
            session, end = row["session"], row["end"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(session, str) and isinstance(end, int):
            yield session, end


@lru_cache(maxsize=32)
def _of_day(text: str, date: str) -> tuple[Closing, ...]:
    """Kept, because a warm process reads the same days again and again."""
    return tuple(parse_closings(text, date))
