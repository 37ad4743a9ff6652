"""Own the store of a home: Redis where ``AGENT_HOME_REDIS_URL`` names one, else the file of this machine.

While the server does not answer, the file takes its place at once. What was written into the file goes to Redis with
the first call that reaches the server, and of two values in one place the one that was written last stays.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import apsw

from agent_home import storage
from agent_home.errors import Locked, MachineKeyUnusable
from agent_home.home import Home

from ..errors import RecallError
from ..servers import REDIS_VARIABLE, NoServer, ServerUnavailable, redis_url, without_password
from .home_key import HomeKey, KeyRefused, KnownKey, Owed, ensure_key, owe, paid, use_key
from .redis_server import redis_server
from .redis_store import RedisStore
from .sqlite_store import FILE, HotStateFile
from .store import HotStore, HotValue, Kind, OnProblem, unsaid
from .time_limit import within

if TYPE_CHECKING:
    from .redis_server import Client

__all__ = ["OUTAGE", "PROMPT_S", "WRITE_S", "HotStateKept", "RedisState", "SharedStore"]

#: Seconds that a prompt waits at most, and one that sets values.
PROMPT_S, WRITE_S = 0.2, 0.5
#: The file that says since when this machine does without the server.
OUTAGE = "hot-state-outage.json"
#: Key of a probe, which lives for a second.
_PROBE = "probe"
#: Errors after which the file of this machine takes Redis's place.
_ABSENT = (NoServer, ServerUnavailable, MachineKeyUnusable, Locked, OSError)
T = TypeVar("T")


class HotStateKept(RecallError):
    """Redis may keep values that were to be deleted."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}. What Redis keeps was not deleted. Run it again when Redis answers")
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisState:
    """The server of a home: its *address* without a password, empty without one, and what is wrong, or nothing.

    *since* is the time since which this machine does without it, in ISO 8601, or nothing. *ms* is how long the answer
    took. *used* says whether the home has used Redis, and *owed* whether something is still to be deleted there.
    """

    address: str
    problem: str = ""
    since: str = ""
    ms: float = 0.0
    used: bool = False
    owed: bool = False


class SharedStore:
    """The store of *home*. An object may be shared between threads."""

    def __init__(self, home: Home) -> None:
        self._home, self._key = home, KnownKey(home)
        self._file = HotStateFile(home.machine, self._prefix)
        self._outage = home.machine / OUTAGE
        self._noted: bool | None = None
        self._problem = ""

    @property
    def problem(self) -> str:
        """The reason why the last call did without Redis, or nothing."""
        return self._problem

    def put(self, session: str, values: Sequence[HotValue], *, now: float, extend_to: float = 0.0) -> None:
        """Keep values of a session (:meth:`recall.hot_state.store.HotStore.put`)."""
        self._either(
            lambda store: store.put(session, values, now=now, extend_to=extend_to), now, limit_s=WRITE_S, writes=True
        )  # fmt: skip

    def values(self, sessions: Collection[str] | None, now: float, on_problem: OnProblem = unsaid) -> list[HotValue]:
        """Return what is alive (:meth:`recall.hot_state.store.HotStore.values`), of named sessions within 0.2 s."""
        limit = PROMPT_S if sessions is not None else 0.0
        found, problem = self._either(lambda store: store.values(sessions, now, on_problem), now, limit_s=limit)
        if problem:
            on_problem(problem)
        return found

    def value(self, session: str, kind: Kind, name: str, now: float) -> HotValue | None:
        """Return one value (:meth:`recall.hot_state.store.HotStore.value`)."""
        return self._either(lambda store: store.value(session, kind, name, now), now, limit_s=PROMPT_S)[0]

    def delete(self, session: str, name: str, now: float) -> int:
        """Delete values of a session (:meth:`recall.hot_state.store.HotStore.delete`).

        Raises:
            HotStateKept: Redis may keep such values. Those in the file of this machine are deleted.
        """
        count, problem = self._either(lambda store: store.delete(session, name, now), now)
        if problem and self._key.get() is not None:
            raise HotStateKept(problem)
        return count

    def settle(self) -> None:
        """Write everything into the file itself, with copies of what is in Redis, so that a copy of the file has it.

        Raises:
            apsw.Error: another process is using the file, or it cannot be written.
        """
        key = self._key.get()
        if redis_url() and key is not None:
            values, problem = self._either(lambda store: store.values(None, time.time(), unsaid), time.time())
            if not problem:
                self._file.copy(values, key.prefix)
        self._file.settle()

    def drop(self, what: Owed = "all") -> str:
        """Delete everything of the home, or its references to outputs alone, and return what is left to say.

        What cannot be deleted in Redis now is deleted before Redis is used again.
        """
        if what == "all":
            for path in self._home.machine.glob(f"{FILE}*"):
                path.unlink(missing_ok=True)
        try:
            key = owe(self._home, what)
            if key is None:
                return ""
            if not redis_url():
                raise NoServer(f"{REDIS_VARIABLE} is not set here, and this home has kept hot state in Redis")
            self._pay(RedisStore(redis_server(redis_url()), key), key)
        except _ABSENT as error:
            return f"{_line(error)}. What Redis keeps of this home is deleted before it is read again"
        return ""

    def use_key(self, text: str) -> None:
        """Do :func:`recall.hot_state.use_hot_state_key`."""
        known = self._key.get()
        left = self.drop(known.owed) if known is not None and known.owed else ""
        if left:
            raise KeyRefused(
                f"the key was not changed, because something has to be deleted under the earlier one: {left}"
            )
        use_key(self._home, text)

    def ask_redis(self, work: Callable[[Client, HomeKey], T], *, makes_key: bool = False) -> T | None:
        """Return what *work* returns for the client and the home's key, within 0.2 s, or ``None`` without an answer.

        A home without a key has nothing in Redis, so nothing is asked, unless *makes_key*.
        """
        url, key = redis_url(), self._key.get()
        if not url or (key is None and not makes_key):
            return None
        try:
            server = redis_server(url)
            key = key or ensure_key(self._home)
            with within(PROMPT_S):
                if key.owed:
                    self._pay(RedisStore(server, key), key)
                found = server.run(partial(_with_key, work=work, key=key))
        except _ABSENT as error:
            self._note_outage(_outage(error))
            return None
        self._note_answer()
        return found

    def state(self) -> RedisState:
        """Ask the server whether it answers and takes writes, also while it is left alone."""
        url, key = redis_url(), self._key.get()
        used, owed = key is not None, bool(key and key.owed)
        if not url:
            return RedisState(address="", used=used, owed=owed)
        shown, began = without_password(url), time.perf_counter()
        try:
            server = redis_server(url)
            began = time.perf_counter()
            with within(PROMPT_S):
                server.ask(lambda client: client.set(f"{key.prefix}:{_PROBE}", b"", px=1000) if key else client.ping())
        except _ABSENT as error:
            self._note_outage(_outage(error))
            return RedisState(address=shown, problem=_line(error), since=self._since(), used=used, owed=owed)
        self._note_answer()
        return RedisState(address=shown, ms=(time.perf_counter() - began) * 1000, used=used, owed=owed)

    def _either(
        self, work: Callable[[HotStore], T], now: float, *, limit_s: float = 0.0, writes: bool = False
    ) -> tuple[T, str]:
        """Return what *work* returns for the store in Redis, or else for the file and why.

        Args:
            work: gets a store. It may be called a second time, with the file.
            now: the present.
            limit_s: seconds for everything that Redis is asked. 0 limits only each question.
            writes: a home that never used Redis uses it from now on.
        """
        url = redis_url()
        if not url:
            self._problem = ""
            return work(self._file), ""
        try:
            found = self._in_redis(url, work, now, limit_s, writes=writes)
        except _ABSENT as error:
            problem = _outage(error)
            self._note_outage(problem)
            return work(self._file), problem
        return found, ""

    def _in_redis(self, url: str, work: Callable[[HotStore], T], now: float, limit_s: float, *, writes: bool) -> T:
        key = self._key.get()
        if key is None and not writes and self._file_is_empty():  # nothing was ever kept, so nothing is asked
            self._problem = ""
            return work(self._file)
        server = redis_server(url)  # loading the client is no waiting for the server
        if key is not None and key.owed and writes:  # a prompt has no time for a look at every key of a large server
            self._pay(RedisStore(server, key), key)
            key = self._key.get() or key
        with within(limit_s) if limit_s else nullcontext():
            key = key or ensure_key(self._home)
            store = RedisStore(server, key)
            if key.owed:
                self._pay(store, key)
            if not self._file_is_empty():
                self._move(store, now)
            found = work(store)
        self._note_answer()
        return found

    def _pay(self, store: RedisStore, key: HomeKey) -> None:
        store.clear("" if key.owed == "all" else "output:")
        paid(self._home, key)

    def _move(self, store: RedisStore, now: float) -> None:
        """Move what the file keeps into Redis, a session at a time, so that each call gets on with it."""
        with suppress(apsw.Error):  # the next call tries again
            found = self._file.values(None, now)
            for session in dict.fromkeys(value.session for value in found):
                own = [value for value in found if value.session == session]
                store.merge(own, now)
                self._file.forget(own, now)
            if not found:
                self._file.forget([], now)

    def _file_is_empty(self) -> bool:
        with suppress(apsw.Error):
            return self._file.is_empty
        return True

    def _prefix(self) -> str:
        key = self._key.get()
        return key.prefix if key else ""

    def _note_outage(self, problem: str) -> None:
        self._problem = problem
        if self._noted is not True:
            self._noted = True
            with suppress(OSError):
                if not self._outage.exists():
                    row = {"since": datetime.now(UTC).isoformat(timespec="seconds"), "problem": problem}
                    storage.write_cache(self._outage, json.dumps(row).encode())

    def _note_answer(self) -> None:
        self._problem = ""
        if self._noted is not False:
            self._noted = False
            with suppress(OSError):
                self._outage.unlink(missing_ok=True)

    def _since(self) -> str:
        try:
            return str(json.loads(storage.read_state(self._outage))["since"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""


def _with_key(client: Client, work: Callable[[Client, HomeKey], T], key: HomeKey) -> T:
    return work(client, key)


def _outage(error: Exception) -> str:
    return f"{_line(error)}. Meanwhile hot state is kept in a file of this machine"


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")
