"""Own MCP over HTTP: the holder of a bearer token asks, under a known name, and no web page of another site does."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

import uvicorn
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_home.home import Home

from ..service.http.callers import Callers
from ..service.http.problem import HttpProblem
from ..service.http.request_limits import LimitedConnection
from ..service.settings import ServeSettings
from .server import CALLER, MemoryServer

__all__ = ["PATH", "application", "serve_http"]

PATH = "/mcp"
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
_GRACE_S = 5
_NO_STREAM = Response("send requests with POST", 405, headers={"Allow": "POST"})


def application(home: Home, *, settings: ServeSettings, hosts: Sequence[str] = (), connector: bool = False) -> ASGIApp:
    """Return the application for *home*, which answers under the names of this machine and *hosts*."""
    server = MemoryServer(None, connector=connector)
    answering = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True,
        max_request_body_size=settings.max_body_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # checked before
    )  # fmt: skip
    callers = Callers({str(home.root): home}, per_minute=settings.requests_per_minute)
    names = TransportSecurityMiddleware(_known_names(hosts))

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await answering(scope, receive, send)
            return
        if scope["method"] == "GET":  # nothing is ever sent unasked, and such a stream would stay open
            await _NO_STREAM(scope, receive, send)
            return
        request = Request(scope)
        refused = await names.validate_request(request)
        if refused is not None:
            await refused(scope, receive, send)
            return
        try:
            caller = await run_in_threadpool(callers.identify, request)
        except HttpProblem as problem:
            response = JSONResponse({"error": str(problem)}, problem.status, headers=problem.headers)
            await response(scope, receive, send)
            return
        await answering({**scope, CALLER: caller}, receive, send)

    return answer


def serve_http(
    home: Home,
    port: tuple[str, int],
    *,
    settings: ServeSettings,
    hosts: Sequence[str] = (),
    connector: bool = False,
    ready: Callable[[int], None] = lambda _port: None,
) -> None:
    """Serve *home* until a signal. *ready* gets the number of the port when it listens.

    Raises:
        OSError: the port is taken.
    """
    app = application(home, settings=settings, hosts=hosts, connector=connector)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="none", server_header=False, timeout_graceful_shutdown=_GRACE_S,
        http=LimitedConnection,
    )  # fmt: skip
    with socket.create_server(port, family=socket.AF_INET6 if ":" in port[0] else socket.AF_INET) as listening:
        ready(listening.getsockname()[1])
        uvicorn.Server(config).run(sockets=[listening])


def _known_names(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the values of ``Host`` and ``Origin`` that are answered, with any port."""
    names = [*_LOCAL_NAMES, *hosts]
    return TransportSecuritySettings(
        allowed_hosts=[value for name in names for value in (name, f"{name}:*")],
        allowed_origins=[
            value
            for name in names
            for scheme in ("http", "https")
            for value in (f"{scheme}://{name}", f"{scheme}://{name}:*")
        ],
    )
