"""Connections to PostgreSQL, lent from one pool for each address and process.

A lost or refused connection raises :class:`recall.servers.ServerUnavailable` at once, and the server is left alone for
a while (:class:`recall.servers.Backoff`). A connection is checked before it is lent.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Event, Lock, Timer
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..errors import RecallError
from ..servers import DATABASE_VARIABLE, Backoff, NoServer, ServerUnavailable

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import ConnectionPool

    Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

__all__ = [
    "MOST_CONNECTIONS",
    "Connection",
    "DatabaseFailed",
    "OwnConnection",
    "close_pools",
    "connection",
    "has_client",
    "silence_options",
]

T = TypeVar("T")
#: Connections of one process to one server.
MOST_CONNECTIONS = 20
#: Seconds to wait for the server, for another thread to give a connection back, and for the threads of a pool to end.
_CONNECT_S, _LEND_S, _CLOSE_S = 2, 4.0, 2.0
_SERVER, _APPLICATION = "PostgreSQL", "agent-home"
#: Seconds after which the connections of a pool end when the network swallows what is sent, and between its probes.
_LOST_S, _PROBE_S = 30, 10
#: Seconds without an answer to a statement, after which the server is asked whether it is still there.
_SILENT_S = 60.0
#: Connections that a server must refuse one after the other before a long statement is given up.
_TRIES = 3
_POOLED: dict[str, Any] = {
    "connect_timeout": _CONNECT_S, "application_name": _APPLICATION, "tcp_user_timeout": _LOST_S * 1000,
    "keepalives_idle": _LOST_S, "keepalives_interval": _PROBE_S, "keepalives_count": 3,
}  # fmt: skip

if not TYPE_CHECKING:
    Connection = "psycopg.Connection"


class DatabaseFailed(RecallError):
    """PostgreSQL answered with an error."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"PostgreSQL failed: {problem}")
        self.problem = problem


def has_client() -> bool:
    """Return whether the packages that talk to PostgreSQL are installed."""
    from importlib.util import find_spec

    return find_spec("psycopg") is not None and find_spec("psycopg_pool") is not None


@contextmanager
def connection(url: str, *, limit_s: float = 0.0, silent_s: float = 0.0, patient: bool = False) -> Iterator[Connection]:
    """Yield a connection to the database at *url*. Its transaction is committed at the end, and undone by an exception.

    With *limit_s*, the server has so many seconds for all of the block. Otherwise it has *silent_s* for each statement
    of it, and a *patient* caller waits longer, as long as the server takes other connections. A server that stalls
    counts as one that does not answer. Nothing else ends a wait for processes that are stopped. 0 is no limit.

    Raises:
        NoServer: *url* is empty or no address, or the extra ``postgresql`` is not installed.
        ServerUnavailable: the server does not answer, or the connection was lost.
        DatabaseFailed: the server answered with an error that the block did not catch.
    """
    _require_client(url)
    import psycopg
    from psycopg_pool import PoolTimeout

    server = _server_of(url)
    if server.backoff.wait_s:
        raise ServerUnavailable(_SERVER, url, f"{server.backoff.problem}. Asked again in {server.backoff.wait_s:.0f} s")
    try:
        with server.lent(limit_s, 0.0 if limit_s else silent_s, patient=patient) as conn:
            try:
                yield conn
            except psycopg.OperationalError as error:
                if conn.broken:
                    raise
                raise DatabaseFailed(_line(error)) from error  # such as a statement that took too long
        server.backoff.succeeded()
    except (psycopg.OperationalError, PoolTimeout) as error:
        if isinstance(error, PoolTimeout) and server.answers():
            raise ServerUnavailable(
                _SERVER, url, f"all {MOST_CONNECTIONS} connections of this process are in use"
            ) from error
        server.close()
        server.backoff.failed(_line(error))
        raise ServerUnavailable(_SERVER, url, _line(error)) from error
    except psycopg.Error as error:
        raise DatabaseFailed(_line(error)) from error


class OwnConnection:
    """A connection of one thread, which no pool shares. It is made at its first use, and again after it was lost.

    The server is asked at once after a failure, and given up *timeout_s* seconds after it fell silent. Use it where a
    connection of the pool would come too late. Each statement is a transaction of its own, unless
    ``conn.transaction()`` begins one.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        self._url, self._timeout_s = url, timeout_s
        self._conn: Connection | None = None

    def run(self, act: Callable[[Connection], T]) -> T:
        """Return what *act* returns for the connection.

        Raises:
            NoServer: there is no address or a wrong one, or the client of PostgreSQL is not installed.
            ServerUnavailable: the server does not answer, or the connection was lost.
            DatabaseFailed: the server answered with an error.
        """
        _require_client(self._url)
        import psycopg

        try:
            if self._conn is None or self._conn.closed:
                self._conn = psycopg.connect(self._url, autocommit=True, **silence_options(self._timeout_s))
            conn = self._conn
            with _ended_after(self._timeout_s, lambda: conn):
                return act(conn)
        except psycopg.OperationalError as error:
            self.close()
            raise ServerUnavailable(_SERVER, self._url, _line(error)) from error
        except psycopg.Error as error:
            self.close()
            raise DatabaseFailed(_line(error)) from error

    def close(self) -> None:
        """Close the connection. The next use makes a new one."""
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.close()


def silence_options(timeout_s: float) -> dict[str, Any]:
    """Return options of a connection that ends *timeout_s* seconds after the network or the server fell silent."""
    seconds = max(2, round(timeout_s))
    return {
        "connect_timeout": seconds, "tcp_user_timeout": seconds * 1000, "keepalives_idle": seconds,
        "keepalives_interval": max(1, seconds // 3), "keepalives_count": 3,
        "options": f"-c statement_timeout={seconds * 1000}", "application_name": _APPLICATION,
    }  # fmt: skip


class _Server:
    """The connections to one address. The pool is opened once the server answers, because it hides why one does not."""

    def __init__(self, url: str) -> None:
        self._url, self._lock = url, Lock()
        self._pool: ConnectionPool[Connection] | None = None
        self.backoff = Backoff()

    def opened(self) -> ConnectionPool[Connection]:
        """Return the open pool.

        Raises:
            psycopg.OperationalError: the server does not answer.
        """
        import psycopg
        from psycopg_pool import ConnectionPool

        with self._lock:
            if self._pool is None:
                logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # our errors say the same
                psycopg.connect(self._url, **_POOLED).close()
                self._pool = ConnectionPool(
                    self._url, min_size=0, max_size=MOST_CONNECTIONS, timeout=_LEND_S, num_workers=1, kwargs=_POOLED,
                    open=True,
                )  # fmt: skip
            return self._pool

    def answers(self) -> bool:
        """Return whether the server takes another connection."""
        import psycopg

        try:
            psycopg.connect(self._url, **_POOLED).close()
        except psycopg.Error:
            return False
        return True

    @contextmanager
    def lent(self, limit_s: float, silent_s: float, *, patient: bool) -> Iterator[Connection]:
        """Yield a connection that answers, for *limit_s* seconds if that is not 0. See :func:`connection`."""
        pool = self.opened()
        conn = pool.getconn()
        with _ended_after(limit_s, lambda: conn):
            if not _answers(conn, silent_s):  # restarted since this one and the others were opened
                pool.putconn(conn)
                pool.drain()
                conn = pool.getconn()
            try:
                with _answered_within(silent_s, conn, self.is_alive if patient else None), conn:
                    yield conn
            finally:
                pool.putconn(conn)

    def is_alive(self) -> bool:
        """Return whether the server takes another connection. It is asked again, because a busy one may be late."""
        return any(self.answers() for _ in range(_TRIES))

    def close(self) -> None:
        """Close the connections. The next use opens new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(timeout=_CLOSE_S)


@contextmanager
def _ended_after(limit_s: float, conn: Callable[[], Connection]) -> Iterator[None]:
    """Shut the socket of a connection down when the block takes longer than *limit_s* seconds, unless that is 0."""
    if not limit_s:
        yield
        return
    import psycopg

    ended = Event()  # `timer.finished` comes after the end of the connection, so the error may be seen before it

    def end() -> None:
        ended.set()
        _shut_down(conn())

    timer = Timer(limit_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.OperationalError as error:
        if ended.is_set():
            raise psycopg.OperationalError(f"it took more than {limit_s:g} s") from error
        raise
    finally:
        timer.cancel()


def _shut_down(conn: Connection) -> None:
    with suppress(Exception), socket.socket(fileno=os.dup(conn.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


@contextmanager
def _answered_within(silent_s: float, conn: Connection, is_alive: Callable[[], bool] | None = None) -> Iterator[None]:
    """Shut the socket of *conn* down when a statement has no answer after *silent_s* seconds, unless that is 0.

    With *is_alive*, it has as many seconds again whenever that says yes.
    """
    if not silent_s:
        yield
        return
    wait: Callable[..., Any] = conn.wait

    def limited(steps: Generator[Any, Any, Any], *given: Any, **named: Any) -> Any:
        return wait(_ended_when_silent(steps, silent_s, conn, is_alive), *given, **named)

    conn.wait = limited  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        del conn.wait  # that of the class counts again


def _ended_when_silent(
    steps: Generator[Any, Any, Any], silent_s: float, conn: Connection, is_alive: Callable[[], bool] | None
) -> Generator[Any, Any, Any]:
    """Pass the *steps* of the client on, which learns several times a second that nothing has come yet."""
    import psycopg

    end, ready, ended = time.monotonic() + silent_s, None, False
    while True:
        try:
            wanted = steps.send(ready)
        except StopIteration as done:
            return done.value
        except psycopg.OperationalError as error:
            if ended:
                raise psycopg.OperationalError(f"it said nothing for {silent_s:g} s") from error
            raise
        ready = yield wanted
        if not ready and not ended and time.monotonic() > end:
            if is_alive is not None and is_alive():
                end = time.monotonic() + silent_s
                continue
            _shut_down(conn)
            ended = True


def _answers(conn: Connection, silent_s: float) -> bool:
    import psycopg

    try:
        with _answered_within(silent_s, conn):
            conn.execute("SELECT 1")
            conn.rollback()
    except psycopg.OperationalError:
        return False
    return True


def _require_client(url: str) -> None:
    if not url:
        raise NoServer(f"no database is named. Set {DATABASE_VARIABLE}, as in postgresql://user@host/name")
    if not has_client():
        raise NoServer("the client of PostgreSQL is not installed. Run pip install 'agent-home[postgresql]'")
    if not _is_address(url):
        raise NoServer(
            f"{DATABASE_VARIABLE} is no address of PostgreSQL. Write it as in postgresql://user:password@host/name, "
            "and in the password %40 for @, %2F for /, %3A for : and %25 for %"
        )


@lru_cache(maxsize=16)
def _is_address(url: str) -> bool:
    """Return whether *url* can be read. The errors of the client would show parts of a password that is not escaped."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError:
        return False
    host, port = str(parts.get("host") or ""), str(parts.get("port") or "")
    misread = ("@" in host and host[0] not in "/@") or "@" in str(parts.get("dbname") or "")
    return not misread and all(one.isdecimal() for one in port.split(",") if one)


_LOCK = Lock()
_SERVERS: dict[tuple[int, str], _Server] = {}


def _server_of(url: str) -> _Server:
    key = os.getpid(), url  # a forked process must not share connections
    with _LOCK:
        return _SERVERS.setdefault(key, _Server(url))


def close_pools() -> None:
    """Close every connection of this process."""
    with _LOCK:
        mine = [_SERVERS.pop(key) for key in list(_SERVERS) if key[0] == os.getpid()]
    for server in mine:
        server.close()


atexit.register(close_pools)


def _line(error: Exception) -> str:
    """Return what *error* says, in one line."""
    said = " ".join(str(error).split())
    for advice in (" Is the server running", " This probably means"):
        said = said.partition(advice)[0]
    return said or type(error).__name__
