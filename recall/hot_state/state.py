"""Own the policy of the hot state: names, sizes, the guard and the time to live, wherever the values are kept.

Values pass the guard when they are set, so a prompt may show them. Nothing is lost with a store: a value ends with its
time to live.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw

from agent_home.home import Home

from .clean_values import CleanNames, clean_value, require_name
from .shared_store import RedisState, SharedStore
from .store import HotStateRefused, HotStore, HotValue, Kind, OnProblem, unsaid

__all__ = [
    "CONTEXT_S",
    "TOOL_S",
    "HotItem",
    "HotState",
    "drop_hot_state",
    "hot_state",
    "redis_state",
    "settle_hot_state",
    "shared_store",
    "use_hot_state_key",
]

#: Seconds for which a value lives: context, and results of tools.
CONTEXT_S, TOOL_S = 3600.0, 1800.0
_LEAST_S, _MOST_S = 1.0, 30 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HotItem:
    """A value of the hot state. *left_s* are the seconds for which it lives on. *audience* is who set it."""

    session: str
    kind: Kind
    name: str
    value: Any
    audience: str
    left_s: float


class HotState:
    """The hot state of one home. Use :func:`hot_state`. An object may be shared between threads.

    *store* is where values are kept, by default in Redis where an address is set, else in a file of this machine.
    """

    def __init__(self, home: Home, *, clock: Callable[[], float] = time.time, store: HotStore | None = None) -> None:
        self._home, self._clock = home, clock
        self._store: HotStore = store or SharedStore(home)
        self._clean_names = CleanNames(home)

    @property
    def problem(self) -> str:
        """The reason why the last call did without the Redis server that is configured, or nothing."""
        return self._store.problem

    def set_context(
        self, session_id: str, context: Mapping[str, Any], *, ttl_s: float = CONTEXT_S, audience: str = "owner"
    ) -> None:
        """Set values of the working context of a session, and let all of its context live for *ttl_s* seconds more.

        Raises:
            HotStateRefused: a value is no JSON, too large, or one too many; or *ttl_s* is out of range.
            GuardRefused: the guard holds a value back.
        """
        self._set(session_id, "context", context, ttl_s, audience, extend=True)

    def set_value(
        self, session_id: str, name: str, value: Any, *, ttl_s: float = CONTEXT_S, audience: str = "owner"
    ) -> None:
        """Set one value of the working context, which lives for *ttl_s* seconds.

        Raises:
            HotStateRefused, GuardRefused: see :meth:`set_context`.
        """
        self._set(session_id, "context", {name: value}, ttl_s, audience)

    def get_context(self, session_id: str) -> dict[str, Any]:
        """Return the working context of a session, by name."""
        return {item.name: item.value for item in self.items(session_id) if item.kind == "context"}

    def set_tool_results(
        self, session_id: str, tool_name: str, result: Any, *, ttl_s: float = TOOL_S, audience: str = "owner"
    ) -> None:
        """Keep what a tool returned, for *ttl_s* seconds.

        Raises:
            HotStateRefused, GuardRefused: see :meth:`set_context`.
        """
        self._set(session_id, "tool", {tool_name: result}, ttl_s, audience)

    def get_tool_results(self, session_id: str, tool_name: str) -> Any:
        """Return what a tool returned last, or ``None``."""
        now = self._clock()
        found = self._store.value(session_id, "tool", tool_name, now)
        items = _items([found], now) if found else []
        return items[0].value if items else None

    def delete(self, session_id: str, name: str = "") -> int:
        """Delete a value of the working context, or without *name* everything of a session, and return their number.

        Raises:
            HotStateKept: the Redis server does not answer, and may keep them.
        """
        return self._store.delete(session_id, name, self._clock())

    def items(self, session_id: str | None = None, on_problem: OnProblem = unsaid) -> list[HotItem]:
        """Return the living values of a session, or without one of all sessions, by session, kind and name.

        *on_problem* gets what a person should know: a server that does not answer, or values that are left out.
        """
        return self._items(None if session_id is None else [session_id], on_problem)

    def items_of(self, sessions: Iterable[str], on_problem: OnProblem = unsaid) -> list[HotItem]:
        """Return what :meth:`items` does for several sessions, in one step."""
        return self._items(list(dict.fromkeys(sessions)), on_problem)

    def settle(self) -> None:
        """Write everything into the file of this machine, so that a copy of the file has it.

        Raises:
            apsw.Error: another process is using it, or it cannot be written.
        """
        if isinstance(self._store, SharedStore):
            self._store.settle()

    def _items(self, sessions: Sequence[str] | None, on_problem: OnProblem) -> list[HotItem]:
        now = self._clock()
        return _items(self._store.values(sessions, now, on_problem), now)

    def _set(
        self, session: str, kind: Kind, given: Mapping[str, Any], ttl_s: float, audience: str, *, extend: bool = False
    ) -> None:
        if not _LEAST_S <= ttl_s <= _MOST_S:
            raise HotStateRefused(f"a value lives for {_LEAST_S:g} s to 30 days, not {ttl_s:g} s")
        self._clean_names.require((session, *map(require_name, given)))
        texts = {name: clean_value(self._home, name, value) for name, value in given.items()}
        now = self._clock()
        ends = now + ttl_s
        values = [
            HotValue(session=session, kind=kind, name=name, text=text, audience=audience, written=now, ends=ends)
            for name, text in texts.items()
        ]
        self._store.put(session, values, now=now, extend_to=ends if extend else 0.0)


@lru_cache(maxsize=64)
def _store_of(root: Path) -> SharedStore:
    return SharedStore(Home(root))


def shared_store(home: Home) -> SharedStore:
    """Return the store of *home*. A process has one object for each home."""
    return _store_of(home.root)


@lru_cache(maxsize=64)
def _of(root: Path) -> HotState:
    return HotState(Home(root), store=_store_of(root))


def hot_state(home: Home) -> HotState:
    """Return the hot state of *home*. A process has one object for each home."""
    return _of(home.root)


def settle_hot_state(home: Home) -> None:
    """Write everything into the file of this machine, so that a copy of it has it. A busy file stays as it is."""
    with suppress(apsw.Error):
        shared_store(home).settle()


def drop_hot_state(home: Home) -> tuple[str, ...]:
    """Delete the hot state of *home*, here and in Redis, and return what a person should know of what remains."""
    return tuple(filter(None, (shared_store(home).drop(),)))


def use_hot_state_key(home: Home, text: str) -> None:
    """Keep the key in *text*, which another machine that serves the home printed, in place of this home's own.

    Raises:
        KeyRefused: *text* is no key, or what was forgotten could not be deleted under the earlier key.
        MachineKeyUnusable, Locked: the key cannot be kept.
    """
    shared_store(home).use_key(text)


def redis_state(home: Home) -> RedisState:
    """Ask the Redis server that is configured for *home*, and return whether it answers."""
    return shared_store(home).state()


def _items(values: Sequence[HotValue], now: float) -> list[HotItem]:
    found = []
    for value in values:
        with suppress(ValueError, RecursionError):  # a bit of a file flipped, and the other values are whole
            found.append(
                HotItem(
                    session=value.session, kind=value.kind, name=value.name, value=json.loads(value.text),
                    audience=value.audience, left_s=round(value.ends - now, 1),
                )
            )  # fmt: skip
    return found
