"""Own the connection to Redis, Valkey or DragonflyDB: one pool for each address and process.

A server that does not answer, or refuses (no memory, read-only, no access), is left alone for a while
(:class:`recall.servers.Backoff`). A call tries once, because the file of this machine takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import RecallError
from ..servers import REDIS_VARIABLE, Backoff, NoServer, ServerUnavailable, without_password
from .time_limit import within

if TYPE_CHECKING:
    from typing import TypeAlias

    #: An option says whether redis-py answers in bytes or texts, so its types say both.
    Client: TypeAlias = Any

__all__ = ["STEP_S", "RedisRefused", "RedisServer", "is_other_type", "or_none", "redis_server"]

#: Seconds for one call.
STEP_S = 1.0
_SERVER = "Redis"
#: Characters of the code of an error, and of a reason.
_MOST_CODE, _MOST_SAID = 20, 200
T = TypeVar("T")


class RedisRefused(ServerUnavailable):
    """The server answers, and does not do what it is asked."""

    def __init__(self, address: str, problem: str) -> None:
        RecallError.__init__(self, f"{_SERVER} at {without_password(address)} refuses: {problem}")
        self.server, self.address, self.problem = _SERVER, address, problem


class RedisServer:
    """The server at *url*.

    Raises:
        NoServer: the client is not installed, or *url* is no address.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.backoff = Backoff()
        self._client = _client(url)
        self._refused = False

    @property
    def shown(self) -> str:
        """The address as messages may show it."""
        return without_password(self.url)

    def run(self, work: Callable[[Client], T]) -> T:
        """Return what *work* returns, which gets the client and has :data:`STEP_S` seconds.

        Raises:
            ServerUnavailable: the server does not answer, or did not lately. :class:`RedisRefused` if it refuses.
        """
        wait = self.backoff.wait_s
        if wait:
            raise self._error(f"{self.backoff.problem}. Asked again in {max(1, round(wait))} s")
        return self.ask(work)

    def ask(self, work: Callable[[Client], T]) -> T:
        """Do what :meth:`run` does, also for a server that did not answer lately."""
        import redis

        try:
            with within(STEP_S):
                found = work(self._client)
        except (redis.ResponseError, redis.AuthenticationError, redis.BusyLoadingError) as error:
            self._refused = True
            self.backoff.failed(_refusal(error))
            raise self._error(_refusal(error)) from error
        except (redis.RedisError, OSError, ValueError) as error:  # ValueError: what answers there is no Redis
            self._refused = False
            self.backoff.failed(_loss(error))
            raise self._error(_loss(error)) from error
        self.backoff.succeeded()
        return found

    def _error(self, problem: str) -> ServerUnavailable:
        return RedisRefused(self.url, problem) if self._refused else ServerUnavailable(_SERVER, self.url, problem)

    def close(self) -> None:
        """Close the connections. The next use opens new ones."""
        self._client.connection_pool.disconnect()


_LOCK = Lock()
_SERVERS: dict[tuple[int, str], RedisServer] = {}


def redis_server(url: str) -> RedisServer:
    """Return the server at *url*. A process has one object for each address.

    Raises:
        NoServer: see :class:`RedisServer`.
    """
    key = os.getpid(), url  # a forked process must not share connections
    with _LOCK:
        if key not in _SERVERS:
            _SERVERS[key] = RedisServer(url)
        return _SERVERS[key]


def or_none(command: Callable[..., Any], *arguments: Any) -> Any:
    """Return what *command* of a client gives, and ``None`` where another program gave the key another type."""
    from redis.exceptions import ResponseError

    try:
        return command(*arguments)
    except ResponseError as error:
        if is_other_type(error):
            return None
        raise


def is_other_type(error: Exception) -> bool:
    """Return whether *error* says that a key has another type."""
    return str(error).rpartition("caused error: ")[2].startswith("WRONGTYPE")


def _client(url: str) -> Client:
    try:
        import redis
    except ImportError as error:
        raise NoServer("the client of Redis is not installed. Run pip install 'agent-home[redis]'") from error
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    from .bounded_connection import ANSWER_S, CONNECT_S, BoundedConnection, BoundedTls, BoundedUnix

    kinds = {"redis": BoundedConnection, "rediss": BoundedTls, "unix": BoundedUnix}
    try:
        options: dict[str, Any] = redis.connection.parse_url(url) | {  # type: ignore[no-untyped-call]
            "connection_class": kinds[url.partition("://")[0]], "socket_connect_timeout": CONNECT_S,
            "socket_timeout": ANSWER_S, "protocol": 2, "decode_responses": False, "retry": Retry(NoBackoff(), 0),
            "retry_on_error": [], "retry_on_timeout": False, "health_check_interval": 0,
        }  # fmt: skip
        pool = redis.ConnectionPool(**options)
        pool.connection_class(**pool.connection_kwargs)  # it connects at its first use, and reads its options now
    except (ValueError, TypeError, KeyError, redis.RedisError):  # which may say a part of the password
        problem = f"{REDIS_VARIABLE} is no address of Redis. Write redis://host:6379/0, rediss:// or unix://"
        raise NoServer(problem) from None
    return redis.Redis(connection_pool=pool)


def _refusal(error: Exception) -> str:
    """Return what the server refuses, in words of ours: an error may say anything, and a receipt shows it."""
    from redis import exceptions

    words = {
        exceptions.OutOfMemoryError: "its memory is full",
        exceptions.ReadOnlyError: "it is a replica, which is only read",
        exceptions.AuthenticationError: "the name or the password is wrong or missing",
        exceptions.NoPermissionError: "this user may not do that there",
        exceptions.BusyLoadingError: "it is still loading its data",
    }
    known = next((said for kind, said in words.items() if isinstance(error, kind)), "")
    code = str(error).rpartition("caused error: ")[2].partition(" ")[0]
    is_code = code.isascii() and code.isalpha() and code.isupper() and len(code) <= _MOST_CODE
    return known or (f"error {code}" if is_code else "an error")


def _loss(error: Exception) -> str:
    """Return in one line why there is no answer."""
    from redis import exceptions

    if isinstance(error, ValueError | exceptions.InvalidResponse) and not isinstance(error, OSError):
        return "what answers there is no Redis server"
    said = " ".join("".join(char if char.isprintable() else " " for char in str(error)).split())
    return said[:_MOST_SAID].rstrip(".") or type(error).__name__
