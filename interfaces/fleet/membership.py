"""Members of a fleet: hosts that join it, and homes that are added to it or leave it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

from agent_home.git.fetching import remote_url
from agent_home.home import Home
from agent_home.lease.host_clock import elapsed
from agent_home.lease.record import Lease, read_lease, read_session
from agent_home.machine_key import KEY_BYTES, adopt_key, key_path, machine_key
from agent_home.moving.departure import NotMovable, entrust

from .errors import FleetError, NotJoined, OtherKey
from .host_folder import HostFolder, HostIdentity, require_address, require_name
from .registry import Registry

__all__ = ["NoSession", "add_home", "adopt_home", "join", "remove_home"]


class NoSession(FleetError):
    """The process of the host does not run, or does not reach the registry."""


def join(registry: Registry, folder: HostFolder, identity: HostIdentity) -> HostIdentity:
    """Make *folder* that of the host *identity*, and give this user the machine key of the fleet.

    Doing it again changes the address and the capacity, from the next start of the host on.

    Raises:
        WrongName, WrongAddress: the name or the address cannot be used.
        OtherKey: this user has another machine key.
        RecallError: the registry does not answer.
    """
    require_name(identity.name)
    if identity.address:
        require_address(identity.address)
    own = machine_key() if key_path().exists() else secrets.token_bytes(KEY_BYTES)
    if not adopt_key(registry.machine_key(own)):
        raise OtherKey(key_path())
    try:
        known = folder.identity()
    except NotJoined:
        known = identity
    same_life = known.incarnation if known.name == identity.name else ""
    made = replace(identity, incarnation=same_life, boot=known.boot)
    folder.keep_identity(made)
    return made


def add_home(registry: Registry, folder: HostFolder, name: str, home: Home, remote: str) -> None:
    """Give *home* to the fleet under *name*, with the git repository *remote* as its keeper.

    Afterwards the folder of *home* is an old copy, unless it lies among the homes of the host that takes it over.
    Doing it again after it was interrupted goes on.

    Raises:
        WrongName: the name cannot be used.
        NotMovable: a part of the home is bound to this machine, the remote has a home already, or the fleet has one of
            that name.
        NoSession: the host does not run.
        HistoryError: the remote cannot be used.
        NotPublished: the remote did not take the home.
    """
    require_name(name)
    address = remote_url(home.root, remote)
    identity, session = folder.identity(), read_session(folder.own)
    if session is None or session.until <= elapsed():
        problem = f"the host {identity.name} does not run, or does not reach the registry"
        raise NoSession(f"{problem}. Start `memory fleet host {folder.root}`")
    if _is_added(registry, name, address, home):
        return
    lease = Lease(
        home=name, host=identity.name, incarnation=session.incarnation, epoch=0, remote=address,
        folder=str(folder.own),
    )  # fmt: skip
    entrust(home, lease)
    _add(registry, name, address)


def adopt_home(registry: Registry, name: str, remote: str) -> None:
    """Add the home that is on *remote* already, such as one that a registry has lost.

    Raises:
        WrongName: the name cannot be used.
        NotMovable: the fleet has a home of that name with another remote.
    """
    require_name(name)
    _add(registry, name, remote_url(Path.cwd(), remote))


def remove_home(registry: Registry, name: str) -> str:
    """Let the home *name* leave the fleet, and return the host that makes it a home of its own.

    Without a host that has it, it is removed from the registry at once, and the result is empty.

    Raises:
        NotInFleet: there is no such home.
    """
    holder = registry.holder(name)
    if holder is None:
        registry.remove_home(name)
        return ""
    registry.leave(name)
    return holder.host


def _is_added(registry: Registry, name: str, address: str, home: Home) -> bool:
    """Return whether a host serves *home* already. Refuse a name that is taken, before anything of the home changes.

    Raises:
        NotMovable: the fleet has another home of that name, or a host serves a newer copy of this one.
        NotHeld: it is a copy of a home of a fleet, in another folder.
        RecallError: the registry does not answer.
    """
    known = registry.remote(name)
    if known not in {"", address}:
        raise _name_taken(name)
    holder = registry.holder(name) if known else None
    if holder is None or not holder.arrived:
        return False
    lease = read_lease(home)
    if lease is None or (lease.home, lease.remote, lease.epoch) != (name, address, 0):
        raise NotMovable(f"the host {holder.host} serves the home {name!r} already, from the same remote")
    return True


def _add(registry: Registry, name: str, address: str) -> None:
    if not registry.add_home(name, address):
        raise _name_taken(name)


def _name_taken(name: str) -> NotMovable:
    return NotMovable(f"the fleet has a home {name!r} with another remote. Choose another name")
