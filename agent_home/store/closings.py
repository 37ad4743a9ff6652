"""Watermarks of sessions: the byte up to which each is closed, by the daily log and by this machine's record.

The daily log is in git, and ``git revert`` takes a closing's watermark back together with its entries. Entries that a
person took back must stay away, so each closing is also recorded in ``.memory/closings.jsonl``, outside git. The larger
watermark counts. Losing that file loses this protection and nothing else. A closing whose commit is on the home's
branch no more, after a reset for example, does not count: its session is closed again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from .. import storage
from ..clock import parse_time
from ..documents.daily_log import Closing, anchor_of, covers_session, daily_files, parse_closings
from ..git import history
from ..home import Home
from . import transcript
from .branch import tip
from .transcript import Turn

__all__ = ["ClosedEnds", "closed_ends", "first_day", "lost", "open_sessions", "record", "recorded_end"]

_RECORD = "closings.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedEnds:
    """The byte up to which each session is closed.

    *named* is by session. *unnamed* holds the closings of sessions whose names the guard redacted, by their first byte
    and the anchor of their section.
    """

    named: Mapping[str, int] = field(default_factory=dict)
    unnamed: Mapping[tuple[int, str], int] = field(default_factory=dict)

    def of(self, session: str) -> int:
        """Return the end of *session*'s furthest closing, or 0 for a session that was never closed."""
        ends = [self.unnamed.get((start, anchor_of(session, start)), 0) for start in {at for at, _ in self.unnamed}]
        return max(self.named.get(session, 0), *ends, 0)


def closed_ends(home: Home, since: str = "") -> ClosedEnds:
    """Read the watermarks of all sessions from daily files dated *since* or later and from this machine's record.

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
    """Return the sessions with turns that no closing covers, and these turns, by time of the first one, then by name.

    This machine's record answers for the sessions that it closed. Daily logs are read only for the others, from the
    first day under which one of them can be filed. So the cost is that of new turns, and one look at each transcript's
    size.
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
    """Return a date before which no closing of these turns can be filed, or an empty text. Older days need not be read.

    A closing is filed under a message's date, in some zone. A message without a time is filed under any day.
    """
    times = [turn.message.ts for turn in turns]
    with suppress(ValueError):
        for ts in times:
            parse_time(ts)
        return (min(datetime.fromisoformat(ts).date() for ts in times) - timedelta(days=2)).isoformat()
    return ""


def recorded_end(home: Home, session: str) -> int:
    """Return the byte up to which this machine closed *session*, whatever git says now, or 0."""
    return max((end for name, end in _recorded(home, json.dumps(session).encode()) if name == session), default=0)


def record(home: Home, closing: Closing, commit: str | None, now: datetime) -> None:
    """Record that *closing* was committed. Call with the lock held, after the commit."""
    row = {
        "session": closing.session, "start": closing.start, "end": closing.end, "commit": commit,
        "ts": now.isoformat(),
    }  # fmt: skip
    storage.append(home.machine / _RECORD, json.dumps(row).encode() + b"\n")


def lost(home: Home) -> list[str]:
    """Return the sessions whose recorded closings are on the home's branch no more, ordered by name.

    Raises:
        HistoryError: git is absent or refused.
    """
    gone = _lost_commits(home)
    return sorted({session for session, _, commit in _rows(home) if commit in gone})


def _recorded(home: Home, naming: bytes = b"") -> Iterator[tuple[str, int]]:
    """Yield session and end of every readable line of the record that contains *naming* and is not lost."""
    rows = list(_rows(home, naming))
    gone = _lost_commits(home) if rows else frozenset[str]()
    yield from ((session, end) for session, end, commit in rows if commit not in gone)


def _rows(home: Home, naming: bytes = b"") -> Iterator[tuple[str, int, str]]:
    path = home.machine / _RECORD
    if not path.is_file():
        return
    for line in path.read_bytes().splitlines():
        if naming not in line:
            continue
        try:
            row = json.loads(line)
            session, end, commit = row["session"], row["end"], row.get("commit") or ""
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if isinstance(session, str) and isinstance(end, int) and isinstance(commit, str):
            yield session, end, commit


def _lost_commits(home: Home) -> frozenset[str]:
    """Return the recorded commits that are not on the home's branch.

    What was found is kept for a tip of it. While it goes forward, only new lines of the record are looked at.
    """
    head = tip(home)
    cache = home.machine / "closings.checked"
    try:
        checked = json.loads(cache.read_bytes())
        known, count, gone = str(checked["head"]), int(checked["rows"]), set[str](checked["lost"])
    except (OSError, ValueError, KeyError, TypeError):
        known, count, gone = "", 0, set()
    if not head or known == head:
        return frozenset(gone)
    commits = [commit for _, _, commit in _rows(home) if re.fullmatch(r"[0-9a-f]{40,64}", commit)]
    if not known or not history.descends(home.root, head, known):
        count, gone = 0, set()
    gone |= history.unreachable(home.root, commits[count:], head)
    storage.write_cache(cache, json.dumps({"head": head, "rows": len(commits), "lost": sorted(gone)}).encode())
    return frozenset(gone)


@lru_cache(maxsize=32)
def _of_day(text: str, date: str) -> tuple[Closing, ...]:
    """Return the closings of one daily file. They are kept, because a warm process reads the same days repeatedly."""
    return tuple(parse_closings(text, date))
