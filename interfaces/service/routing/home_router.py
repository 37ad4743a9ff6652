"""Bring each request to the host of the home that it names: answer it here, forward it, or redirect the client.

A request names its home by the beginning of its path, ``/homes/NAME/...``, or by the header ``X-Agent-Home``. It is
forwarded once at most. The host that it comes to checks the token, and says 421 if the home is not there.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import AsyncIterator, Iterable
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_home.home import Home
from agent_home.home_location import MANIFEST
from agent_home.visible import visible_line
from interfaces.fleet.routing import AtHost, HomeRoutes, Nowhere

from ..http.problem import LOGGER
from .scope_keys import HOME_IN_SCOPE

__all__ = ["ForwardMode", "HomeRouter"]

ForwardMode = Literal["forward", "redirect"]
_PREFIX, _HEADER, _HOPS, _ADDRESS = "/homes/", "x-agent-home", "x-agent-home-hops", "X-Agent-Home-Address"
_RETRY_S = 2
#: Seconds to connect to another host, and to wait for each part of its answer.
_CONNECT_S, _ANSWER_S = 5.0, 120.0
#: Requests that wait for other hosts. They have threads of their own, so that a host that hangs does not keep this one
#: from answering for its homes.
_MOST_FORWARDED = 64
_CHUNK_BYTES = 64 << 10
_MISDIRECTED, _FIRST_ERROR = 421, 400
#: Headers that are about one connection.
_OF_CONNECTION = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "host", "content-length", "expect", _HOPS,
})  # fmt: skip


class HomeRouter:
    """Middleware that finds the home of each request. Requests without one, such as for ``/health``, pass."""

    def __init__(
        self, app: ASGIApp, *, routes: HomeRoutes, mode: ForwardMode = "forward", max_body_bytes: int = 1 << 20
    ) -> None:
        self._app, self._routes, self._mode, self._most = app, routes, mode, max_body_bytes
        self._threads = CapacityLimiter(_MOST_FORWARDED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        name, inner = _named(scope, headers)
        if not name:
            await self._app(scope, receive, send)
            return
        route = await run_in_threadpool(self._routes.find, name)
        if isinstance(route, Home):
            prefix = scope["path"].removesuffix(inner["path"])
            await self._app({**inner, HOME_IN_SCOPE: route}, receive, _for_home(send, route, prefix))
            return
        answer = await self._elsewhere(name, route, scope, receive, headers)
        await answer(scope, receive, send)

    async def _elsewhere(
        self, name: str, route: AtHost | Nowhere, scope: Scope, receive: Receive, headers: Headers
    ) -> Response:
        if isinstance(route, Nowhere):
            return _refusal(route)
        if headers.get(_HOPS):
            return _misdirected(name, route)
        if self._mode == "redirect":
            return Response(
                status_code=307, headers={"Location": f"{route.address}{_target(scope)}", "Cache-Control": "no-store"}
            )
        body = await _body(receive, self._most)
        if body is None:
            return JSONResponse({"error": f"the body is larger than {self._most} bytes"}, 413)
        answer = await self._forward(route, scope, headers, body)
        if answer is not None and answer.status_code == _MISDIRECTED:  # it has moved on since the registry was asked
            self._routes.forget(name)
            again = await run_in_threadpool(self._routes.find, name)
            if isinstance(again, AtHost) and again != route:
                answer = await self._forward(again, scope, headers, body)
        if answer is None or answer.status_code == _MISDIRECTED:
            return _refusal(Nowhere(reason=f"the host {route.host} does not answer for the home {name}. Ask again"))
        return answer

    async def _forward(self, route: AtHost, scope: Scope, headers: Headers, body: bytes) -> Response | None:
        """Return what the other host answers, or ``None`` if it does not."""
        asked = partial(_asked, route, scope, headers, body)
        found = await to_thread.run_sync(asked, limiter=self._threads)
        if found is None:
            return None
        connection, answer = found
        if answer.status == _MISDIRECTED:
            connection.close()
            return Response(status_code=_MISDIRECTED)
        parts = _parts(connection, answer, self._threads)
        return StreamingResponse(parts, answer.status, headers=_kept(answer.getheaders()))


def _named(scope: Scope, headers: Headers) -> tuple[str, Scope]:
    """Return the home that a request names, and the scope without that name in its path."""
    path: str = scope["path"]
    if not path.startswith(_PREFIX):
        return headers.get(_HEADER, ""), scope
    name, _, rest = path.removeprefix(_PREFIX).partition("/")
    raw: bytes = scope.get("raw_path") or path.encode()
    raw_rest = raw.removeprefix(_PREFIX.encode()).partition(b"/")[2]
    return name, {**scope, "path": f"/{rest}", "raw_path": b"/" + raw_rest}


def _for_home(send: Send, home: Home, prefix: str) -> Send:
    """Return *send* for the answers about *home*.

    *prefix* comes before the path of a ``Location``, so that it leads to the same home. An error that comes because the
    home went to another host meanwhile asks the client to try again.
    """

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if prefix and headers.get("location", "").startswith("/"):
                headers["location"] = f"{prefix}{headers['location']}"
            if message["status"] >= _FIRST_ERROR and not (home.root / MANIFEST).exists():
                message["status"] = 503
                headers["retry-after"] = str(_RETRY_S)
        await send(message)

    return sent


def _target(scope: Scope) -> str:
    """Return path and query of a request as the client wrote them."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string", b"")
    return (raw + (b"?" + query if query else b"")).decode("latin-1")


def _refusal(nowhere: Nowhere) -> Response:
    if not nowhere.known:
        return JSONResponse({"error": nowhere.reason}, 404)
    return JSONResponse({"error": nowhere.reason}, 503, headers={"Retry-After": str(_RETRY_S)})


def _misdirected(name: str, route: AtHost) -> Response:
    text = f"the home {name} is not on this host"
    return JSONResponse({"error": text}, _MISDIRECTED, headers={_ADDRESS: route.address})


async def _body(receive: Receive, most: int) -> bytes | None:
    """Return the body of a request, or ``None`` if it has more than *most* bytes."""
    data = bytearray()
    while True:
        message = await receive()
        data += message.get("body", b"")
        if len(data) > most:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return bytes(data)


def _asked(
    route: AtHost, scope: Scope, headers: Headers, body: bytes
) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse] | None:
    """Return the beginning of what the other host answers, or ``None`` if it does not."""
    address = urlsplit(route.address)
    sent = {name: value for name, value in headers.items() if name not in _OF_CONNECTION}
    client = scope.get("client")
    before = f"{sent['x-forwarded-for']}, " if "x-forwarded-for" in sent else ""
    sent |= {_HOPS: "1", "x-forwarded-for": f"{before}{client[0]}"} if client else {_HOPS: "1"}
    connection = _connection(address.scheme, address.hostname or "", address.port)
    try:
        connection.connect()
        connection.sock.settimeout(_ANSWER_S)
        connection.request(scope["method"], f"{address.path}{_target(scope)}", body=body, headers=sent)
        return connection, connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        LOGGER.warning("the host %s does not answer: %s", visible_line(route.host), type(error).__name__)
        return None


def _connection(scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=_CONNECT_S, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port, timeout=_CONNECT_S)


def _kept(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: value for name, value in headers if name.lower() not in _OF_CONNECTION - {"content-length"}}


async def _parts(
    connection: http.client.HTTPConnection, answer: http.client.HTTPResponse, threads: CapacityLimiter
) -> AsyncIterator[bytes]:
    try:
        while part := await to_thread.run_sync(answer.read, _CHUNK_BYTES, limiter=threads):
            yield part
    finally:
        connection.close()
