"""Take a home over on this host: the lease from the registry, the mark on the remote, and then the home itself.

Killed at any step, the next call goes on. Nobody is asked to trust a clock: whatever the registry says, the home is
written here only after its remote has the epoch of this host.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from agent_home import storage
from agent_home.clock import now
from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.home_location import MANIFEST
from agent_home.lease.record import Lease, read_lease
from agent_home.moving.arrival import FetchedState, Overtaken, build_home, fetch_home, shut_out
from agent_home.moving.departure import remove_copy

from .errors import FleetError
from .host_folder import HostFolder, HostIdentity
from .registry import HeldHome, Registry

__all__ = ["NothingThere", "PlaceTaken", "clear_copy", "take_over"]

_log = logging.getLogger(__name__)


class NothingThere(FleetError):
    """The remote of a home has no home."""


class PlaceTaken(FleetError):
    """Another home lies in the place of the home on this host."""


def take_over(registry: Registry, folder: HostFolder, identity: HostIdentity, home: HeldHome) -> bool:
    """Bring *home*, of which this host has the lease, to this host. Return whether the host still has the lease then.

    Raises:
        NothingThere, PlaceTaken: it cannot come here.
        HomeError, OSError: the remote or the disk failed.
        RecallError: the registry does not answer.
    """
    place = folder.home(home.id)
    lease = Lease(
        home=home.id, host=identity.name, incarnation=identity.incarnation, epoch=home.epoch, remote=home.remote,
        folder=str(folder.own),
    )  # fmt: skip
    took: dict[int, str] = {}
    if not _is_here(place, lease):
        _refuse_other(place)
        try:
            arrived = _arrived(registry, folder, place, lease)
        finally:
            shutil.rmtree(folder.work(home.id), ignore_errors=True)
        if arrived is None:
            return False
        lease, took = arrived
    return registry.note_arrived(home.id, identity.name, identity.incarnation, lease.epoch, took)


def _arrived(registry: Registry, folder: HostFolder, place: Home, lease: Lease) -> tuple[Lease, dict[int, str]] | None:
    """Bring the home to its *place*. Return its lease and the states that holders took, or ``None`` without a lease."""
    work = folder.work(lease.home)
    state = fetch_home(work / "fetched", lease.remote)
    if state is None:
        raise NothingThere(
            f"the remote of the home {lease.home} has no home. Bring its repository back from a backup, or give the"
            f" newest copy of the home to the fleet again with `memory fleet add {lease.home} --home COPY`"
        )
    marked = _shut_out(registry, state, lease)
    if marked is None:
        return None
    state, lease = marked
    build_home(work / "building", place.root, state, lease)
    _put(folder, place, work / "building", state)
    return lease, state.took


def _is_here(place: Home, lease: Lease) -> bool:
    try:
        return place.root.is_dir() and read_lease(place) == lease
    except HomeError:
        return False


def _refuse_other(place: Home) -> None:
    """Refuse to put a home into the place of one that no fleet serves.

    Raises:
        PlaceTaken: there is one.
    """
    try:
        is_other = (place.root / MANIFEST).exists() and read_lease(place) is None
    except HomeError:  # a copy of a home of some fleet
        is_other = True
    if is_other:
        raise PlaceTaken(f"{place.root} is another home. Move it away, so that the home of that name can come here")


def _shut_out(registry: Registry, state: FetchedState, lease: Lease) -> tuple[FetchedState, Lease] | None:
    """Mark the remote with a larger epoch than any before. Return ``None`` if the lease is gone meanwhile."""
    while True:
        try:
            return shut_out(state, lease, now=now()), lease
        except Overtaken as error:
            _log.warning("%s. Taking a larger epoch", error)
            epoch = registry.raise_epoch(lease.home, lease.host, lease.incarnation, error.epoch)
            if epoch is None:
                return None
            lease = Lease(
                home=lease.home, host=lease.host, incarnation=lease.incarnation, epoch=epoch, remote=lease.remote,
                folder=lease.folder,
            )  # fmt: skip


def _put(folder: HostFolder, place: Home, built: Path, state: FetchedState) -> None:
    """Give the home that was *built* its place, and put an old copy there aside if something would be lost with it."""
    if place.root.exists():
        clear_copy(folder, place, state.taken_after)
    built.rename(place.root)
    storage.sync_folder(place.root.parent)


def clear_copy(folder: HostFolder, home: Home, taken_after: Callable[[int], str]) -> None:
    """Remove an old copy of *home*. *taken_after* tells the state from which the holder after an epoch went on."""
    try:
        lease = read_lease(home)
    except HomeError:
        lease = None
    taken = taken_after(lease.epoch) if lease is not None else ""
    kept = remove_copy(home, folder.aside, folder.leaving, taken=taken, now=now())
    if kept is not None:
        _log.warning("%s may have what is nowhere else. Look at it, then delete it", kept)
