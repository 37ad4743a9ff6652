"""Run the service of one or several homes: their sockets, at most one port, and the end after an idle time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import threading
from collections.abc import Iterator, Sequence

import uvicorn

from agent_home import storage
from agent_home.errors import HomeError, Locked
from agent_home.home import Home
from agent_home.lock import hold

from .activity import Activity
from .app import application
from .command_runner import run_command
from .socket_place import short_path, socket_path

__all__ = ["AlreadyServed", "serve"]

#: Seconds after which another thread may run, so that the service says its yes in time.
_SWITCH_S = 0.001
#: Seconds that running requests may take when the service is asked to end.
_GRACE_S = 30
_BACKLOG = 128


class AlreadyServed(HomeError):
    """Another process serves the home."""

    def __init__(self, home: Home) -> None:
        super().__init__(f"another process serves {home.root}, and commands use it. `memory serve --stop` ends it")
        self.home = home


def serve(homes: Sequence[Home], *, idle_s: float) -> None:
    """Serve *homes* until a signal, a request to stop, or *idle_s* seconds without requests. 0 means no such limit.

    Raises:
        AlreadyServed: another process serves one of them.
        OSError: a socket cannot be made.
    """
    sys.setswitchinterval(_SWITCH_S)
    activity = Activity(idle_s)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(_listening(home)) for home in homes]
        config = uvicorn.Config(
            application(activity), log_level="warning", access_log=False, lifespan="off", ws="none",
            server_header=False, timeout_graceful_shutdown=_GRACE_S,
        )  # fmt: skip
        threading.Thread(target=_warm_up, args=(homes,), name="warm-up", daemon=True).start()
        asyncio.run(_run(uvicorn.Server(config), sockets, activity))


async def _run(server: uvicorn.Server, sockets: list[socket.socket], activity: Activity) -> None:
    async def end_when_over() -> None:
        await activity.wait()
        server.should_exit = True

    watch = asyncio.create_task(end_when_over())
    try:
        await server.serve(sockets=sockets)
    finally:
        watch.cancel()


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
    """Load the models and the index of each home, as its first prompt would."""
    for home in homes:
        run_command(["prompt", "--message", "warm up", "--home", str(home.root)], home.root, {})
