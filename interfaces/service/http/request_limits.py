"""Own the limits of requests: how large a body is, how many connections a port has, how long a client may keep one.

uvicorn limits none of them: a thousand connections that say nothing, or that read no answer, would use up the files
that a process may open.
"""

from __future__ import annotations

import asyncio
import contextlib

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["MOST_CONNECTIONS", "BodyLimit", "BodyTooLarge", "LimitedConnection"]

#: Connections over a port at the same time. Those over sockets are this user's own programs, and are not counted.
MOST_CONNECTIONS = 256
#: Seconds in which a whole request arrives, and in which a client reads a part of its answer.
_PATIENCE_S = 30.0
#: The same, while the service ends.
_PARTING_S = 2.0
#: Seconds after which the next answer is the last one of its connection.
_LIFE_S = 300.0
#: Seconds between two looks at what a client has read.
_LOOK_S = 1.0
#: Seconds that a new connection has for its first request, and a client for reading, before a newcomer takes its place.
_SETTLED_S, _STALLED_S = 1.0, 5.0
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
    """A connection that ends when its client does not ask or read, when it is old, or when a new one needs its place.

    A client that reads its answers and makes a new connection after ``Connection: close`` notices nothing.
    """

    _arriving: asyncio.TimerHandle | None = None
    _looking: asyncio.TimerHandle | None = None
    _ending = False
    #: Size of the answers that the client had not read at the last look, and when that became smaller.
    _unread, _progress = 0, 0.0
    #: When the connection, past its life, was first seen to wait for the client alone.
    _overdue: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request. At a full port, end a connection that is not used, or else answer 503."""
        super().connection_made(transport)
        self._made = self._idle_since = self._progress = self.loop.time()
        if not self.over_port:
            return
        others = [one for one in self.connections if isinstance(one, LimitedConnection) and one.is_open]
        if len(others) > MOST_CONNECTIONS:
            unused = [(since, one) for one in others if (since := one.unused_since()) is not None]
            if not unused:
                transport.write(_BUSY)
                transport.close()
                return
            min(unused, key=lambda pair: pair[0])[1].transport.abort()
        self._wait()
        self._look()

    def data_received(self, data: bytes) -> None:
        """Read *data*. The time of a request does not begin anew with each part of it."""
        super().data_received(data)
        if self.conn.their_state in {h11.IDLE, h11.SEND_BODY}:
            self._wait()
        else:
            self._stop_waiting()

    def handle_events(self) -> None:
        """Answer what has arrived. The answer of an old connection says that it is the last one."""
        super().handle_events()
        if self.over_port and self._is_at_work and self.loop.time() - self._made >= _LIFE_S:
            self.cycle.default_headers = [*self.server_state.default_headers, CLOSE_HEADER]

    def on_response_complete(self) -> None:
        """Note since when the connection is not used, and go on with the next request."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def shutdown(self) -> None:
        """End the connection after the answer that is being made. A client that does not read has two seconds."""
        with contextlib.suppress(h11.LocalProtocolError):  # what was sent before was no whole answer
            super().shutdown()
        if not self._is_at_work:
            self.transport.close()
        self._ending = True
        if self._arriving is not None:
            self._stop_waiting()
            self._arriving = self.loop.call_later(_PARTING_S, self.transport.abort)
        if self._looking is None:  # of a socket
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    @property
    def over_port(self) -> bool:
        """True for a connection over a port, and not over a socket of this user."""
        return self.server is not None and self.server[1] is not None

    @property
    def is_open(self) -> bool:
        """True while it takes one of the places of the port: also when it is closed and its answer is not read yet."""
        return self.over_port and (not self.transport.is_closing() or self.transport.get_write_buffer_size() > 0)

    @property
    def _is_at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def unused_since(self) -> float | None:
        """Return since when the client has asked and read nothing, or ``None`` if the connection is used."""
        now = self.loop.time()
        if self.transport.get_write_buffer_size():
            return self._progress if now - self._progress >= _STALLED_S else None
        is_new = not self.headers and now - self._made < _SETTLED_S  # its first request may be on its way
        if self._is_at_work or is_new:
            return None
        return self._idle_since

    def _look(self) -> None:
        """Abort the connection if the client reads no answer, now and every second."""
        now, unread = self.loop.time(), self.transport.get_write_buffer_size()
        patience = _PARTING_S if self._ending else _PATIENCE_S
        if not unread or unread < self._unread:
            self._progress = now
        self._unread = unread
        if not unread or not (self.transport.is_closing() or self.flow.write_paused) or now - self._made < _LIFE_S:
            self._overdue = None
        elif self._overdue is None:
            self._overdue = now
        since = self._progress if self._overdue is None else min(self._progress, self._overdue)
        if now - since >= patience:
            self.transport.abort()
        else:
            self._looking = self.loop.call_later(min(_LOOK_S, patience), self._look)

    def _wait(self) -> None:
        if self._arriving is None and self.over_port:
            self._arriving = self.loop.call_later(_PATIENCE_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None
