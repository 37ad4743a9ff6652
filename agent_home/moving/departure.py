"""Give a home of a fleet away: let what runs finish, publish the rest, and remove the copy of this host.

What was not published was never acknowledged. It is kept aside for a person, and not deleted.
"""

from __future__ import annotations

import secrets
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
from ..lease.published import lease_folder, outbox_of, read_published, sent
from ..lease.record import Lease, LeaseState, forget_lease, read_lease, require_time, write_lease
from ..lease.remote import make_outbox, remote_refs
from ..lease.state_commit import STATE_REF
from ..lease.travelling import stays_behind
from ..lock import hold
from ..store import recovery
from ..store.branch import refuse_elsewhere

__all__ = ["NotMovable", "StillRunning", "drain", "entrust", "mark_left", "remove_copy", "resume"]


class NotMovable(HomeError):
    """A home has parts that cannot go to another host, or its remote has another home already."""


class StillRunning(HomeError):
    """A closing or a nightly run did not end in time, so the home stays where it is."""


def entrust(home: Home, lease: Lease) -> None:
    """Publish *home* for the first time, on a remote that has no home yet. From then on a host has to take it over.

    *lease* has an epoch that is smaller than every later one. Where something fails, the home is as it was before,
    unless the remote may have it. Doing it again with the same remote changes nothing. An old copy of the same home may
    be entrusted where the remote has lost the home.

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
    if home_client(home.root).text("rev-parse", "--is-shallow-repository").strip() == "true":
        raise NotMovable(f"{home.root} is a shallow clone. Run `git fetch --unshallow` there, and add it again")
    with hold(home.lock):
        known = read_lease(home)
        is_lost = known is not None and (known.state, known.home) == ("left", lease.home) and _is_empty(home, lease)
        if not is_lost and known is not None and _place(known) != _place(lease):
            raise NotMovable(f"{home.root} is a home of a fleet already. `memory fleet status` lists them")
        refuse_elsewhere(home)
        recovery.recover(home)
        if is_lost:
            shutil.rmtree(lease_folder(home))  # nothing that this copy published is anywhere
        try:
            write_lease(home, lease)
            if not read_published(home).commit:
                _refuse_taken(home, lease)
            publish(home, lease, with_edits=True)
        except BaseException:
            if known is not None:
                write_lease(home, known)
            elif not read_published(home).commit and (not sent(home) or _is_empty(home, lease)):
                forget_lease(home)
                shutil.rmtree(lease_folder(home), ignore_errors=True)
            raise
        write_lease(home, lease.with_state("left"))


def drain(home: Home, timeout_s: float) -> None:
    """Let nothing new begin in *home*, wait for what runs, and publish everything. Doing it again changes nothing.

    Raises:
        StillRunning: something ran longer than *timeout_s* seconds. :func:`resume` lets the home be written again.
        NotHeld: this host has no lease of the home.
        HistoryError: a person looks at another branch, or a git operation is unfinished.
        NotPublished: the remote did not take it.
        Locked: the write lock was not free.
    """
    with hold(home.lock):
        lease = read_lease(home)
        if lease is None:
            raise NotHeld(f"{home.root} is no home of a fleet")
        require_time(home, lease)
        refuse_elsewhere(home)  # what a person looks at on another branch would be lost
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


def remove_copy(home: Home, aside: Path, leaving: Path, *, taken: str, now: datetime) -> Path | None:
    """Remove the copy of *home* of this host. Return the folder where it is kept, if something would be lost with it.

    *taken* is the state from which the next holder went on. If it is not what this host published last, such as after a
    remote was set back, the copy is kept, as it is if it has what was not published.

    It is kept in the folder *aside*, and deleted in the folder *leaving*, both on the same disk. What a killed call
    left in *leaving* may be deleted.

    Raises:
        Locked: the write lock was not free.
        OSError: it cannot be moved.
    """
    name = f"{home.root.name}-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
    with hold(home.lock):
        is_clean = taken in {read_published(home).commit, *sent(home)} - {""} and _is_clean(home)
        place = (leaving if is_clean else aside) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        home.root.rename(place)
    if not is_clean:
        return place
    shutil.rmtree(place, ignore_errors=True)
    return None


def _place(lease: Lease) -> tuple[str, str, int]:
    return lease.home, lease.remote, lease.epoch


def _is_empty(home: Home, lease: Lease) -> bool:
    """Return whether the remote answers and has no home."""
    with suppress(HomeError, OSError):
        return not _present(home, lease)
    return False


def _present(home: Home, lease: Lease) -> str:
    """Return the state that the remote has, or an empty string."""
    outbox = outbox_of(home)
    if not (outbox / ".git").is_dir():
        make_outbox(outbox, home_refs(home).form, OBJECTS)
    return remote_refs(outbox, lease.remote, [STATE_REF]).get(STATE_REF, "")


def _refuse_taken(home: Home, lease: Lease) -> None:
    if _present(home, lease) not in {"", *sent(home)}:
        raise NotMovable(
            f"the remote {without_credentials(lease.remote)} has a home already. Name an empty repository, or add the"
            " home that is there with --adopt"
        )


def _is_clean(home: Home) -> bool:
    """Return whether nothing would be lost with the copy."""
    with suppress(HomeError, OSError):
        stashed = home_client(home.root).query("rev-parse", "--verify", "--quiet", "refs/stash", empty_on=(1,))
        is_whole = not stashed.strip() and not recovery.is_pending(home) and not stays_behind(home)
        return is_whole and is_published(home, with_edits=True)
    return False


def _change_state(home: Home, before: str, after: LeaseState) -> None:
    """Give the lease the state *after*, if it has the state *before*. An empty one is any."""
    with hold(home.lock):
        lease = read_lease(home)
        if lease is None:
            raise NotHeld(f"{home.root} is no home of a fleet")
        if before in {"", lease.state}:
            write_lease(home, lease.with_state(after))
