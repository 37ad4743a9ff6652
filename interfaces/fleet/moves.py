"""Moves of homes, as a person asks for them. The hosts carry them out, so a move outlives the one who asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .errors import NoSuchHost, NotInFleet, UnknownHost
from .placement import placed
from .registry import Registry, RegistryHome

__all__ = ["PlannedMove", "await_move", "drain_host", "move", "plan_rebalance"]

_POLL_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMove:
    """A home that goes from one host to another."""

    home: str
    start: str
    to: str


def move(registry: Registry, home: str, to: str) -> None:
    """Let *home* go to the host *to*. Asking again changes nothing.

    Raises:
        NoSuchHost: *to* is not live, or gives its homes away.
        NotInFleet: there is no such home.
    """
    places = registry.places()
    if to not in places:
        raise NoSuchHost(to, sorted(places))
    registry.want(home, to)


def await_move(registry: Registry, home: str, to: str, timeout_s: float, say: Callable[[str], None]) -> bool:
    """Wait until the host *to* serves *home*, for *timeout_s* seconds at most, and return whether it does.

    *say* gets what keeps the home from being served.
    """
    until, said = time.monotonic() + timeout_s, ""
    while True:
        holder = registry.holder(home)
        if holder is not None and holder.arrived and holder.host == to:
            return True
        problem = _problem(registry.homes(), home)
        if problem and problem != said:
            said = problem
            say(problem)
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL_S)


def plan_rebalance(registry: Registry) -> list[PlannedMove]:
    """Return the moves that bring every home to its place among the live hosts."""
    places = registry.places()
    found = ((home, placed(home.id, places)) for home in registry.homes() if home.host and not home.leaving)
    return [PlannedMove(home=home.id, start=home.host, to=to) for home, to in found if to not in {"", home.host}]


def drain_host(registry: Registry, host: str, *, draining: bool) -> None:
    """Let *host* give its homes away and take none, or take homes again.

    Raises:
        UnknownHost: there is no host of that name.
    """
    if not registry.drain(host, draining=draining):
        raise UnknownHost(host)


def _problem(homes: Sequence[RegistryHome], name: str) -> str:
    for home in homes:
        if home.id == name:
            return home.problem
    raise NotInFleet(name)
