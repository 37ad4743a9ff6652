"""Check what a home of a fleet needs: its lease, the registry, and the git repository that keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from agent_home.errors import HistoryError, NotHeld
from agent_home.git.isolation import without_credentials
from agent_home.home import Home
from agent_home.lease.published import has_pending, outbox_of, read_published
from agent_home.lease.record import Lease, read_lease, seconds_left
from agent_home.lease.remote import remote_refs
from agent_home.lease.state_commit import STATE_REF
from interfaces.fleet.errors import NotInFleet
from interfaces.fleet.registry import Registry
from recall.errors import RecallError
from recall.servers import DATABASE_VARIABLE, NoServer, database_url

__all__ = ["fleet_check"]

_Result = tuple[Literal["ok", "info", "warning", "failed"], str]


def fleet_check(home: Home) -> Iterator[_Result]:
    """Yield what is wrong with a home of a fleet, or how it stands. A home of no fleet yields nothing."""
    try:
        lease = read_lease(home)
    except NotHeld as error:
        yield "failed", str(error)
        return
    if lease is not None:
        yield _lease(home, lease)
        yield _registry(lease)
        yield from _remote(home, lease)


def _lease(home: Home, lease: Lease) -> _Result:
    left = seconds_left(lease)
    said = f"the home {lease.home} on the host {lease.host}, epoch {lease.epoch}"
    if lease.state == "left":
        return "failed", f"{said}, has left, and {home.root} is an old copy. `memory fleet status` says where it is now"
    if not left:
        advice = f"Check that `memory fleet host {Path(lease.folder).parent}` runs and reaches the registry"
        return "failed", f"{said}: the lease has ended, so nothing can be written. {advice}"
    moving = ", and is being moved to another host" if lease.state == "draining" else ""
    return "ok", f"{said}: the lease holds for {left:.0f} s and is renewed{moving}"


def _registry(lease: Lease) -> _Result:
    registry = Registry(database_url())
    try:
        holder = registry.holder(lease.home)
    except NoServer:
        return "info", f"{DATABASE_VARIABLE} is not set here, so the registry was not asked"
    except NotInFleet as error:
        return "failed", f"{error}. Add it again with `memory fleet add {lease.home} --adopt --remote URL`"
    except RecallError as error:
        return "warning", f"{error}. Reading goes on, and writing stops when the lease ends"
    finally:
        registry.close()
    if holder is None:
        return "warning", f"the registry answers, and no live host has the home {lease.home}"
    if holder.host != lease.host:
        return "warning", f"the registry says that the host {holder.host} has the home {lease.home}"
    return "ok", f"the registry answers, and the host {holder.host} has the home"


def _remote(home: Home, lease: Lease) -> Iterator[_Result]:
    address = without_credentials(lease.remote)
    known = read_published(home)
    try:
        present = remote_refs(outbox_of(home), lease.remote, [STATE_REF]).get(STATE_REF, "")
    except HistoryError as error:
        yield "failed", f"the remote {address} does not answer, so no write counts as stored: {error}"
        return
    if present != known.commit:
        yield "warning", f"the remote {address} has another state than this host has published"
    elif has_pending(home):
        yield "warning", f"something here is not on the remote {address} yet. The next write publishes it"
    else:
        yield "ok", f"the remote {address} has everything that was acknowledged"
    if known.foreign:
        yield "info", "the branch on the remote has commits of others, and does not follow. Run `memory pull`"
