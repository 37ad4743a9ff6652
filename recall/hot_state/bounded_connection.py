"""Own connections to Redis that keep to the limit of the thread (``recall.hot_state.time_limit``).

redis-py limits each read of a socket. A server that stops in an answer, sends it byte by byte, or has a value of half a
gigabyte would hold a prompt up all the same, and so would a name service that does not answer.
"""

from __future__ import annotations

import socket
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from redis import Connection, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import ConnectionError as LostConnection

from .time_limit import MOST_BYTES, remaining_s, take_bytes

__all__ = ["ANSWER_S", "CONNECT_S", "BoundedConnection", "BoundedTls", "BoundedUnix"]

#: Seconds to look up a name, to connect and to agree on how to talk.
CONNECT_S = 0.2
#: Seconds for an answer, where the thread has no other limit.
ANSWER_S = 1.0


class _BoundedSocket:
    """A socket whose every call keeps to the limit of the thread that makes it, and to *most_s* seconds."""

    def __init__(self, inner: socket.socket, most_s: float) -> None:
        self._inner, self._most_s = inner, most_s
        inner.settimeout(most_s)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def settimeout(self, seconds: float | None) -> None:
        self._most_s = CONNECT_S if seconds is None else seconds
        self._inner.settimeout(self._most_s)

    def recv(self, count: int, *flags: int) -> bytes:
        self._limit()
        data = self._inner.recv(count, *flags)
        _count(len(data))
        return data

    def recv_into(self, buffer: Any, *given: Any) -> int:
        self._limit()
        count = self._inner.recv_into(buffer, *given)
        _count(count)
        return count

    def sendall(self, data: Any) -> None:
        self._limit()
        self._inner.sendall(data)

    def _limit(self) -> None:
        if self._most_s:  # redis-py looks without a wait, 0 s, whether a connection has something to read
            self._inner.settimeout(remaining_s(self._most_s))


def _count(size: int) -> None:
    if not take_bytes(size):
        raise LostConnection(f"an answer has more than {MOST_BYTES >> 20} MB")


class _Bounded:
    """A connection of any kind, whose socket keeps to the limit."""

    def _connect(self) -> Any:
        try:
            remaining_s(CONNECT_S)
            return _BoundedSocket(super()._connect(), ANSWER_S)  # type: ignore[misc]
        except TimeoutError as error:  # redis-py 8 looks for a port then, which a socket of this machine has not
            raise LostConnection("it took too long to connect") from error


class _QuickTcp(Connection):
    """A connection whose name look-up and addresses share the time to connect."""

    def _connect(self) -> socket.socket:
        problem: OSError = OSError("the name has no address")
        for family, kind, protocol, _name, address in _addresses(self.host, self.port):
            made = socket.socket(family, kind, protocol)
            try:
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                made.settimeout(remaining_s(CONNECT_S))
                made.connect(address)
            except OSError as error:
                made.close()
                problem = error
            else:
                return made
        raise problem


class BoundedConnection(_Bounded, _QuickTcp):
    """A connection over TCP."""


class BoundedTls(_Bounded, SSLConnection, _QuickTcp):
    """A connection over TCP with TLS."""


class BoundedUnix(_Bounded, UnixDomainSocketConnection):
    """A connection over a socket of this machine."""


def _addresses(host: str, port: int) -> list[Any]:
    """Return the addresses of *host* as :func:`socket.getaddrinfo` does, which has no limit of time by itself.

    Raises:
        OSError: the name is unknown, or nobody says in time.
    """
    found: SimpleQueue[list[Any] | OSError] = SimpleQueue()

    def look_up() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.put(OSError(f"the name {host} is unknown: {error}"))

    Thread(target=look_up, daemon=True).start()
    try:
        answer = found.get(timeout=remaining_s(CONNECT_S))
    except Empty:
        raise TimeoutError(f"the name {host} was not looked up in time") from None
    if isinstance(answer, OSError):
        raise answer
    return answer
