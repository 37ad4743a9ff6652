"""Own what the bot must know after a restart: handled events, its threads, and where memory is off.

One process at a time serves Slack for a home. It holds this record's lock, keeps the rows in memory, and appends a line
for each change. The file is written anew when it has grown. It holds ids, times and names of sessions, and no message.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from agent_home import storage
from agent_home.errors import HomeError, Locked
from agent_home.home import Home
from agent_home.lock import hold

__all__ = ["AlreadyInSlack", "OffPeriod", "SlackRecord", "SlackThread", "slack_record"]

_FOLDER = "slack"
_FILE = "record.jsonl"
#: Events and messages that are known as handled. Slack repeats an event for some hours at most.
_MOST_HANDLED = 20_000
_MOST_THREADS = 2_000
_MOST_PERIODS = 1_000
#: Size at which the file is written anew.
_MOST_BYTES = 8 << 20


class AlreadyInSlack(HomeError):
    """Another process serves Slack for the home."""

    def __init__(self, home: Home) -> None:
        super().__init__(f"another process serves Slack for {home.root}. End it first, or let it go on")
        self.home = home


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackThread:
    """A thread that is a session. *began* is the time stamp of its first kept message.

    *active* is the time of its last message, in seconds since 1970, and *unclosed* says that it has turns to close.
    *audience* is that of the last answer, *shown* what its prompt held, and *told* the problem that the thread was told
    about last. *last_user* wrote last.
    """

    session: str
    channel: str
    thread: str
    began: str
    active: float = 0.0
    unclosed: bool = True
    audience: str = "group"
    shown: tuple[str, ...] = ()
    told: str = ""
    last_user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPeriod:
    """A time during which memory was off in a *channel*, or only in one *thread* of it. Without *until* it still is.

    *by* is the Slack user who switched it off.
    """

    channel: str
    thread: str
    by: str
    since: str
    until: str = ""

    def covers(self, channel: str, thread: str, ts: str) -> bool:
        """Return whether a message with the time stamp *ts* was written while memory was off."""
        where = self.channel == channel and self.thread in {"", thread}
        return where and _number(self.since) <= _number(ts) and (not self.until or _number(ts) < _number(self.until))


@dataclass(slots=True)
class SlackRecord:
    """The record of one home. Its methods may be called from several threads."""

    home: Home
    _handled: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _threads: OrderedDict[str, SlackThread] = field(default_factory=OrderedDict)
    _periods: list[OffPeriod] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def claim(self, key: str) -> bool:
        """Note that the event or message *key* is handled. Return whether nobody has done so before."""
        with self._lock:
            if key in self._handled:
                return False
            self._handled[key] = None
            self._append({"handled": key})
            return True

    def knows(self, key: str) -> bool:
        """Return whether *key* was claimed before."""
        with self._lock:
            return key in self._handled

    def thread(self, session: str) -> SlackThread | None:
        """Return the thread of *session*, or ``None``."""
        with self._lock:
            return self._threads.get(session)

    def threads(self) -> list[SlackThread]:
        """Return all threads, the one that changed last at the end."""
        with self._lock:
            return list(self._threads.values())

    def keep(self, thread: SlackThread) -> None:
        """Keep *thread* in place of what was known about its session."""
        with self._lock:
            if self._threads.get(thread.session) != thread:
                self._threads.pop(thread.session, None)
                self._threads[thread.session] = thread
                self._append({"thread": asdict(thread)})

    def change(self, session: str, **values: Any) -> None:
        """Change *values* of the thread of *session*, if it is known."""
        with self._lock:
            known = self._threads.get(session)
            if known is not None:
                self.keep(replace(known, **values))

    def off_period(self, channel: str, thread: str, ts: str) -> OffPeriod | None:
        """Return the time during which memory was off for a message with the time stamp *ts*, or ``None``."""
        with self._lock:
            return next((period for period in self._periods if period.covers(channel, thread, ts)), None)

    def open_periods(self, channel: str, thread: str) -> list[OffPeriod]:
        """Return what keeps memory off in the thread now."""
        with self._lock:
            return [one for one in self._periods if not one.until and one.covers(channel, thread, one.since)]

    def switch_off(self, channel: str, thread: str, *, by: str, since: str) -> None:
        """Switch memory off in a channel, or with *thread* in one thread of it."""
        with self._lock:
            self._add_period(OffPeriod(channel=channel, thread=thread, by=by, since=since))

    def switch_on(self, channel: str, thread: str, *, until: str) -> None:
        """End what keeps memory off in the thread. Threads are told again when it is off the next time."""
        with self._lock:
            for period in self.open_periods(channel, thread):
                self._add_period(replace(period, until=until))
            for known in self.threads():
                if known.channel == channel and thread in {"", known.thread}:
                    self.keep(replace(known, told=""))

    def _add_period(self, period: OffPeriod) -> None:
        self._periods = [one for one in self._periods if _same(one) != _same(period)]
        self._periods.append(period)
        self._append({"off": asdict(period)})

    def _append(self, row: Mapping[str, Any]) -> None:
        path = self.home.machine / _FOLDER / _FILE
        if path.exists() and path.stat().st_size > _MOST_BYTES:
            self._rewrite()
        else:
            storage.append(path, json.dumps(row).encode() + b"\n")

    def load(self) -> None:
        """Read the file, and write it anew without what is not needed any more."""
        with self._lock:
            with contextlib.suppress(FileNotFoundError):
                for line in storage.read_state(self.home.machine / _FOLDER / _FILE).splitlines():
                    with contextlib.suppress(ValueError, TypeError, RecursionError):
                        self._take(json.loads(line))
            self._rewrite()

    def _take(self, row: Any) -> None:
        if not isinstance(row, dict):
            return
        if isinstance(row.get("handled"), str):
            self._handled[row["handled"]] = None
        elif isinstance(row.get("thread"), dict):
            given = {name: row["thread"][name] for name in _THREAD_KEYS if name in row["thread"]}
            thread = SlackThread(**{**given, "shown": tuple(given.get("shown", ()))})
            self._threads.pop(thread.session, None)
            self._threads[thread.session] = thread
        elif isinstance(row.get("off"), dict):
            period = OffPeriod(**row["off"])
            self._periods = [one for one in self._periods if _same(one) != _same(period)]
            self._periods.append(period)

    def _rewrite(self) -> None:
        """Write the newest rows. Threads that wait for their closing, and places where memory is off, all stay."""
        while len(self._handled) > _MOST_HANDLED:
            self._handled.popitem(last=False)
        done = [session for session, thread in self._threads.items() if not thread.unclosed]
        for session in done[: max(0, len(self._threads) - _MOST_THREADS)]:
            del self._threads[session]
        ended = [period for period in self._periods if period.until]
        dropped = set(map(_same, ended[: max(0, len(self._periods) - _MOST_PERIODS)]))
        self._periods = [period for period in self._periods if _same(period) not in dropped]
        rows: list[Mapping[str, Any]] = [{"handled": key} for key in self._handled]
        rows += [{"thread": asdict(thread)} for thread in self._threads.values()]
        rows += [{"off": asdict(period)} for period in self._periods]
        path = self.home.machine / _FOLDER / _FILE
        staged = path.with_suffix(".tmp")
        storage.make_folder(path.parent)
        storage.stage(staged, b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        storage.replace(staged, path)


_THREAD_KEYS = tuple(item.name for item in fields(SlackThread))


@contextlib.contextmanager
def slack_record(home: Home) -> Iterator[SlackRecord]:
    """Hold the record of *home* for one process.

    Raises:
        AlreadyInSlack: another process holds it.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold(home.machine / _FOLDER / "serving.lock", 0))
        except Locked as error:
            raise AlreadyInSlack(home) from error
        record = SlackRecord(home)
        record.load()
        yield record


def _same(period: OffPeriod) -> tuple[str, str, str]:
    return period.channel, period.thread, period.since


def _number(ts: str) -> tuple[int, int]:
    """Return a time stamp as a number that sorts. A part that is missing is 0."""
    seconds, _, rest = ts.partition(".")
    return int(seconds or 0), int(rest.ljust(6, "0")[:6] or 0)
