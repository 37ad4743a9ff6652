"""Hand a home over: let what runs finish, publish the rest, and give the lease back.

Killed at any step, the next call goes on. The host that the home goes to takes it over by itself. Only then is the copy
of this host removed.
"""

from __future__ import annotations

import shutil

from agent_home.lease.published import lease_folder
from agent_home.lease.record import forget_lease, read_lease
from agent_home.lock import hold
from agent_home.moving.departure import drain, mark_left, resume

from .host_folder import HostFolder, HostIdentity
from .registry import HeldHome, Registry

__all__ = ["hand_over", "set_free"]


def hand_over(
    registry: Registry, folder: HostFolder, identity: HostIdentity, home: HeldHome, *, why: str, drain_s: float
) -> None:
    """Give *home* away, and wait for what runs in it for *drain_s* seconds at most.

    Raises:
        StillRunning: something ran for longer. The home stays, and is written again.
        HomeError, OSError: the remote or the disk failed. The home stays, and is written again.
        RecallError: the registry does not answer. The next call goes on.
    """
    place = folder.home(home.id)
    try:
        drain(place, drain_s)
    except BaseException:
        resume(place)
        raise
    mark_left(place)
    registry.release(home.id, identity.name, identity.incarnation, home.epoch, why)


def set_free(registry: Registry, folder: HostFolder, home: HeldHome, *, drain_s: float) -> None:
    """Make *home* a home of its own, which no fleet serves, in the place where it is.

    It is one before the registry forgets it. No host takes a home that leaves, so a call that was killed is repeated.

    Raises:
        HomeError, OSError, RecallError: see :func:`hand_over`.
    """
    place = folder.home(home.id)
    if read_lease(place) is not None:
        drain(place, drain_s)
        with hold(place.lock):
            forget_lease(place)
            shutil.rmtree(lease_folder(place), ignore_errors=True)
    registry.remove_home(home.id)
