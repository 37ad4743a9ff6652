"""Keep the session of a host in the registry alive, and stop the writes of the host before the session can end.

The end that the writers of this host obey is counted from before the question to the registry, on a clock that nobody
sets, and is earlier by a margin. So the registry cannot have ended the session while a write is still permitted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from agent_home.lease.host_clock import boot, elapsed
from agent_home.lease.record import HostSession, Lease, write_lease, write_session
from agent_home.machine_key import key_path, machine_key
from recall.errors import RecallError

from .errors import OtherKey
from .host_folder import HostFolder, HostIdentity, leases_in
from .registry import Registry

__all__ = ["KeptSession"]

#: The share of a session that is not used, and its least size in seconds. Clocks of two machines do not drift as much.
MARGIN, _LEAST_MARGIN_S = 0.1, 0.5
#: Seconds between two tries while the registry does not answer.
_RETRY_S = 1.0
_log = logging.getLogger(__name__)


class KeptSession:
    """The session of a host, renewed in a thread of its own until :meth:`end`."""

    def __init__(self, folder: HostFolder, identity: HostIdentity, url: str) -> None:
        self._folder, self._identity = folder, identity
        self._registry = Registry(url)
        self._stop, self.lost = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, name="session", daemon=True)
        self.problem = ""
        self._unwritten = False

    def begin(self) -> None:
        """Start the session, and keep it.

        Raises:
            HostNameTaken: another life of a host of that name has a session.
            OtherKey: the registry has another machine key. One that was made anew gets that of this host.
            RecallError: the registry does not answer.
        """
        own = machine_key()
        if self._registry.machine_key(own) != own:
            raise OtherKey(key_path())
        identity, mine, asked = self._identity, leases_in(self._folder), elapsed()
        self._registry.begin_session(
            identity.name, identity.incarnation, address=identity.address, capacity=identity.capacity,
            seconds=identity.lease_s,
        )  # fmt: skip
        known = self._registry.renew(identity.name, identity.incarnation, identity.lease_s) or {}
        self._extend(asked, mine, known)
        self._thread.start()

    def end(self) -> None:
        """Stop renewing. The writes of this host stop when the session ends, unless it begins again before."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._registry.close()

    def _keep(self) -> None:
        wait = self._identity.lease_s / 3
        while not self._stop.wait(wait):
            try:
                wait = self._renewed()
            except Exception:  # noqa: BLE001 - a thread has no caller, and the session must end
                _log.exception("the session cannot be kept")
                self._write(elapsed())
                self.lost.set()
            if self.lost.is_set():
                return

    def _renewed(self) -> float:
        """Return the seconds until the next time, after the session was renewed."""
        usual = self._identity.lease_s / 3
        # Homes that cannot be written here are of no use here. Without renewal other hosts get them.
        if self._unwritten and not self._write(elapsed()):
            return min(_RETRY_S, usual)
        mine, asked = leases_in(self._folder), elapsed()  # those that come meanwhile may be unknown to the answer
        try:
            leases = self._registry.renew(self._identity.name, self._identity.incarnation, self._identity.lease_s)
        except RecallError as error:
            if not self.problem:
                _log.warning("%s. Writing goes on until the session ends", error)
            self.problem = str(error)
            return min(_RETRY_S, usual)
        if leases is None:
            self._write(asked)
            self.lost.set()
            return usual
        self._extend(asked, mine, leases)
        if self.problem:
            _log.warning("the registry answers again")
        self.problem = ""
        return usual

    def _extend(self, asked: float, mine: Mapping[str, Lease], leases: Mapping[str, int]) -> None:
        """Let the homes be written longer. One of *mine* whose lease the registry does not know is stopped first."""
        for name, lease in mine.items():
            if lease.incarnation == self._identity.incarnation and leases.get(name) != lease.epoch:
                _stop_writing(self._folder, name, lease)
        margin = max(_LEAST_MARGIN_S, self._identity.lease_s * MARGIN)
        self._write(asked + self._identity.lease_s - margin)

    def _write(self, until: float) -> bool:
        """Let the homes be written *until* then, and return whether that could be noted."""
        session = HostSession(
            host=self._identity.name, incarnation=self._identity.incarnation, boot=boot(), until=until
        )
        unwritten = not write_session(self._folder.own, session)
        if unwritten and not self._unwritten:
            _log.warning(
                "the session cannot be written into %s, so the homes here cannot be written either, and other hosts get"
                " them. Make room on the disk, and let this user write there",
                self._folder.own,
            )
        if self._unwritten and not unwritten:
            _log.warning("the session can be written again")
        self._unwritten = unwritten
        return not unwritten


def _stop_writing(folder: HostFolder, name: str, lease: Lease) -> None:
    if lease.state != "left" and (folder.root / name / ".git").is_dir():
        _log.warning("the registry does not know the lease of the home %s any more. It is not written here", name)
        write_lease(folder.home(name), lease.with_state("left"))
