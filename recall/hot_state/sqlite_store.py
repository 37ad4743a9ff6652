"""Own the hot state in a small SQLite file of the machine's state: the store of a home that has no server.

Beside its values, the file may hold copies of those in Redis, so that a backup has them. The home that they were copied
in does not read them, and a home that is restored from the backup takes them over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import apsw

from agent_home.storage import PRIVATE_FOLDER

from ..index.sqlite.schema import CORRUPTION_ERRORS, LOCK_ERRORS, transaction
from .store import HotValue, Kind, OnProblem, require_room, unsaid

__all__ = ["FILE", "HotStateFile"]

#: Name of the file in the machine's state.
FILE = "hot-state.db"
#: Milliseconds to wait for other processes, and seconds between two tries to begin the file.
_BUSY_MS, _AGAIN_S = 2_000, 0.01
#: Changes of the tables, numbered by their place. They are only appended.
_MIGRATIONS = (
    """
    CREATE TABLE IF NOT EXISTS items(
        session TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, audience TEXT NOT NULL,
        expires REAL NOT NULL, PRIMARY KEY (session, kind, name)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS items_by_end ON items(expires);
    """,
    """
    ALTER TABLE items ADD COLUMN written REAL NOT NULL DEFAULT 0;
    CREATE TABLE copies(
        source TEXT NOT NULL, session TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
        audience TEXT NOT NULL, written REAL NOT NULL, expires REAL NOT NULL
    );
    """,
)
_COLUMNS = "session, kind, name, value, audience, written, expires"
_SET = (
    f"INSERT INTO items({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(session, kind, name) DO UPDATE SET "  # noqa: S608 - constants
    "value = excluded.value, audience = excluded.audience, written = excluded.written, expires = excluded.expires"
)
_EXTEND = "UPDATE items SET expires = ? WHERE session = ? AND kind = 'context' AND expires BETWEEN ? AND ?"
_TAKE_OVER = f"INSERT OR IGNORE INTO items({_COLUMNS}) SELECT {_COLUMNS} FROM copies WHERE source <> ?"  # noqa: S608 - constants
T = TypeVar("T")


class HotStateFile:
    """The store in the folder *machine*, a home's machine state.

    *source* returns what marks copies as this home's own (see :meth:`copy`). A damaged file is made anew.
    """

    def __init__(self, machine: Path, source: Callable[[], str] = str) -> None:
        self._path, self._source = machine / FILE, source
        self._lock = Lock()
        self._conn: apsw.Connection | None = None
        self._inode = 0

    @property
    def problem(self) -> str:
        """Nothing, because the file is there or an error says why not."""
        return ""

    def put(self, session: str, values: Sequence[HotValue], *, now: float, extend_to: float = 0.0) -> None:
        """Keep values of a session (:meth:`recall.hot_state.store.HotStore.put`)."""

        def written(conn: apsw.Connection) -> None:
            with transaction(conn):
                conn.execute("DELETE FROM items WHERE expires <= ?", (now,))
                conn.executemany(_SET, map(_row, values))
                if values:
                    require_room(_first(conn, "SELECT count(*) FROM items WHERE session = ?", (session,)))
                if extend_to:
                    conn.execute(_EXTEND, (extend_to, session, now, extend_to))

        self._run(written)

    def values(self, sessions: Collection[str] | None, now: float, _on_problem: OnProblem = unsaid) -> list[HotValue]:
        """Return what is alive (:meth:`recall.hot_state.store.HotStore.values`)."""
        if sessions is None:
            return self._rows("expires > ?", (now,))
        marks = ", ".join("?" * len(sessions))
        return self._rows(f"expires > ? AND session IN ({marks})", (now, *sessions))

    def value(self, session: str, kind: Kind, name: str, now: float) -> HotValue | None:
        """Return one value (:meth:`recall.hot_state.store.HotStore.value`)."""
        found = self._rows("expires > ? AND session = ? AND kind = ? AND name = ?", (now, session, kind, name))
        return found[0] if found else None

    def delete(self, session: str, name: str, now: float) -> int:
        """Delete values of a session (:meth:`recall.hot_state.store.HotStore.delete`)."""
        where = "session = ? AND kind = 'context' AND name = ?" if name else "session = ?"
        given = (session, name) if name else (session,)

        def deleted(conn: apsw.Connection) -> int:
            with transaction(conn):
                alive = f"SELECT count(*) FROM items WHERE {where} AND expires > ?"  # noqa: S608 - constants
                count = _first(conn, alive, (*given, now))
                conn.execute(f"DELETE FROM items WHERE {where}", given)  # noqa: S608 - constants
            return count

        return self._run(deleted) if self._path.exists() else 0

    @property
    def is_empty(self) -> bool:
        """True while the file holds no value, alive or over."""
        if not self._path.exists():
            return True
        return not self._run(lambda conn: conn.execute("SELECT 1 FROM items LIMIT 1").fetchall())

    def forget(self, values: Sequence[HotValue], now: float) -> None:
        """Delete *values* where they were not set again meanwhile, and what is over."""
        one = "DELETE FROM items WHERE session = ? AND kind = ? AND name = ? AND written = ?"

        def deleted(conn: apsw.Connection) -> None:
            with transaction(conn):
                conn.executemany(one, ((*value.place, value.written) for value in values))
                conn.execute("DELETE FROM items WHERE expires <= ?", (now,))

        self._run(deleted)

    def copy(self, values: Sequence[HotValue], source: str) -> None:
        """Keep copies of *values*, which are at home in *source*, in place of earlier copies."""
        one = f"INSERT INTO copies(source, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants

        def copied(conn: apsw.Connection) -> None:
            with transaction(conn):
                conn.execute("DELETE FROM copies")
                conn.executemany(one, ((source, *_row(value)) for value in values))

        if values or self._path.exists():
            self._run(copied)

    def settle(self) -> None:
        """Write everything into the file itself.

        Raises:
            apsw.Error: another process is using it, or it cannot be written.
        """
        if self._path.exists():
            self._run(lambda conn: conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    def _rows(self, where: str, given: tuple[Any, ...]) -> list[HotValue]:
        if not self._path.exists():
            return []
        select = f"SELECT {_COLUMNS} FROM items WHERE {where} ORDER BY session, kind, name"  # noqa: S608 - constants
        found = self._run(lambda conn: conn.execute(select, given).fetchall())
        return [_value(*row) for row in found]

    def _run(self, work: Callable[[apsw.Connection], T]) -> T:
        with self._lock:
            try:
                return work(self._connection())
            except (*CORRUPTION_ERRORS, UnicodeDecodeError):
                self._begin_anew()
                return work(self._connection())

    def _connection(self) -> apsw.Connection:
        if self._conn is None or _inode(self._path) != self._inode:  # another process may have made it anew
            self._path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._conn = _connected(self._path)
            self._inode = _inode(self._path)
            self._take_over_copies(self._conn)
        return self._conn

    def _take_over_copies(self, conn: apsw.Connection) -> None:
        """Take over copies of values that were at home elsewhere: this home was made from a backup."""
        if conn.execute("SELECT 1 FROM copies LIMIT 1").fetchall():
            own = self._source()
            with transaction(conn):
                conn.execute(_TAKE_OVER, (own,))
                conn.execute("DELETE FROM copies WHERE source <> ?", (own,))

    def _begin_anew(self) -> None:
        if self._conn is not None:
            with suppress(apsw.Error):
                self._conn.close()
        self._conn = None
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)


def _value(
    session: Any, kind: Any, name: Any, text: Any, audience: Any, written: Any, ends: Any
) -> HotValue:  # fmt: skip
    return HotValue(
        session=session, kind=kind, name=name, text=text, audience=audience, written=written, ends=ends
    )  # fmt: skip


def _row(value: HotValue) -> tuple[str | float, ...]:
    return (*value.place, value.text, value.audience, value.written, value.ends)


def _first(conn: apsw.Connection, select: str, given: tuple[Any, ...]) -> int:
    return int(next(iter(conn.execute(select, given)))[0])


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _connected(path: Path) -> apsw.Connection:
    if path.is_symlink():  # a chmod and the writes would reach what it points to
        path.unlink()
    conn = apsw.Connection(str(path))
    path.chmod(0o600)
    conn.set_busy_timeout(_BUSY_MS)
    limit = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            _prepare(conn)
        except LOCK_ERRORS:  # of two that begin the file at once, SQLite turns one away without a wait
            if time.monotonic() > limit:
                raise
            time.sleep(_AGAIN_S)
        else:
            return conn


def _prepare(conn: apsw.Connection) -> None:
    """Set the modes of a connection, and bring its tables up to date."""
    conn.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF").fetchall()
    if _version(conn) < len(_MIGRATIONS):
        with transaction(conn):
            for number, statements in enumerate(_MIGRATIONS[_version(conn) :], _version(conn) + 1):
                conn.execute(statements)
                conn.execute(f"PRAGMA user_version = {number:d}")


def _version(conn: apsw.Connection) -> int:
    return _first(conn, "PRAGMA user_version", ())
