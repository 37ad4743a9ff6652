"""The index of one home in PostgreSQL: its live generation for searches, and the one writer.

A server that does not answer costs a search its passages, and the note names it. A sync fails with the same note.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import LiteralString

from agent_home.errors import HomeError
from agent_home.home import Home
from agent_home.waiting import shortened

from ...errors import RecallError
from ...postgres.connections import MOST_CONNECTIONS, Connection, DatabaseFailed, connection
from ...servers import NoServer, ServerUnavailable, database_url
from ..reader import IndexUnreadable
from .reader import Generation, PostgresqlReader
from .tables import require_tables
from .writer import PostgresqlWriter

__all__ = ["NamespaceBusy", "PostgresqlStore", "live_generation", "new_generation", "origin_of"]

#: First half of the advisory locks of namespaces: the letters "aghi".
_LOCK_CLASS = 0x61676869
_POLL_S = 0.05
#: Seconds that a server has for all questions of one search. Its deadlines are shorter.
_READING_S = 8.0
#: Searches of a process at once. Each has two connections, and none may wait for one that waits for the same.
_MOST_READERS = MOST_CONNECTIONS // 2
_TURNS = BoundedSemaphore(_MOST_READERS)
#: Seconds that a search waits for its turn.
_TURN_S = 8.0
_BEGIN: LiteralString = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL jit = off"
_LIVE: LiteralString = """
SELECT id, version, passages, text_words, all_words, filled_files FROM index_generations WHERE namespace = %s AND live
"""


class NamespaceBusy(HomeError):
    """Another machine or process writes the namespace."""

    def __init__(self, namespace: str, waited_s: float) -> None:
        super().__init__(
            f"another process has written the namespace {namespace} in PostgreSQL for {waited_s:g} s. "
            "Try again when it is done"
        )
        self.namespace, self.waited_s = namespace, waited_s


class PostgresqlStore:
    """The index in *namespace* of the database that the environment names, or of the one at *url*."""

    def __init__(self, namespace: str, url: str | None = None) -> None:
        self.namespace = namespace
        self.url = database_url() if url is None else url
        self._read: int | None = None

    @contextmanager
    def reading(self, *, searching: bool = True) -> Iterator[PostgresqlReader | None]:
        """Hold one state of the live generation, or ``None`` when there is none.

        Raises:
            IndexUnreadable: the server does not answer, or answers with an error.
        """
        del searching  # nothing of a server is kept in memory
        if not _TURNS.acquire(timeout=_TURN_S):
            raise IndexUnreadable(f"{_MOST_READERS} searches of this process are not done yet. Nothing was searched")
        try:
            with self._reading() as reader:
                yield reader
        finally:
            _TURNS.release()

    @contextmanager
    def _reading(self) -> Iterator[PostgresqlReader | None]:
        try:
            with connection(self.url, limit_s=_READING_S) as conn:
                require_tables(conn)
                conn.execute(_BEGIN)
                generation = live_generation(conn, self.namespace)
                self._read = None if generation is None else generation.id
                yield None if generation is None else PostgresqlReader(conn, generation)
        except (ServerUnavailable, NoServer, DatabaseFailed) as error:
            raise IndexUnreadable(f"{error}. Nothing was searched") from error

    @contextmanager
    def reading_again(self) -> Iterator[PostgresqlReader | None]:
        """Hold a state of the live generation in another thread of the same search.

        Raises:
            IndexUnreadable: as for :meth:`reading`, or the live generation is another one by now. Its numbers would
                name other passages.
        """
        before = self._read
        with self._reading() as reader:
            if self._read != before:
                self._read = before
                raise IndexUnreadable("the index was built anew during this search. Its hits by vectors are missing")
            yield reader

    @contextmanager
    def writing(self, timeout_s: float) -> Iterator[Connection]:
        """Hold a connection and the lock of the namespace.

        Raises:
            NamespaceBusy: another process held the lock for longer than *timeout_s* seconds.
            ServerUnavailable, NoServer, DatabaseFailed: see :func:`recall.postgres.connections.connection`.
        """
        with connection(self.url) as conn:
            require_tables(conn)
            _acquire(conn, self.namespace, timeout_s)
            try:
                yield conn
            finally:
                _release(conn, self.namespace)


def live_generation(conn: Connection, namespace: str) -> Generation | None:
    """Return the generation of *namespace* that searches read, or ``None``."""
    found = conn.execute(_LIVE, (namespace,)).fetchone()
    if found is None:
        return None
    return Generation(
        id=found[0], version=found[1], passages=found[2], text_words=found[3], all_words=found[4], files=found[5]
    )


def origin_of(home: Home) -> dict[str, str]:
    """Return what an index says about the home and the machine that it is from, for people who list indexes."""
    return {"home": home.manifest.name, "machine": platform.node()}


def new_generation(conn: Connection, namespace: str, *, live: bool) -> PostgresqlWriter:
    """Make a generation of *namespace*, and commit. Return a writer of it."""
    made = conn.execute(
        "INSERT INTO index_generations(namespace, live) VALUES (%s, %s) RETURNING id", (namespace, live)
    ).fetchone()
    conn.commit()
    if made is None:
        raise RecallError("PostgreSQL made no generation of the index")
    return PostgresqlWriter(conn, made[0])


def _acquire(conn: Connection, namespace: str, timeout_s: float) -> None:
    """Take the lock of the session. Statements would time out before a person's patience, so it is asked for often."""
    timeout_s = shortened(timeout_s)
    end = time.monotonic() + timeout_s
    while True:
        found = conn.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", (_LOCK_CLASS, namespace)).fetchone()
        conn.commit()
        if found is not None and found[0]:
            return
        if time.monotonic() >= end:
            raise NamespaceBusy(namespace, timeout_s)
        time.sleep(_POLL_S)


def _release(conn: Connection, namespace: str) -> None:
    if conn.closed or conn.broken:  # the server has freed the lock with the session
        return
    conn.rollback()
    conn.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", (_LOCK_CLASS, namespace))
    conn.commit()
