"""A real ``memory serve`` as a process of its own, and requests to the service's application without a process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_home.home import Home
from interfaces.service.forwarding.socket_place import socket_path
from interfaces.service.http.activity import Activity
from interfaces.service.http.app import application
from interfaces.service.http.callers import Callers

__all__ = [
    "MEMORY", "PATIENCE_S", "RunningService", "ask_app", "environment", "free_port", "is_gone", "made_app",
    "run_memory", "running", "until",
]  # fmt: skip

#: A shell that runs tests in the background ignores Ctrl-C for all of its processes.
MEMORY = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from interfaces.entry import main; main()"
)
#: Nobody waits so long; a busy machine may.
PATIENCE_S = 150.0


def environment(**changes: str) -> dict[str, str]:
    """Return the variables of the tests' processes, the same in every fixture and test."""
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    kept = {name: value for name, value in os.environ.items() if name not in {"AGENT_HOME", "AGENT_HOME_SERVICE"}}
    return {**kept, **own, **changes}


def run_memory(
    *arguments: str | bytes, folder: Path | None = None, **changes: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the console script to its end, as a shell does."""
    command: list[str | bytes] = [sys.executable, "-c", MEMORY, *arguments]
    return subprocess.run(
        command, capture_output=True, check=False, timeout=PATIENCE_S, cwd=folder, env=environment(**changes)
    )


def free_port() -> int:
    """Return a port of the loopback address on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        port: int = made.getsockname()[1]
        return port


def until(what: str, true: Any) -> None:
    """Wait until the function *true* returns a true value."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def is_gone(group: int) -> bool:
    """Return whether no process of that group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


class RunningService:
    """A running service of *roots*. Its process leads a group of its own."""

    def __init__(
        self, roots: Sequence[Path], options: Sequence[str], *, http: bool, changes: Mapping[str, str]
    ) -> None:
        self.roots = list(roots)
        self.port = free_port() if http else 0
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - closed with the service
        homes = [word for root in roots for word in ("--home", str(root))]
        address = ["--http", f"127.0.0.1:{self.port}"] if http else []
        self.process = subprocess.Popen(
            [sys.executable, "-c", MEMORY, "serve", *homes, *address, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, env=environment(**changes),
            start_new_session=True, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline()
        assert self.ready.startswith("serving "), self.log()
        self.pid = self.process.pid

    def log(self) -> str:
        """Return what the service wrote to standard error so far."""
        return os.pread(self._log.fileno(), 1 << 24, 0).decode()

    def wait(self) -> int:
        """Return the exit code of the service."""
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """Kill the service and what it started, as a crash would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()

    def close(self) -> None:
        """End the service, whatever its state is."""
        self.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._log.close()


@contextlib.contextmanager
def running(*roots: Path, options: Sequence[str] = (), http: bool = False, **changes: str) -> Iterator[RunningService]:
    """Run a service for the block, and kill it behind it."""
    service = RunningService(roots, options, http=http, changes=changes)
    try:
        yield service
    finally:
        service.close()


def made_app(
    *homes: Home, per_minute: int = 600, max_body_bytes: int = 1 << 20, activity: Activity | None = None
) -> ASGIApp:
    """Return the application of the service, whose sockets are those of *homes*."""
    callers = Callers({str(socket_path(home.root)): home for home in homes}, per_minute=per_minute)
    return application(callers, activity or Activity(0), max_body_bytes=max_body_bytes)


def ask_app(app: ASGIApp, method: str, path: str, *, over: str = "", token: str = "", **request: Any) -> httpx.Response:
    """Send one request to *app*: over the socket *over*, else over a port of this machine with *token*."""

    async def addressed(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "server": (over, None) if over else ("127.0.0.1", 80)}, receive, send)

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(addressed)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, headers=headers, **request)

    headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **request.pop("headers", {})}
    return asyncio.run(ask())
