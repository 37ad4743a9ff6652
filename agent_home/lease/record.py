"""The record of a lease in the machine state of a home, and that of the session of its host.

The host renews one session for all of its homes, so a lease of a home is valid while the session of its host is. Both
records are signed with the machine key for the folder that they lie in. A copy of a home therefore has no valid lease.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from .. import storage
from ..consent.signed_record import read_record, try_write_record, write_record
from ..errors import NotHeld
from ..home import Home
from ..machine_key import key_path
from .host_clock import boot, elapsed

__all__ = [
    "HostSession",
    "Lease",
    "LeaseState",
    "forget_lease",
    "read_lease",
    "read_session",
    "require_time",
    "seconds_left",
    "write_lease",
    "write_session",
]

_LEASE, _SESSION = "lease", "session"
#: ``held``: this host writes the home. ``draining``: what runs may finish, and nothing new begins. ``left``: another
#: host writes the home, or none does.
LeaseState = Literal["held", "draining", "left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The lease of the home *home* on the host *host*.

    Attributes:
        home: the name of the home in the registry.
        host: the name of the host.
        incarnation: the life of the host that got the lease.
        epoch: the fencing token. Each new holder gets a larger one.
        remote: the address of the git repository that every write of the home reaches before it counts.
        folder: the folder in which the host keeps its session.
        state: whether the home may be written.
    """

    home: str
    host: str
    incarnation: str
    epoch: int
    remote: str
    folder: str
    state: LeaseState = "held"

    def with_state(self, state: LeaseState) -> Lease:
        """Return the same lease in another state."""
        return replace(self, state=state)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSession:
    """The session of a host in the registry: the host writes until *until*, by the clock of this start of the machine.

    *until* is earlier than the end of the session by the clock of the registry.
    """

    host: str
    incarnation: str
    boot: str
    until: float


def read_lease(home: Home) -> Lease | None:
    """Return the lease of *home*, or ``None`` for a home that no fleet serves.

    Raises:
        NotHeld: there is a record of a lease, and this machine did not write it for this folder.
    """
    machine = home.machine
    if not os.path.lexists(f"{machine}/{_LEASE}.json"):
        return None
    record = read_record(machine, _LEASE)
    if record is None:
        problem = (
            f"{home.root} is a copy of a home that a fleet serves, or {key_path()} is not the machine key of the fleet."
            " In the folder of a host, set AGENT_HOME_STATE as its processes do. To use a copy as a home of its own,"
            f" remove {machine / f'{_LEASE}.json'}"
        )
        raise NotHeld(problem)
    try:
        return Lease(**record)
    except TypeError as error:
        raise NotHeld(f"the lease in {machine} is of another version. Update agent-home on this host") from error


def write_lease(home: Home, lease: Lease) -> None:
    """Write the record of *lease* durably. Call with the write lock of the home held, or before others see the home.

    Raises:
        MachineKeyUnusable: nothing can be signed on this machine.
    """
    write_record(home.machine, _LEASE, asdict(lease))


def forget_lease(home: Home) -> None:
    """Make *home* a home that no fleet serves. Call with the write lock of the home held."""
    storage.remove(home.machine / f"{_LEASE}.json")


def read_session(folder: Path) -> HostSession | None:
    """Return the session that the host keeps in *folder*, or ``None`` where there is none that counts here."""
    record = read_record(folder, _SESSION)
    return None if record is None else HostSession(**record)


def write_session(folder: Path, session: HostSession) -> bool:
    """Write the session of the host, and return whether it could be written. Without it, nothing is written.

    It needs not outlast a power cut, because no session outlasts the machine's end.
    """
    return try_write_record(folder, _SESSION, asdict(session), durable=False)


def seconds_left(lease: Lease) -> float:
    """Return for how many seconds the host may write the home. 0 means that it may not."""
    session = read_session(Path(lease.folder))
    if lease.state == "left" or session is None or session.boot != boot() or session.incarnation != lease.incarnation:
        return 0.0
    return max(0.0, session.until - elapsed())


def require_time(home: Home, lease: Lease) -> None:
    """Refuse a write that this host may not make.

    Raises:
        NotHeld: another host serves the home, or the lease ended because the registry could not be reached.
    """
    if lease.state == "left":
        raise NotHeld(
            f"the home {lease.home} is no longer on this host, and {home.root} is an old copy. `memory fleet status`"
            " says which host has it"
        )
    if not seconds_left(lease):
        raise NotHeld(
            f"the lease of the home {lease.home} on the host {lease.host} has ended, so nothing is written here. Check"
            " that `memory fleet host` runs on this host and reaches the registry. Reading goes on"
        )
