"""A fleet of real processes: PostgreSQL, a git server, and three processes for each host, in a network to be cut."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from agent_home.creation import create
from agent_home.home import Home
from agent_home.lease.host_clock import boot, elapsed
from agent_home.lease.record import HostSession, Lease, write_session
from agent_home.moving.departure import entrust
from bench.measure import servers
from interfaces.fleet.registry import Registry, RegistryHome
from interfaces.service.http.tokens import add_token

from .network import HUB, Network

__all__ = ["KINDS", "TOKEN", "ProcessFleet", "await_true", "pattern_home", "with_registry"]

T = TypeVar("T")
#: The processes of a host, by the subcommand or command that starts them.
KINDS = ("host", "worker", "serve")
#: The token of every home, which its clients send.
TOKEN = "fleet-" + "t" * 40
_PYTHON = sys.executable
_MEMORY = str(Path(_PYTHON).with_name("memory"))
_PATIENCE_S = 120.0
_GIT = Path(__file__).with_name("git_over_tcp.py")


def pattern_home(fleet: ProcessFleet, messages: Sequence[tuple[str, str]] = ()) -> Path:
    """Make a home without an embedding model, which every host would have to load, with open sessions of *messages*.

    *messages* are pairs of a session and a text. Return a folder that :meth:`ProcessFleet.add` copies.
    """
    from agent_home.clock import now
    from agent_home.imports.intake import import_messages
    from agent_home.store.gateway import transaction

    home = create(fleet.entrusted, name="Fleet", now=now()).home
    with transaction(home, actor="test", message="Do without a model", source="user", now=now()) as edits:
        edits.write("agent.toml", f"{edits.text('agent.toml').rstrip()}\n\n[embedding]\nenabled = false\n")
    for session, text in messages:
        import_messages(home, session, [{"role": "user", "content": text}])
    add_token(home, "client", scopes=["read", "write"], audience="owner", now=now(), given=TOKEN)
    return home.root.rename(fleet.folder / "pattern")


@dataclass
class ProcessFleet:
    """The servers in *folder*, and hosts by name. *lease_s* is the session of each host."""

    folder: Path
    net: Network
    hosts: Sequence[str]
    lease_s: float = 5.0
    kinds: Sequence[str] = KINDS
    url: str = ""
    _running: dict[tuple[str, str], subprocess.Popen[bytes]] = field(default_factory=dict)
    _git: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start the servers, and let every host join."""
        tcp = self.net.listen(HUB, "registry")
        self.url = servers.postgresql(self.folder / "servers", tcp=tcp, within=self.net.command(HUB, []))
        self.start_git()
        (self.folder / "gitconfig").write_text(
            f'[core]\n\tsshCommand = "{_PYTHON} -I -S {_GIT}"\n[ssh]\n\tvariant = simple\n'
            "[user]\n\tname = fleet\n\temail = fleet@example.org\n"
        )
        for host in self.hosts:
            address, port = self.net.reach(HUB, host, "service")
            self.run(
                host, "join", str(self.place(host)), "--name", host, "--address", f"http://{address}:{port}",
                "--lease-seconds", f"{self.lease_s:g}",
            )  # fmt: skip

    def end(self) -> None:
        """End every process."""
        for host in self.hosts:
            self.kill(host)
        self.stop_git()
        servers.stop(self.folder / "servers")

    def place(self, host: str) -> Path:
        """Return the folder of homes of *host*."""
        return self.folder / host / "homes"

    @property
    def entrusted(self) -> Path:
        """The place in which homes are given to the fleet."""
        return self.folder / "entrusted"

    def remote(self, home: str) -> Path:
        """Return the bare repository of *home*."""
        return self.folder / "git" / f"{home}.git"

    def service(self, host: str) -> str:
        """Return the address at which clients in the hub reach the service of *host*."""
        address, port = self.net.reach(HUB, host, "service")
        return f"http://{address}:{port}"

    def environment(self, host: str) -> dict[str, str]:
        """Return the variables of the processes of *host*."""
        registry, git = (self.net.reach(host, HUB, service) for service in ("registry", "git"))
        return {
            **os.environ, "AGENT_HOME_STATE": str(self.folder / host / "state"), "HOME": str(self.folder / host),
            "AGENT_HOME_DATABASE_URL": f"postgresql://postgres@{registry[0]}:{registry[1]}/postgres",
            "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1",
            "FLEET_GIT": f"{git[0]}:{git[1]}", "AGENT_HOME_SERVICE": "0",
        }  # fmt: skip

    def run(self, host: str, *words: str) -> str:
        """Run ``memory fleet`` on *host* to its end, and return what it printed."""
        (self.folder / host).mkdir(exist_ok=True)
        command = self.net.command(host, [_MEMORY, "fleet", *words])
        done = subprocess.run(
            command, env=self.environment(host), capture_output=True, text=True, check=False, timeout=_PATIENCE_S
        )
        if done.returncode > 1:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    def start(self, host: str, *kinds: str) -> None:
        """Start the processes of *host*, or some of them."""
        address, port = self.net.listen(host, "service")
        bound = "0.0.0.0" if address.startswith("10.") else address  # noqa: S104 - in a namespace
        words = {
            "host": ["fleet", "host", str(self.place(host)), "--poll-seconds", "0.5"],
            "worker": ["fleet", "worker", str(self.place(host))],
            "serve": ["serve", "--http", f"{bound}:{port}", "--fleet", str(self.place(host))],
        }
        for kind in kinds or self.kinds:
            with (self.folder / host / f"{kind}.log").open("ab") as log:
                self._running[host, kind] = subprocess.Popen(
                    self.net.command(host, [_MEMORY, *words[kind]]), env=self.environment(host), stdout=log, stderr=log,
                    start_new_session=True, cwd=self.folder,
                )  # fmt: skip

    def kill(self, host: str, *kinds: str) -> None:
        """Kill all processes of *host*, or some of them, with everything that they started."""
        self.signal(host, signal.SIGKILL, *kinds)
        for kind in kinds or KINDS:
            process = self._running.pop((host, kind), None)
            if process is not None:
                process.wait()

    def signal(self, host: str, number: int, *kinds: str) -> None:
        """Send a signal to all processes of *host*, or to some of them and to what these started."""
        pids = None if kinds else self.net.processes(host)
        if pids is not None:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            return
        for kind in kinds or KINDS:
            process = self._running.get((host, kind))
            if process is not None and process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, number)

    def start_git(self) -> None:
        """Start the server of the remotes."""
        address, port = self.net.listen(HUB, "git")
        command = [_PYTHON, "-I", str(_GIT), "serve", address, str(port)]
        self._git = subprocess.Popen(self.net.command(HUB, command), start_new_session=True)

    def stop_git(self) -> None:
        """Kill the server of the remotes, with the git commands that run in it."""
        if self._git is not None:
            os.killpg(self._git.pid, signal.SIGKILL)
            self._git.wait()
            self._git = None

    def add(self, name: str, pattern: Path) -> None:
        """Give a copy of the home *pattern* to the fleet, straight into its repository."""
        remote, root = self.remote(name), self.entrusted  # records count in the place where they were signed
        remote.parent.mkdir(exist_ok=True)
        for words in (["init", "--quiet", "--bare", str(remote)],
                      ["-C", str(remote), "config", "core.logAllRefUpdates", "always"]):  # fmt: skip
            subprocess.run(["git", *words], check=True)
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(pattern, root)
        folder = self.folder / "entrusting"
        folder.mkdir(exist_ok=True)
        write_session(folder, HostSession(host="hub", incarnation="hub", boot=boot(), until=elapsed() + 60))
        entrust(
            Home(root),
            Lease(home=name, host="hub", incarnation="hub", epoch=0, remote=str(remote), folder=str(folder)),
        )
        with_registry(self.url, lambda registry: registry.add_home(name, f"ssh://git@fleet{remote}"))

    def homes(self) -> list[RegistryHome]:
        """Return the homes as the registry knows them."""
        return with_registry(self.url, lambda registry: registry.homes())

    def await_settled(self, patience_s: float = _PATIENCE_S) -> None:
        """Wait until every home is on a live host, without a problem."""
        await_true(
            lambda: all(home.arrived and not home.problem for home in self.homes()), patience_s,
            lambda: f"not settled: {[home for home in self.homes() if not home.arrived or home.problem][:5]}",
        )  # fmt: skip


def with_registry(url: str, act: Callable[[Registry], T]) -> T:
    """Return what *act* returns for a registry of its own."""
    registry = Registry(url)
    try:
        return act(registry)
    finally:
        registry.close()


def await_true(condition: Callable[[], bool], patience_s: float, problem: Callable[[], str]) -> None:
    """Wait until *condition* holds.

    Raises:
        TimeoutError: it does not within *patience_s* seconds.
    """
    until = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(problem())
        time.sleep(0.1)
