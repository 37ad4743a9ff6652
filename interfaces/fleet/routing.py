"""Decide where a request for a home belongs: to this host, to another one, or to nobody at the moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from agent_home.errors import NotHeld
from agent_home.home import Home
from agent_home.lease.host_clock import elapsed
from agent_home.lease.record import Lease, read_lease, seconds_left
from recall.errors import RecallError

from .errors import NotInFleet, WrongAddress, WrongName
from .host_folder import HostFolder, leases_in, require_address, require_name
from .registry import Holder, Registry

__all__ = ["AtHost", "HomeRoutes", "Nowhere", "Route"]

#: Seconds for which the answer of the registry is believed.
_BELIEVED_S = 1.0
#: Seconds for which a registry that did not answer is not asked.
_SILENT_S = 10.0
#: Homes whose places are remembered. The oldest answer is dropped first.
_MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AtHost:
    """The home is on another host, which is reached at *address*."""

    host: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nowhere:
    """Nobody can answer for the home. *known* means that it may be asked again in a moment."""

    reason: str
    known: bool = True


#: A home of this host is returned itself.
Route = Home | AtHost | Nowhere


class HomeRoutes:
    """The places of homes, as the host in *folder* and the registry at *url* know them. Threads may share an object."""

    def __init__(self, folder: HostFolder, url: str, clock: Callable[[], float] = elapsed) -> None:
        self._folder, self._name = folder, folder.identity().name
        self._registry, self._lock, self._clock = Registry(url), Lock(), clock
        self._known: dict[str, tuple[float, Holder | Nowhere | None]] = {}
        self._silent_until, self._problem = -_SILENT_S, ""

    @property
    def address(self) -> str:
        """The address of this host, as others know it."""
        return self._folder.identity().address

    def held(self) -> list[Home]:
        """Return the homes that this host may write now, ordered by name."""
        found = leases_in(self._folder).items()
        return [self._folder.home(name) for name, lease in found if lease.state == "held" and seconds_left(lease)]

    def find(self, name: str) -> Route:
        """Return where the home *name* is.

        While the registry does not answer, a copy of this host is read, and its lease refuses writes.
        """
        try:
            home = self._folder.home(require_name(name))
        except WrongName as error:
            return Nowhere(reason=str(error), known=False)
        lease = _lease(home)
        if lease is not None and lease.state != "left" and seconds_left(lease):
            self._drop_answer(name)
            return home
        holder = self._holder(name)
        if isinstance(holder, Nowhere):
            is_copy = holder.known and lease is not None and lease.state != "left"
            return home if is_copy else holder
        if holder is None:
            return Nowhere(reason=f"no host has the home {name} now. Ask again in a moment")
        if not holder.arrived or (holder.host == self._name and lease is None):
            return Nowhere(reason=f"the home {name} is on its way to the host {holder.host}. Ask again in a moment")
        if holder.host == self._name:
            return home
        return _at(name, holder)

    def forget(self, name: str) -> None:
        """Ask the registry again for that home, because its answer was wrong."""
        with self._lock:
            self._known.pop(name, None)

    def close(self) -> None:
        """Close the connection to the registry."""
        with self._lock:
            self._registry.close()

    def _drop_answer(self, name: str) -> None:
        """Drop the registry's answer about a home that is here. It would be wrong when the registry falls silent.

        A request does not wait for another one that asks the registry. The next request drops it then.
        """
        if name in self._known and self._lock.acquire(blocking=False):
            try:
                self._known.pop(name, None)
            finally:
                self._lock.release()

    def _holder(self, name: str) -> Holder | Nowhere | None:
        """Return who has the home, by the registry. *known* of ``Nowhere`` means that the registry did not answer.

        While it does not, its last answer is believed, and it is asked again after some seconds. So no request waits
        for it but one.
        """
        with self._lock:
            at, holder = self._known.get(name, (-_BELIEVED_S, None))
            now = self._clock()
            if now - at < _BELIEVED_S:
                return holder
            if now < self._silent_until:
                return holder or Nowhere(reason=f"it is not known where the home {name} is. {self._problem}")
            try:
                found: Holder | Nowhere | None = self._registry.holder(name)
            except NotInFleet as error:
                found = Nowhere(reason=str(error), known=False)
            except RecallError as error:
                self._silent_until, self._problem = self._clock() + _SILENT_S, str(error)
                return holder or Nowhere(reason=f"it is not known where the home {name} is. {error}")
            self._known[name] = (self._clock(), found)
            while len(self._known) > _MOST_KNOWN:
                self._known.pop(next(iter(self._known)))
            return found


def _at(name: str, holder: Holder) -> AtHost | Nowhere:
    """Return where another host is reached, if it can be."""
    if not holder.address:
        return Nowhere(reason=f"the home {name} is on the host {holder.host}, which joined without an address")
    try:
        return AtHost(host=holder.host, address=require_address(holder.address))
    except WrongAddress as error:
        return Nowhere(reason=f"the home {name} is on the host {holder.host}: {error}")


def _lease(home: Home) -> Lease | None:
    try:
        return read_lease(home) if home.root.is_dir() else None
    except NotHeld:
        return None
