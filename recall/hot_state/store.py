"""Own the interface between the policy of the hot state and the place where its values are kept.

The policy (``recall.hot_state.state``) owns names, sizes, the guard and the time to live. A store keeps texts: a
SQLite file of this machine (``sqlite_store``) or Redis (``redis_store``). ``shared_store`` puts the file in Redis's
place while the server does not answer. ``tests/recall/hot_state/test_store.py`` holds all of them to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_home.errors import HomeError

__all__ = ["MOST_ITEMS", "HotStateRefused", "HotStore", "HotValue", "Kind", "OnProblem", "require_room", "unsaid"]

Kind = Literal["context", "tool"]
OnProblem = Callable[[str], object]
#: Values of a session.
MOST_ITEMS = 256


class HotStateRefused(HomeError):
    """A value cannot be set as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HotValue:
    """A value as a store keeps it. Its place is *session*, *kind* and *name* together, and any text may be in them.

    *text* is the value as JSON. *audience* is who set it. *written* and *ends* are seconds since 1970. A value is alive
    while *ends* lies in the future.
    """

    session: str
    kind: Kind
    name: str
    text: str
    audience: str
    written: float
    ends: float

    @property
    def place(self) -> tuple[str, Kind, str]:
        """Session, kind and name, which tell it from other values and order them."""
        return self.session, self.kind, self.name


class HotStore(Protocol):
    """A place where the values of one home are kept. It may be shared between threads and between processes.

    A damaged part of a store is emptied or left out, because all of it is over soon.

    Raises:
        apsw.Error: any method, where the file of this machine is needed and cannot be used.
        ServerUnavailable, NoServer: any method of the store in Redis.
    """

    @property
    def problem(self) -> str:
        """The reason why the last call did without the place that is configured, or nothing."""
        ...

    def put(self, session: str, values: Sequence[HotValue], *, now: float, extend_to: float = 0.0) -> None:
        """Keep *values*, which are all of *session*: either every one or, after an error, none.

        A value in the same place is replaced. Every value of the session's context that is alive lives until
        *extend_to* at least.

        Raises:
            HotStateRefused: the session would have more than :data:`MOST_ITEMS` values that are alive.
        """
        ...

    def values(self, sessions: Collection[str] | None, now: float, on_problem: OnProblem) -> list[HotValue]:
        """Return what is alive of these sessions, or with ``None`` of all, by session, kind and name.

        *on_problem* gets what a person should know of values that are left out.
        """
        ...

    def value(self, session: str, kind: Kind, name: str, now: float) -> HotValue | None:
        """Return one value, or ``None`` where it is absent or its time is over."""
        ...

    def delete(self, session: str, name: str, now: float) -> int:
        """Delete a value of the context, or with an empty *name* all of the session. Return how many were alive."""
        ...


def require_room(count: int) -> None:
    """Check the number of values that a session would have.

    Raises:
        HotStateRefused: they are too many.
    """
    if count > MOST_ITEMS:
        raise HotStateRefused(f"a session keeps at most {MOST_ITEMS} values. See `memory context delete`")


def unsaid(_problem: str) -> None:
    """Leave a problem to others."""
