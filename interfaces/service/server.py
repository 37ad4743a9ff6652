"""Run the service of one or several homes: their sockets, at most one port, and the end after an idle time."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

import anyio.to_thread
import uvicorn
from starlette.types import ASGIApp

from agent_home import storage
from agent_home.errors import HomeError, Locked
from agent_home.home import Home
from agent_home.lock import hold
from interfaces.fleet.routing import HomeRoutes

from .forwarding.command_runner import run_command
from .forwarding.socket_place import short_path, socket_path
from .http.activity import Activity
from .http.app import application
from .http.callers import Callers
from .http.jobs import Jobs
from .http.problem import LOGGER
from .http.request_limits import LimitedConnection
from .http.session_endpoints import start_left_closings
from .page_server import local_address
from .routing.home_router import ForwardMode, HomeRouter
from .settings import ServeSettings

__all__ = ["AlreadyServed", "serve"]

#: Seconds after which another thread may run, so that the service says its yes in time.
_SWITCH_S = 0.001
#: Seconds that running requests may take when the service is asked to end.
_GRACE_S = 30
#: Seconds between two tries of a closing that failed.
_RETRY_S, _RETRY_IN_FLEET_S = 300.0, 10.0
_BACKLOG = 128
#: Requests that are worked on at the same time. More threads wait for one interpreter and hold memory of the models.
_THREADS = 8


class AlreadyServed(HomeError):
    """Another process serves the home."""

    def __init__(self, home: Home) -> None:
        super().__init__(f"another process serves {home.root}, and commands use it. `memory serve --stop` ends it")
        self.home = home


def serve(
    homes: Sequence[Home],
    *,
    settings: ServeSettings,
    idle_s: float,
    port: tuple[str, int] | None = None,
    hosts: Sequence[str] = (),
    fleet: HomeRoutes | None = None,
    redirect: bool = False,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve *homes* until a signal, a request to stop, or *idle_s* seconds without requests. 0 means no such limit.

    Closings that an earlier service promised are done first. A request to stop waits for those that are promised. A
    signal waits for those that run.

    *port* is the address and port of HTTP, if any, and *hosts* further names under which it answers. *ready* is called
    when every socket listens.

    With *fleet*, the port answers for the homes that this host has at the time, and brings requests for others to their
    hosts, or with *redirect* says where they are. There are no sockets and no page then.

    Raises:
        AlreadyServed: another process serves one of them.
        OSError: a socket cannot be made, or the port is taken.
    """
    sys.setswitchinterval(_SWITCH_S)
    _log_to_standard_error()
    activity = Activity(idle_s)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(_listening(home)) for home in homes]
        by_address = {made.getsockname(): home for made, home in zip(sockets, homes, strict=True)}
        address = ""
        if port is not None:
            sockets.append(stack.enter_context(socket.create_server(port, backlog=_BACKLOG)))
            address = local_address(sockets[-1]) if fleet is None else ""
        ready()
        callers = Callers(by_address, hosts=hosts, per_minute=settings.requests_per_minute)
        jobs = Jobs()
        app: ASGIApp = application(
            callers, activity, jobs=jobs, max_body_bytes=settings.max_body_bytes, address=address
        )
        if fleet is not None:
            mode: ForwardMode = "redirect" if redirect else "forward"
            app = HomeRouter(app, routes=fleet, mode=mode, max_body_bytes=settings.max_body_bytes)
        config = uvicorn.Config(
            app,
            log_level="warning", access_log=False, lifespan="off", ws="none",
            server_header=False, timeout_graceful_shutdown=_GRACE_S, http=LimitedConnection,
        )  # fmt: skip
        warm_up = threading.Thread(target=_warm_up, args=(homes,), name="warm-up")
        warm_up.start()
        signal.signal(signal.SIGTERM, _end)
        in_peace = False
        try:
            served = (lambda: homes) if fleet is None else fleet.held
            asyncio.run(_run(uvicorn.Server(config), sockets, activity, jobs, served, _retry_s(fleet)))
            in_peace = True
        finally:
            jobs.close(finish=in_peace)  # after a signal, closings that do not run yet wait for the next service
            warm_up.join()  # the interpreter must not end while a library loads


def _end(_number: int, _frame: FrameType | None) -> None:
    """End the process. The server raises the signal again when it is done, and the sockets are still there."""
    raise SystemExit(0)


def _log_to_standard_error() -> None:
    if not LOGGER.handlers:
        LOGGER.addHandler(logging.StreamHandler(sys.stderr))
        LOGGER.setLevel(logging.INFO)
        LOGGER.propagate = False


def _retry_s(fleet: HomeRoutes | None) -> float:
    """Return the seconds between two looks for promised closings. In a fleet, homes come with some."""
    return _RETRY_S if fleet is None else _RETRY_IN_FLEET_S


async def _run(
    server: uvicorn.Server, sockets: list[socket.socket], activity: Activity, jobs: Jobs,
    served: Callable[[], Sequence[Home]], retry_s: float,
) -> None:  # fmt: skip
    async def end_when_over() -> None:
        await activity.wait()
        server.should_exit = True

    async def keep_promises() -> None:
        while True:
            for home in await anyio.to_thread.run_sync(served):
                start_left_closings(jobs, activity, home)
            await asyncio.sleep(retry_s)

    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    tasks = [asyncio.create_task(end_when_over()), asyncio.create_task(keep_promises())]
    try:
        await server.serve(sockets=sockets)
    finally:
        for task in tasks:
            task.cancel()


@contextlib.contextmanager
def _listening(home: Home) -> Iterator[socket.socket]:
    """Hold the home's service lock and listen on its socket. A socket that a killed service left is replaced."""
    place = socket_path(home.root)
    storage.make_folder(place.parent)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold(place.with_suffix(".lock"), 0))
        except Locked as error:
            raise AlreadyServed(home) from error
        place.unlink(missing_ok=True)
        made = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        with short_path(place) as name:
            before = os.umask(0o177)
            try:
                made.bind(name)
            finally:
                os.umask(before)
        made.listen(_BACKLOG)
        stack.callback(place.unlink, missing_ok=True)
        yield made


def _warm_up(homes: Sequence[Home]) -> None:
    """Load the models, the index and the modules of each home, as its first prompt would, and note no prompt."""
    importlib.import_module("assembler.recalled.searcher")
    importlib.import_module("assembler.prompt")
    for home in homes:
        run_command(["search", "warm up", "--home", str(home.root)], home.root, {})
    # What is loaded now stays. The collector would look at all of it again and again, for tens of milliseconds.
    gc.collect()
    gc.freeze()
