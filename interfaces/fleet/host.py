"""The process that is a host: it keeps the session, takes homes over, hands them over, and clears what is left."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from agent_home.clock import now
from agent_home.errors import HomeError
from agent_home.home_location import MANIFEST
from agent_home.lease.host_clock import elapsed
from agent_home.lease.published import has_pending
from agent_home.lease.record import Lease, read_lease
from agent_home.moving.departure import mark_left, resume
from agent_home.store.gateway import prepare
from recall.errors import RecallError

from .errors import HostNameTaken, NotInFleet
from .hand_over import hand_over, set_free
from .host_folder import HostFolder, HostIdentity, leases_in
from .host_session import KeptSession
from .placement import place_of, placed
from .registry import HeldHome, Registry
from .take_over import clear_copy, take_over

__all__ = ["HostOptions", "run_host"]

_log = logging.getLogger(__name__)
#: Homes that come at the same time, and homes that go. Each runs some processes of git. Those that go may wait for what
#: runs in them, and nothing else must wait for that.
_AT_ONCE, _LEAVING_AT_ONCE = 3, 16
#: Seconds for which a host that could not take a home over leaves it to others.
_AVOIDED_S = 60.0
#: The longest time between two tries.
_LONGEST_WAIT_S = 60.0
Act = Callable[[Registry], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """Options of a host: seconds between two looks, and seconds that a move waits for what runs in a home."""

    poll_s: float = 2.0
    drain_s: float = 600.0
    #: Called after the session began, and after each look.
    ready: Callable[[], None] = lambda: None


def run_host(folder: HostFolder, url: str, stop: threading.Event, options: HostOptions) -> None:
    """Run the host of *folder* until *stop* is set. A host that loses its session begins a new life.

    Its homes stay its own until its session ends, so a process that is started again soon goes on with them.

    Raises:
        NotJoined: the folder is not that of a host.
        HostNameTaken: another process is the host of that name.
        OtherKey: the registry has another machine key than this host.
        RecallError: the registry does not answer at the start.
    """
    with folder.running():
        for left in (folder.leaving, folder.arriving):  # by a killed process
            shutil.rmtree(left, ignore_errors=True)
        identity = folder.living_identity()
        while not stop.is_set():
            session = _begun(folder, identity, url, stop)
            if session is None:
                return
            try:
                _Host(folder, identity, url, options).work(stop, session.lost)
            finally:
                session.end()
            if not stop.is_set():
                _log.warning("the registry has no session of the host %s any more. It begins anew", identity.name)
                identity = folder.living_identity(anew=True)


def _begun(folder: HostFolder, identity: HostIdentity, url: str, stop: threading.Event) -> KeptSession | None:
    """Return the session, once it began. An earlier life of this host may have one, whose end is waited for."""
    until = elapsed() + 2 * identity.lease_s
    while True:
        session = KeptSession(folder, identity, url)
        try:
            session.begin()
        except HostNameTaken:
            session.end()
            if elapsed() > until:
                raise
            if stop.wait(min(1.0, identity.lease_s / 4)):
                return None
        except BaseException:
            session.end()
            raise
        else:
            return session


@dataclass(slots=True)
class _Host:
    """One life of a host. *_waits* has, for homes at which something failed, the number of tries and the next time."""

    folder: HostFolder
    identity: HostIdentity
    url: str
    options: HostOptions
    _busy: dict[str, Future[None]] = field(default_factory=dict)
    _waits: dict[str, tuple[int, float]] = field(default_factory=dict)

    def work(self, stop: threading.Event, lost: threading.Event) -> None:
        """Look again and again what is to do, until *stop* or *lost* is set."""
        with (
            ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="home") as pool,
            ThreadPoolExecutor(max_workers=_LEAVING_AT_ONCE, thread_name_prefix="leaving") as leaving,
            _registry(self.url) as registry,
        ):
            said = False
            while not stop.is_set() and not lost.is_set():
                try:
                    self.look(registry, pool, leaving)
                    said = False
                except RecallError as error:
                    _log.log(logging.DEBUG if said else logging.WARNING, "%s", error)
                    said = True
                self.options.ready()
                _wait(self.options.poll_s, stop, lost)

    def look(self, registry: Registry, pool: ThreadPoolExecutor, leaving: ThreadPoolExecutor) -> None:
        """Start what is to do, and leave alone what is under way or has failed a moment ago.

        Homes go in the threads of *leaving*, and everything else is done in those of *pool*.
        """
        self._busy = {name: future for name, future in self._busy.items() if not future.done()}
        places = registry.places()
        mine = {home.id: home for home in registry.leases_of(self.identity.name, self.identity.incarnation)}
        here = leases_in(self.folder)
        todo: dict[str, Act] = {}
        for name, lease in here.items():
            if name not in mine:
                todo[name] = partial(self._clear, name=name, lease=lease)
        if self.identity.name in places:
            for found in registry.open_homes():
                if self.identity.name == place_of(found.id, places, wanted=found.wanted, avoided=found.avoided):
                    todo[found.id] = partial(self._claim, name=found.id)
        for home in mine.values():
            act = self._work_for(home, here.get(home.id), places)
            if act is not None:
                todo[home.id] = act
            elif home.problem or home.wanted:
                todo[home.id] = partial(self._note_well, name=home.id)
        for name, act in todo.items():
            if name not in self._busy and elapsed() >= self._waits.get(name, (0, 0.0))[1]:
                threads = leaving if isinstance(act, partial) and act.func in {hand_over, set_free} else pool
                self._busy[name] = threads.submit(self._run, name, act)

    def _work_for(self, home: HeldHome, lease: Lease | None, places: Mapping[str, float]) -> Act | None:
        """Return what is to do with a home of this host, if anything."""
        own, options = self.identity, self.options
        if home.leaving and lease is None and self._is_free(home.id):
            return partial(set_free, folder=self.folder, home=home, drain_s=options.drain_s)
        is_ours = lease is not None and lease.epoch == home.epoch and lease.incarnation == own.incarnation
        if lease is None or not is_ours or not home.arrived:
            return partial(self._arrive, home=home)
        if lease.state == "left":  # it is not written here any more, and the registry was not told
            return partial(self._give_back, home=home)
        if home.leaving:
            return partial(set_free, folder=self.folder, home=home, drain_s=options.drain_s)
        goes = home.wanted if home.wanted in places else "" if own.name in places else placed(home.id, places)
        if goes not in {"", own.name}:
            return partial(
                hand_over, folder=self.folder, identity=own, home=home, why=f"moved to {goes}", drain_s=options.drain_s
            )
        if lease.state == "draining":
            return partial(self._resume, name=home.id)
        return partial(self._publish, name=home.id) if has_pending(self.folder.home(home.id)) else None

    def _is_free(self, name: str) -> bool:
        """Return whether the home is one of its own here already, which the registry does not know yet."""
        with suppress(HomeError):
            place = self.folder.home(name)
            return (place.root / MANIFEST).exists() and read_lease(place) is None
        return False

    def _claim(self, registry: Registry, name: str) -> None:
        home = registry.claim(name, self.identity.name, self.identity.incarnation)
        if home is not None:
            self._arrive(registry, home)

    def _arrive(self, registry: Registry, home: HeldHome) -> None:
        """Take the home over. Where that fails, give the lease back, so that another host can try."""
        try:
            take_over(registry, self.folder, self.identity, home)
        except (HomeError, OSError) as error:
            self._note_failure(registry, home.id, error, avoid=self.identity.name)
            registry.drop_wish(home.id, self.identity.name)  # a wish that cannot be fulfilled would come back for ever
            registry.release(home.id, self.identity.name, self.identity.incarnation, home.epoch, "did not arrive")

    def _give_back(self, registry: Registry, home: HeldHome) -> None:
        """Give the lease back. The host in whose place the home is takes it over with the next epoch, also this one."""
        registry.release(home.id, self.identity.name, self.identity.incarnation, home.epoch, "not written any more")

    def _resume(self, _registry: Registry, name: str) -> None:
        resume(self.folder.home(name))

    def _publish(self, _registry: Registry, name: str) -> None:
        prepare(self.folder.home(name), now())

    def _note_well(self, registry: Registry, name: str) -> None:
        """Note that the home is where it belongs, and that nothing is wrong with it any more."""
        registry.note_problem(name, "")
        registry.drop_wish(name, self.identity.name)
        self._waits.pop(name, None)

    def _clear(self, registry: Registry, name: str, lease: Lease) -> None:
        """Stop writing a home of which this host has no lease. Remove the copy once another host has the home."""
        home = self.folder.home(name)
        if lease.state != "left":
            mark_left(home)
        with suppress(NotInFleet):
            holder = registry.holder(name)
            if holder is not None and holder.arrived and holder.host != self.identity.name:
                clear_copy(self.folder, home, partial(registry.taken_after, name))

    def _run(self, name: str, act: Act) -> None:
        with _registry(self.url) as registry:
            before = self._waits.get(name)
            try:
                act(registry)
            except (HomeError, RecallError, OSError) as error:
                self._note_failure(registry, name, error)
            except Exception as error:  # noqa: BLE001 - the end of a thread: the log and the registry name it
                _log.exception("the home %s", name)
                self._note_failure(registry, name, error)
            else:
                if before is not None and self._waits.get(name) == before:
                    del self._waits[name]
                    with suppress(RecallError):
                        registry.note_problem(name, "")

    def _note_failure(self, registry: Registry, name: str, error: Exception, *, avoid: str = "") -> None:
        """Say what failed, and let the next try wait, each time for longer."""
        said = " ".join(str(error).split()) or type(error).__name__
        tries = self._waits.get(name, (0, 0.0))[0]
        self._waits[name] = (tries + 1, elapsed() + min(_LONGEST_WAIT_S, self.options.poll_s * 2**tries))
        _log.warning("the home %s: %s", name, said)
        with suppress(RecallError):
            registry.note_problem(
                name, f"{self.identity.name}: {said}", avoid=avoid, seconds=_AVOIDED_S if avoid else 0
            )


@contextmanager
def _registry(url: str) -> Iterator[Registry]:
    registry = Registry(url)
    try:
        yield registry
    finally:
        registry.close()


def _wait(seconds: float, *events: threading.Event) -> None:
    until = elapsed() + seconds
    while elapsed() < until and not any(event.is_set() for event in events):
        events[0].wait(min(0.1, seconds))
