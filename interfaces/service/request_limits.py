"""Own the limits of requests: how large a body is, how many connections a port has, how long a request may arrive.

uvicorn limits none of them: a thousand connections that say nothing would use up the files that a process may open.
"""

from __future__ import annotations

import asyncio

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["MOST_CONNECTIONS", "BodyLimit", "BodyTooLarge", "LimitedConnection"]

#: Connections over a port at the same time. Those over sockets are this user's own programs, and are not counted.
MOST_CONNECTIONS = 256
#: Seconds in which a whole request arrives, and a connection without a request is closed.
_PATIENCE_S = 30.0
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class BodyTooLarge(Exception):
    """A body has more bytes than the service reads."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"more than {most_bytes} bytes")
        self.most_bytes = most_bytes


class BodyLimit:
    """Middleware that lets at most *most_bytes* of a body through. Commands over a socket have no limit."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app, self._most = app, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/command":
            await self._app(scope, receive, send)
            return
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                raise BodyTooLarge(self._most)
            return message

        await self._app(scope, limited, send)


class LimitedConnection(H11Protocol):
    """A connection that is closed when it is one too many, or when its request does not arrive."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Answer 503 to a connection too many, and wait for the first request of any other."""
        super().connection_made(transport)
        if not self.over_port:
            return
        others = (one for one in self.connections if isinstance(one, LimitedConnection))
        if sum(one.over_port for one in others) > MOST_CONNECTIONS:
            transport.write(_BUSY)
            transport.close()
            return
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read *data*. The time of a request does not begin anew with each part of it."""
        super().data_received(data)
        if self.conn.their_state in {h11.IDLE, h11.SEND_BODY}:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def over_port(self) -> bool:
        """True for a connection over a port, and not over a socket of this user."""
        return self.server is not None and self.server[1] is not None

    def _wait(self) -> None:
        if self._patience is None and self.over_port:
            self._patience = self.loop.call_later(_PATIENCE_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
