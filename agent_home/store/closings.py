"""Record of the messages that are closed: by the daily log, its ledger, and the bytes that this machine has closed.

Two machines may hold different messages of one session. So a closing names its messages by digests of their ids and
words, in ``ledger/closings-DAY.jsonl``, in the commit that writes its section of the daily log. A row counts while
its section is there: ``git revert`` takes both back, together with the entries. A section without a row is of an
earlier version, and its bytes count.

Entries that a person took back must stay away, so each closing is also recorded in ``closings.jsonl``, outside
git, with the byte of this machine's transcript that it reached. Losing that file loses this protection and nothing
else. A closing whose commit is on the home's branch no more, after a reset for example, does not count: its session is
closed again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from .. import storage
from ..clock import parse_time
from ..documents.daily_log import Closing, anchor_of, covers_session, daily_files, parse_closings
from ..errors import HistoryError
from ..git import history
from ..home import Home
from . import transcript
from .branch import tip, tip_in_file
from .transcript import Turn

if TYPE_CHECKING:
    from .gateway import Transaction
    from .transcript import Message

__all__ = [
    "ClosedParts",
    "absent_transcripts",
    "closed_here",
    "closed_parts",
    "first_day",
    "lost",
    "message_digest",
    "note",
    "open_sessions",
    "record",
]

_RECORD = "closings.jsonl"
#: The start of a line as :func:`record` writes it.
_SESSION_FIRST = re.compile(rb'\{"session": ("(?:[^"\\]|\\.)*")')
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedParts:
    """The closed parts of each session: its bytes up to an end, and messages by their digests.

    *ends* and *named* are by session. *unnamed* holds the ends of sessions whose names the guard redacted, by their
    first byte and the anchor of their section.
    """

    ends: Mapping[str, int] = field(default_factory=dict)
    named: Mapping[str, Collection[str]] = field(default_factory=dict)
    unnamed: Mapping[tuple[int, str], int] = field(default_factory=dict)

    def end_of(self, session: str) -> int:
        """Return the byte of *session*'s transcript up to which everything is closed."""
        ends = [self.unnamed.get((start, anchor_of(session, start)), 0) for start in {at for at, _ in self.unnamed}]
        return max(self.ends.get(session, 0), *ends, 0)

    def fresh(self, session: str, turns: Sequence[Turn]) -> list[Turn]:
        """Return those of *turns* that no closing covers, in their order.

        *turns* are the whole transcript, or its part from :meth:`end_of` on. Where no line ends at that byte, the
        transcript was shortened and written to again, so that only messages named by a closing are closed.
        """
        end, named = self.end_of(session), self.named.get(session, ())
        if not any(end in {turn.start, turn.end} for turn in turns):
            end = 0
        return [turn for turn in turns if turn.start >= end and not (named and message_digest(turn.message) in named)]


def closed_parts(
    home: Home, since: str = "", *, recorded: bool = True, sessions: Collection[str] | None = None
) -> ClosedParts:
    """Read what is closed from daily files dated *since* or later, their ledger, and this machine's record.

    Without *recorded*, closings that were reverted count no more. With *sessions*, the record is read for these alone:
    it has a line for every closing there ever was.

    Raises:
        DocumentInvalid: a daily file of these days, or a ledger, is not UTF-8.
    """
    ends: dict[str, int] = {}
    named: dict[str, set[str]] = {}
    unnamed: dict[tuple[int, str], int] = {}
    for session, end in _recorded(home, sessions) if recorded else ():
        ends[session] = max(end, ends.get(session, 0))
    rows = _ledger_rows(home, since)
    for path in daily_files(home):
        if path.stem < since:
            continue
        for closing in _of_day(storage.read_text(path), path.stem):
            if not covers_session(closing, closing.session):
                key = (closing.start, closing.recorded_anchor)
                unnamed[key] = max(closing.end, unnamed.get(key, 0))
            elif (digests := rows.get((path.stem, closing.recorded_anchor))) is not None:
                named.setdefault(closing.session, set()).update(digests)
            else:
                ends[closing.session] = max(closing.end, ends.get(closing.session, 0))
    return ClosedParts(ends=ends, named=named, unnamed=unnamed)


def open_sessions(home: Home) -> list[tuple[str, list[Turn]]]:
    """Return the sessions with turns that no closing covers, and these turns, by time of the first one, then by name.

    This machine's record answers for the sessions that it closed. Daily logs are read only for the others, from the
    first day under which one of them can be filed. So the cost is that of new turns, and one look at each transcript's
    size.
    """
    recorded = closed_here(home)
    unsure = [
        (file.session, turns)
        for file in transcript.sessions(home)
        if _has_more(file, recorded.get(file.session, 0)) and (turns := transcript.read(file.path))
    ]
    if not unsure:
        return []
    closed = closed_parts(home, min(first_day(turns) for _, turns in unsure))
    waiting = [(session, closed.fresh(session, turns)) for session, turns in unsure]
    found = [(session, turns) for session, turns in waiting if turns]
    return sorted(found, key=lambda one: (one[1][0].message.ts, one[0]))


def absent_transcripts(home: Home) -> str:
    """Say that the transcripts are not there although this machine closed some, and what to do. Else return nothing.

    A folder that is not mounted, or that may not be read, looks as if every session was closed.
    """
    known = {session for session, _, _ in _rows(_record_bytes(home))}
    if not known:
        return ""
    try:
        if not home.sessions.is_dir():
            state = "is not there"
        elif transcript.count(home):
            return ""
        else:
            state = "holds no transcript"
    except OSError as error:
        state = f"cannot be read ({error.strerror or error})"
    return (
        f"{home.sessions} {state}, but this machine closed {len(known)} of its sessions. Mount the folder, or give"
        f" yourself the right to read it. If you deleted the transcripts, remove {home.machine / _RECORD} too"
    )


def closed_here(home: Home) -> dict[str, int]:
    """Return the byte up to which this machine closed each session's transcript."""
    ends: dict[str, int] = {}
    for session, end in _recorded(home):
        ends[session] = max(end, ends.get(session, 0))
    return ends


def message_digest(message: Message) -> str:
    """Return eight letters that name *message* by its session, id and words, on every machine.

    There are no digits in it, which the guard could take for a telephone number.
    """
    said = f"{message.session}\0{message.id}\0{message.content}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=4).hexdigest().translate(_LETTERS)


def note(edits: Transaction, closing: Closing, turns: Iterable[Turn]) -> None:
    """Name the *turns* that *closing* covers in its ledger, in the transaction that writes its section."""
    row = {"closing": f"{closing.date}#{closing.anchor}", "messages": [message_digest(turn.message) for turn in turns]}
    edits.append(_ledger(closing.date), [row])


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
    return sorted({session for session, _, commit in _rows(_record_bytes(home)) if commit in gone})


def _has_more(file: transcript.SessionFile, end: int) -> bool:
    """Return whether a transcript that was closed up to byte *end* may hold turns that are not.

    A transcript that is shorter, or that has no line with this end, was shortened by something else.
    """
    if file.size == end:
        return False
    return file.size < end or not transcript.ends_line(file.path, end) or bool(transcript.read(file.path, end))


def _recorded(home: Home, sessions: Collection[str] | None = None) -> Iterator[tuple[str, int]]:
    """Yield session and end of every readable line of the record that is not lost, of *sessions* alone if given."""
    rows = list(_rows(_record_bytes(home), sessions))
    try:
        gone = _lost_commits(home) if rows else frozenset[str]()
    except HistoryError:  # a prompt needs no git, and a write that does stops
        gone = frozenset()
    yield from ((session, end) for session, end, commit in rows if commit not in gone)


def _record_bytes(home: Home) -> bytes:
    try:
        return storage.read_state(home.machine / _RECORD)
    except FileNotFoundError:
        return b""


def _rows(data: bytes, sessions: Collection[str] | None = None) -> Iterator[tuple[str, int, str]]:
    """Yield session, end and commit of the readable lines of *data*. Lines of other *sessions* are not parsed."""
    lines = data.splitlines()
    if sessions is not None:
        spelled = (json.dumps(name, ensure_ascii=escaped) for name in sessions for escaped in (True, False))
        names = {name.encode("utf-8", "surrogatepass") for name in spelled}
        lines = [line for line in lines if not (name := _session_in(line)) or name in names]
    for line in lines:
        try:
            row = json.loads(line)
            session, end, commit = row["session"], row["end"], row.get("commit") or ""
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if isinstance(session, str) and isinstance(end, int) and isinstance(commit, str):
            yield session, end, commit


def _session_in(line: bytes) -> bytes:
    """Return the name of the session in a line of the record, as JSON, or nothing where the line has another form."""
    match = _SESSION_FIRST.match(line)
    return match[1] if match else b""


def _ledger(day: str) -> str:
    return f"ledger/closings-{day}.jsonl"


def _ledger_rows(home: Home, since: str) -> dict[tuple[str, str], set[str]]:
    """Return the digests of messages by day and anchor of their closing. A line that cannot be read is no row."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in home.files("ledger", "closings-*.jsonl"):
        named = path.stem.removeprefix("closings-")  # a day, and a month in homes of earlier versions
        if named < since[: len(named)]:
            continue
        for line in storage.read_text(path).splitlines():
            try:
                row = json.loads(line)
                day, _, anchor = row["closing"].partition("#")
                digests = {digest for digest in row["messages"] if isinstance(digest, str)}
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            found.setdefault((day, anchor), set()).update(digests)
    return found


def _lost_commits(home: Home) -> frozenset[str]:
    """Return the recorded commits that are not on the home's branch.

    What was found is kept for a tip of it. While it goes forward, only new lines of the record are looked at. Where the
    file of the branch names the tip that was looked at, git is not asked.
    """
    cache = home.machine / "closings.checked"
    try:
        checked = json.loads(storage.read_state(cache))
        known, read, gone = str(checked["head"]), int(checked["bytes"]), set[str](checked["lost"])
    except (OSError, ValueError, KeyError, TypeError):
        known, read, gone = "", 0, set()
    if known and known == tip_in_file(home):
        return frozenset(gone)
    head = tip(home)
    if not head or known == head:
        return frozenset(gone)
    data = _record_bytes(home)
    if not known or read > len(data) or not history.descends(home.root, head, known):
        read, gone = 0, set()
    commits = [commit for _, _, commit in _rows(data[read:]) if re.fullmatch(r"[0-9a-f]{40,64}", commit)]
    gone |= history.unreachable(home.root, commits, head) if commits else set()
    whole = data.rfind(b"\n") + 1
    storage.write_cache(cache, json.dumps({"head": head, "bytes": whole, "lost": sorted(gone)}).encode())
    return frozenset(gone)


@lru_cache(maxsize=32)
def _of_day(text: str, date: str) -> tuple[Closing, ...]:
    """Return the closings of one daily file. They are kept, because a warm process reads the same days repeatedly."""
    return tuple(parse_closings(text, date))
