"""Give a home of a fleet away: let what runs finish, publish the rest, and remove the copy of this host.

What was not published was never acknowledged. It is kept aside for a person, and not deleted.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from ..backup.carried import home_files
from ..errors import HomeError, NotHeld
from ..git.client import home_client
from ..git.isolation import without_credentials
from ..git_folder import STATE
from ..home import Home
from ..lease.operation import await_operations
from ..lease.publication import OBJECTS, home_refs, is_published, publish
from ..lease.published import outbox_of
from ..lease.record import Lease, LeaseState, forget_lease, read_lease, require_time, write_lease
from ..lease.remote import make_outbox, remote_refs
from ..lease.state_commit import STATE_REF
from ..lock import hold
from ..store import recovery

__all__ = ["NotMovable", "StillRunning", "drain", "entrust", "mark_left", "remove_copy", "resume"]


class NotMovable(HomeError):
    """A home has parts that cannot go to another host, or its remote has another home already."""


class StillRunning(HomeError):
    """A closing or a nightly run did not end in time, so the home stays where it is."""


def entrust(home: Home, lease: Lease) -> None:
    """Publish *home* for the first time, on a remote that has no home yet. From then on a host has to take it over.

    *lease* has an epoch that is smaller than every later one. Where something fails, the home is as it was before.

    Raises:
        NotMovable: a part of the home is bound to this machine, or the remote has a home.
        NotHeld: this host has no session in the registry.
        NotPublished: the remote did not take it.
    """
    if home.links or home.absent_links or home_files(home).repositories or home.machine != home.root / ".git" / STATE:
        raise NotMovable(
            f"{home.root} is a linked work tree, shares project folders, or has git repositories in it, and these stay"
            " on one machine. End the sharing with `memory share --help`, and move the repositories elsewhere"
        )
    with hold(home.lock):
        if read_lease(home) is not None:
            raise NotMovable(f"{home.root} is a home of a fleet already. `memory fleet status` lists them")
        recovery.recover(home)
        try:
            write_lease(home, lease)
            _refuse_taken(home, lease)
            publish(home, lease, with_edits=True)
        except BaseException:
            forget_lease(home)
            raise
        write_lease(home, lease.with_state("left"))


def drain(home: Home, timeout_s: float) -> None:
    """Let nothing new begin in *home*, wait for what runs, and publish everything. Doing it again changes nothing.

    Raises:
        StillRunning: something ran longer than *timeout_s* seconds. :func:`resume` lets the home be written again.
        NotHeld: this host has no lease of the home.
        NotPublished: the remote did not take it.
        Locked: the write lock was not free.
    """
    with hold(home.lock):
        lease = read_lease(home)
        if lease is None:
            raise NotHeld(f"{home.root} is no home of a fleet")
        require_time(home, lease)
        write_lease(home, lease.with_state("draining"))
    if not await_operations(home, timeout_s):
        raise StillRunning(f"a closing or a nightly run in {home.root} did not end within {timeout_s:g} s")
    with hold(home.lock):
        if recovery.is_pending(home):
            recovery.recover(home)
        publish(home, lease, with_edits=True)


def resume(home: Home) -> None:
    """Let *home* be written again here after a :func:`drain` that led to nothing.

    Raises:
        NotHeld: this host has no lease of the home.
    """
    _change_state(home, "draining", "held")


def mark_left(home: Home) -> None:
    """Let *home* be written no more here, because another host has it."""
    with suppress(NotHeld):
        _change_state(home, "", "left")


def remove_copy(home: Home, aside: Path, *, now: datetime) -> Path | None:
    """Remove the copy of *home* of this host. Return the folder where it is kept, if it has what was not published.

    *aside* is a folder on the same disk.

    Raises:
        Locked: the write lock was not free.
        OSError: it cannot be moved.
    """
    aside.mkdir(parents=True, exist_ok=True)
    name = f"{home.root.name}-{now:%Y%m%dT%H%M%S}"
    kept = next(place for number in range(1000) if not (place := aside / f"{name}-{number}").exists())
    with hold(home.lock):
        is_clean = _is_clean(home)
        home.root.rename(kept)
    if is_clean:
        shutil.rmtree(kept, ignore_errors=True)
        return None
    return kept


def _refuse_taken(home: Home, lease: Lease) -> None:
    outbox = outbox_of(home)
    if not (outbox / ".git").is_dir():
        make_outbox(outbox, home_refs(home).form, OBJECTS)
    if STATE_REF in remote_refs(outbox, lease.remote, [STATE_REF]):
        raise NotMovable(
            f"the remote {without_credentials(lease.remote)} has a home already. Name an empty repository, or add the"
            " home that is there with --adopt"
        )


def _is_clean(home: Home) -> bool:
    """Return whether nothing would be lost with the copy."""
    with suppress(HomeError, OSError):
        stashed = home_client(home.root).query("rev-parse", "--verify", "--quiet", "refs/stash", empty_on=(1,))
        return not stashed.strip() and not recovery.is_pending(home) and is_published(home)
    return False


def _change_state(home: Home, before: str, after: LeaseState) -> None:
    """Give the lease the state *after*, if it has the state *before*. An empty one is any."""
    with hold(home.lock):
        lease = read_lease(home)
        if lease is None:
            raise NotHeld(f"{home.root} is no home of a fleet")
        if before in {"", lease.state}:
            write_lease(home, lease.with_state(after))
