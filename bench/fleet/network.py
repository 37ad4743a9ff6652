"""Networks of hosts that can be cut: namespaces of the kernel where root may make them, and proxies everywhere else.

In both, a host that is cut sends and receives nothing, and its connections stay open, as those of a machine whose cable
was pulled.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

__all__ = ["HUB", "Namespaces", "Network", "Proxies", "network"]

#: The place of the registry, the remotes and the clients.
HUB = "hub"
_NET, _BRIDGE = "10.77.0", "br0"
_PORTS = {"registry": 5432, "git": 9418, "service": 8080}


class Network(Protocol):
    """Hosts and a hub that reach each other by addresses."""

    def command(self, place: str, words: Sequence[str]) -> list[str]:
        """Return the command line that runs *words* in *place*."""
        ...

    def listen(self, place: str, service: str) -> tuple[str, int]:
        """Return address and port at which *service* of *place* listens."""
        ...

    def reach(self, source: str, place: str, service: str) -> tuple[str, int]:
        """Return address and port at which *source* reaches a service of *place*."""
        ...

    def cut(self, host: str) -> None:
        """Let no packet from or to *host* through."""
        ...

    def heal(self, host: str) -> None:
        """Let packets through again."""
        ...

    def processes(self, host: str) -> list[int] | None:
        """Return all processes of *host*, or ``None`` where nobody knows them."""
        ...


@contextmanager
def network(hosts: Sequence[str]) -> Iterator[Network]:
    """Yield a network of *hosts*: of namespaces, or of proxies where the system does not permit these."""
    made = Namespaces.made(hosts)
    if made is not None:
        try:
            yield made
        finally:
            made.end()
        return
    with Proxies(hosts) as proxies:
        yield proxies


@dataclass
class Namespaces:
    """A namespace for each host and the hub, joined by a bridge. They vanish with the processes that hold them."""

    holders: dict[str, subprocess.Popen[bytes]]
    numbers: dict[str, int]

    @classmethod
    def made(cls, hosts: Sequence[str]) -> Namespaces | None:
        """Return the namespaces, or ``None`` where the system does not permit them."""
        if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
            return None
        holders: dict[str, subprocess.Popen[bytes]] = {}
        made = cls(holders, {host: 11 + number for number, host in enumerate(hosts)})
        try:
            for place in (HUB, *hosts):
                holders[place] = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], stderr=subprocess.DEVNULL)
            if made._are_apart():
                made._join()
                return made
        except (OSError, subprocess.CalledProcessError):
            pass
        made.end()
        return None

    def _are_apart(self) -> bool:
        """Wait until every holder is in a namespace of its own, and return whether all are."""
        own, until = _namespace(os.getpid()), time.monotonic() + 5
        while any(_namespace(holder.pid) in {0, own} for holder in self.holders.values()):
            if time.monotonic() > until or any(holder.poll() is not None for holder in self.holders.values()):
                return False
            time.sleep(0.02)
        return True

    def _join(self) -> None:
        self._ip(HUB, "link", "set", "lo", "up")
        self._ip(HUB, "link", "add", _BRIDGE, "type", "bridge")
        self._ip(HUB, "addr", "add", f"{_NET}.1/24", "dev", _BRIDGE)
        self._ip(HUB, "link", "set", _BRIDGE, "up")
        for host, number in self.numbers.items():
            inner = str(self.holders[host].pid)
            self._ip(HUB, "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", inner)
            self._ip(HUB, "link", "set", f"v{number}", "master", _BRIDGE)
            self._ip(HUB, "link", "set", f"v{number}", "up")
            for words in (("link", "set", "lo", "up"), ("link", "set", "eth0", "up")):
                self._ip(host, *words)
            self._ip(host, "addr", "add", f"{_NET}.{number}/24", "dev", "eth0")

    def command(self, place: str, words: Sequence[str]) -> list[str]:
        return ["nsenter", "--net", f"--target={self.holders[place].pid}", "--", *words]

    def listen(self, place: str, service: str) -> tuple[str, int]:
        return self._address(place), _PORTS[service]

    def reach(self, source: str, place: str, service: str) -> tuple[str, int]:
        del source
        return self.listen(place, service)

    def cut(self, host: str) -> None:
        self._ip(HUB, "link", "set", f"v{self.numbers[host]}", "down")

    def heal(self, host: str) -> None:
        self._ip(HUB, "link", "set", f"v{self.numbers[host]}", "up")

    def processes(self, host: str) -> list[int] | None:
        holder = self.holders[host].pid
        wanted = _namespace(holder)
        pids = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
        return [pid for pid in pids if wanted and pid != holder and _namespace(pid) == wanted]

    def end(self) -> None:
        """End everything that runs in the namespaces, and with that the namespaces."""
        for place, holder in self.holders.items():
            if holder.poll() is None:
                for pid in self.processes(place) or ():
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                holder.kill()
            holder.wait()

    def _address(self, place: str) -> str:
        return f"{_NET}.{1 if place == HUB else self.numbers[place]}"

    def _ip(self, place: str, *words: str) -> None:
        subprocess.run(self.command(place, ["ip", *words]), check=True, capture_output=True)


def _namespace(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino  # noqa: PTH116 - not a file
    except OSError:
        return 0


@dataclass
class Proxies:
    """Ports of this machine, and for each pair of places a proxy between them, which can be cut."""

    hosts: Sequence[str]
    _ports: dict[tuple[str, str], int] = field(default_factory=dict)
    _proxies: dict[tuple[str, str, str], _Proxy] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for proxy in self._proxies.values():
            proxy.end()

    def command(self, place: str, words: Sequence[str]) -> list[str]:
        del place
        return list(words)

    def listen(self, place: str, service: str) -> tuple[str, int]:
        if (place, service) not in self._ports:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self._ports[place, service] = free.getsockname()[1]
        return "127.0.0.1", self._ports[place, service]

    def reach(self, source: str, place: str, service: str) -> tuple[str, int]:
        key = (source, place, service)
        if key not in self._proxies:
            self._proxies[key] = _Proxy(self.listen(place, service))
        return self._proxies[key].address

    def cut(self, host: str) -> None:
        self._set(host, cut=True)

    def heal(self, host: str) -> None:
        self._set(host, cut=False)

    def processes(self, host: str) -> list[int] | None:
        del host
        return None

    def _set(self, host: str, *, cut: bool) -> None:
        for (source, place, _), proxy in self._proxies.items():
            if host in {source, place}:
                proxy.is_cut = cut


class _Proxy:
    """A port that passes connections on to *target*. While it is cut, nothing passes and nothing is closed."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target, self._ended = target, False
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address: tuple[str, int] = self._listening.getsockname()
        self.is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def end(self) -> None:
        """Listen no more, and close every connection."""
        self._ended = True
        self._listening.close()

    def _accept(self) -> None:
        while not self._ended:
            with suppress(OSError):
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while self.is_cut and not self._ended:
                time.sleep(0.05)
            with suppress(OSError), socket.create_connection(self._target, timeout=10) as other:
                other.settimeout(None)
                self._pass(connection, other)

    def _pass(self, one: socket.socket, two: socket.socket) -> None:
        open_ends = {one: two, two: one}
        while open_ends and not self._ended:
            if self.is_cut:
                time.sleep(0.05)
                continue
            for source in select.select(list(open_ends), [], [], 0.2)[0]:
                data = source.recv(1 << 16)
                if data:
                    open_ends[source].sendall(data)
                else:
                    target = open_ends.pop(source)
                    target.shutdown(socket.SHUT_WR)
