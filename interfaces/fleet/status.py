"""The state of a fleet: hosts, homes, leases and the queue, for a person and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agent_home.git.isolation import without_credentials

from ..counts import counted
from .queue import QueueState, queue_state
from .registry import Registry, RegistryHome, RegistryHost

__all__ = ["FleetState", "fleet_state", "state_data", "state_lines"]

#: Homes of which lines are printed, those with a problem first. JSON has all of them.
_MOST_HOMES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetState:
    """Everything that ``memory fleet status`` shows."""

    hosts: tuple[RegistryHost, ...]
    homes: tuple[RegistryHome, ...]
    queue: QueueState

    @property
    def is_troubled(self) -> bool:
        """True when a home has no host or a problem, or a nightly run failed."""
        return bool(self.queue.failed) or any(not home.host or home.problem for home in self.homes)


def fleet_state(registry: Registry, url: str) -> FleetState:
    """Return the state of the fleet.

    Raises:
        RecallError: the registry does not answer.
    """
    return FleetState(hosts=tuple(registry.hosts()), homes=tuple(registry.homes()), queue=queue_state(url))


def state_data(state: FleetState) -> dict[str, Any]:
    """Return the state as JSON, without passwords of remotes."""
    homes = [{**asdict(home), "remote": without_credentials(home.remote)} for home in state.homes]
    for row in homes:
        row["lease_seconds"] = round(row.pop("seconds"), 1)
    hosts: list[Mapping[str, Any]] = [
        {**asdict(host), "seconds": round(host.seconds, 1), "live": host.seconds > 0} for host in state.hosts
    ]
    return {"hosts": hosts, "homes": homes, "queue": asdict(state.queue)}


def state_lines(state: FleetState) -> Iterator[str]:
    """Yield the state as lines for a person."""
    yield counted(len(state.hosts), "host")
    for host in state.hosts:
        live = f"session for {host.seconds:.0f} s" if host.seconds > 0 else "not live"
        draining = ", gives its homes away" if host.draining else ""
        yield f"  {host.name:20} {counted(host.homes, 'home'):>11}  {live}{draining}  {host.address}".rstrip()
    lost = sum(not home.host for home in state.homes)
    yield f"{counted(len(state.homes), 'home')}, {lost} without a host"
    for home in sorted(state.homes, key=lambda home: (not home.problem, bool(home.host), home.id))[:_MOST_HOMES]:
        yield f"  {_home_line(home)}"
    if len(state.homes) > _MOST_HOMES:
        yield f"  and {len(state.homes) - _MOST_HOMES} more homes. --json prints them all"
    queue = state.queue
    yield f"nightly runs: {queue.todo} wait, {queue.doing} run, {queue.succeeded} done, {queue.failed} failed"
    for row in queue.failures:
        yield f"  failed   {row['home']} after {row['attempts']} tries, {row['at'][:16]}"


def _home_line(home: RegistryHome) -> str:
    where = home.host or "no host"
    if home.host and not home.arrived:
        where = f"on its way to {home.host}"
    wanted = f", goes to {home.wanted}" if home.wanted and home.wanted != home.host else ""
    leaving = ", leaves the fleet" if home.leaving else ""
    problem = f"  {home.problem}" if home.problem else ""
    return f"{home.id:20} {where}{wanted}{leaving}, epoch {home.epoch}{problem}"
