"""Serve the page of one home alone, to a person on this machine, until Ctrl-C."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

import uvicorn

from agent_home import clock
from agent_home.errors import HomeError
from agent_home.home import Home

from ..page.access import sign_all_out
from .forwarding.command_runner import run_command
from .forwarding.socket_place import socket_path
from .http.activity import Activity
from .http.app import page_application
from .http.callers import Callers
from .http.request_limits import LimitedConnection

__all__ = ["local_address", "serve_page"]

#: Port of the page, unless another program has it.
_PORT = 8377
_GRACE_S = 5


def serve_page(home: Home, *, ready: Callable[[str], None]) -> None:
    """Serve the page of *home* on this machine's own address. *ready* gets host and port when it listens.

    With the page its browsers are signed out: whoever takes the port next is sent their cookies.
    """
    callers = Callers({str(socket_path(home.root)): home})
    config = uvicorn.Config(
        page_application(callers, Activity(0)), log_level="warning", access_log=False, lifespan="off", ws="none",
        server_header=False, timeout_graceful_shutdown=_GRACE_S, http=LimitedConnection,
    )  # fmt: skip
    with _listening() as made:
        ready(local_address(made))
        threading.Thread(target=_warm_up, args=(home,), name="warm-up").start()
        try:
            with contextlib.suppress(KeyboardInterrupt):  # a person ends the page so
                uvicorn.Server(config).run(sockets=[made])
        finally:
            with contextlib.suppress(HomeError, OSError):
                sign_all_out(home, clock.now())


def local_address(listening: socket.socket) -> str:
    """Return host and port under which a browser on this machine reaches a socket that listens."""
    host, port = listening.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"{name}:{port}"


def _listening() -> socket.socket:
    """Return a socket at the usual port, or at a free one."""
    with contextlib.suppress(OSError):
        return socket.create_server(("127.0.0.1", _PORT))
    return socket.create_server(("127.0.0.1", 0))


def _warm_up(home: Home) -> None:
    """Load the model and the index, so that the first search does not wait for them."""
    run_command(["search", "warm up", "--home", str(home.root)], home.root, {})
