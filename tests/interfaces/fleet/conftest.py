"""A fleet of hosts in threads of this process, with a registry in PostgreSQL and bare repositories."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.fleet.host import HostOptions, run_host
from interfaces.fleet.host_folder import HostFolder, HostIdentity
from interfaces.fleet.membership import add_home, join
from interfaces.fleet.registry import Registry
from tests.fleet import bare

#: Seconds for which a host of a test renews its session, and in which everything must have happened.
LEASE_S, PATIENCE_S = 2.0, 60.0


def until(condition: Callable[[], bool], what: str = "") -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"it never came to that: {what}"
        time.sleep(0.02)


@dataclass
class RunningHost:
    """A host in a thread."""

    folder: HostFolder
    identity: HostIdentity
    url: str
    stop: threading.Event = field(default_factory=threading.Event)
    looked: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def start(self) -> RunningHost:
        self.stop, self.looked = threading.Event(), threading.Event()
        options = HostOptions(poll_s=0.1, drain_s=20.0, ready=self.looked.set)
        self.thread = threading.Thread(target=run_host, args=(self.folder, self.url, self.stop, options))
        self.thread.start()
        return self

    def end(self) -> None:
        self.stop.set()
        if self.thread is not None:
            self.thread.join(PATIENCE_S)
            assert not self.thread.is_alive()

    def home(self, name: str) -> Home:
        return self.folder.home(name)


@dataclass
class Fleet:
    """A registry, hosts by name, and a folder for remotes."""

    url: str
    place: Path
    registry: Registry
    running: dict[str, RunningHost] = field(default_factory=dict)

    def host(self, name: str, *, address: str = "", lease_s: float = LEASE_S) -> RunningHost:
        """Start a host, and wait until it has a session."""
        folder = HostFolder(self.place / name)
        identity = HostIdentity(name=name, address=address or f"http://{name}:8080", lease_s=lease_s)
        join(self.registry, folder, identity)
        host = RunningHost(folder, folder.identity(), self.url).start()
        self.running[name] = host
        until(host.looked.is_set, f"{name} began")
        return host

    def add(self, name: str, home: Home, host: RunningHost) -> str:
        """Give *home* to the fleet, and return the address of its remote."""
        remote = bare(self.place / f"{name}.git")
        add_home(self.registry, host.folder, name, home, remote)
        return remote

    def add_again(self, name: str, home: Home, host: RunningHost, remote: str) -> None:
        add_home(self.registry, host.folder, name, home, remote)

    def holder(self, name: str) -> str:
        found = self.registry.holder(name)
        return found.host if found is not None and found.arrived else ""

    def await_holder(self, name: str, host: str) -> Home:
        until(lambda: self.holder(name) == host, f"{host} has {name}, but {self.registry.homes()}")
        return self.running[host].home(name)


@pytest.fixture
def fleet(new_database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(new_database_url, tmp_path, Registry(new_database_url))
    yield made
    for host in made.running.values():
        host.end()
    made.registry.close()
