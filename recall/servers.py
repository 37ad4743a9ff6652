"""Addresses of the servers that may hold memory beside a home: PostgreSQL and Redis.

An address has a password and belongs to the machine, so it comes from the environment and never from ``agent.toml``.
A server that does not answer is left alone for a while: one second at first, and twice as long each time, up to a
minute. Meanwhile its users go on without it at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from threading import Lock
from urllib.parse import urlsplit, urlunsplit

from .errors import RecallError

__all__ = [
    "DATABASE_VARIABLE",
    "REDIS_VARIABLE",
    "Backoff",
    "NoServer",
    "ServerUnavailable",
    "database_url",
    "redis_url",
    "without_password",
]

DATABASE_VARIABLE, REDIS_VARIABLE = "AGENT_HOME_DATABASE_URL", "AGENT_HOME_REDIS_URL"
#: Seconds after the first failure, and the longest time.
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0


class NoServer(RecallError):
    """No address is set, or the package that talks to the server is absent."""


class ServerUnavailable(RecallError):
    """The server does not answer, or a connection to it was lost."""

    def __init__(self, server: str, address: str, problem: str) -> None:
        super().__init__(f"{server} at {without_password(address)} does not answer: {problem}")
        self.server, self.address, self.problem = server, address, problem


def database_url(environ: Mapping[str, str] = os.environ) -> str:
    """Return the address of PostgreSQL, or an empty string.

    >>> database_url({})
    ''
    """
    return environ.get(DATABASE_VARIABLE, "").strip()


def redis_url(environ: Mapping[str, str] = os.environ) -> str:
    """Return the address of Redis, or an empty string."""
    return environ.get(REDIS_VARIABLE, "").strip()


def without_password(address: str) -> str:
    """Return *address* as messages may show it: without a password and without options.

    >>> without_password("postgresql://ann:secret@db.example/memory?sslmode=require&password=x")
    'postgresql://ann@db.example/memory'
    """
    try:
        parts = urlsplit(address)
        user = f"{parts.username}@" if parts.username else ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    if not parts.scheme:  # `host=... password=...`
        return "the configured address"
    if "@" in parts.path:  # behind a password with a slash that is not escaped
        return "an address that cannot be read"
    if parts.scheme == "unix":
        return f"unix://{parts.path}"
    return urlunsplit((parts.scheme, f"{user}{parts.hostname or ''}{port}", parts.path, "", ""))


class Backoff:
    """The waiting time after failures of one server. An object may be shared between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._wait = 0.0
        self._until = 0.0
        self.problem = ""

    @property
    def wait_s(self) -> float:
        """Seconds until the server is asked again. 0 means that it may be asked now."""
        return max(0.0, self._until - self._clock())

    def failed(self, problem: str) -> None:
        """Record a failure. One that happened while others waited already does not double the time."""
        with self._lock:
            if self._until > self._clock():
                return
            self._wait = min(LONGEST_WAIT_S, self._wait * 2 or FIRST_WAIT_S)
            self._until = self._clock() + self._wait
            self.problem = problem

    def succeeded(self) -> None:
        """Record that the server answered."""
        with self._lock:
            self._wait, self._until, self.problem = 0.0, 0.0, ""
