"""Numbered migrations of the tables in PostgreSQL.

Each part of the program that keeps tables there has a name and a sequence of migrations, which only grows. Missing ones
are applied in one transaction, under a lock of the database, so that several machines may start at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import LiteralString

from .connections import Connection, DatabaseFailed

__all__ = ["DatabaseTooNew", "migrate"]

#: Advisory lock of all migrations of this program: the letters "agho" and a number of its own.
_LOCK_KEY = 0x6167686F_0001
_TABLE = """
CREATE TABLE IF NOT EXISTS agent_home_migrations(
    component TEXT NOT NULL, number INTEGER NOT NULL, applied TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (component, number)
)
"""
_HAS_TABLE = "SELECT to_regclass('agent_home_migrations') IS NOT NULL"
_APPLIED = "SELECT coalesce(max(number), 0) FROM agent_home_migrations WHERE component = %s"
#: Components whose tables this process knows to be current, by process and database.
_CURRENT: set[tuple[int, str, str]] = set()


class DatabaseTooNew(DatabaseFailed):
    """A newer version of this program made the tables."""

    def __init__(self, component: str, found: int, known: int) -> None:
        super().__init__(
            f"the tables of {component} have version {found}, and this program knows {known}. "
            "Update agent-home on this machine"
        )
        self.component, self.found, self.known = component, found, known


def migrate(conn: Connection, component: str, migrations: Sequence[LiteralString]) -> None:
    """Apply those of *migrations* that the database of *conn* lacks, in order, and commit.

    A process looks only once for each database. Where none lacks, a role needs no right to make tables.

    Raises:
        DatabaseTooNew: the database has more migrations than these.
    """
    key = os.getpid(), f"{conn.info.host}/{conn.info.port}/{conn.info.dbname}", component
    if key in _CURRENT:
        return
    with conn.transaction():
        if conn.execute(_HAS_TABLE).fetchone() != (True,) or _applied(conn, component, migrations) < len(migrations):
            _apply_missing(conn, component, migrations)
    conn.commit()
    _CURRENT.add(key)


def _apply_missing(conn: Connection, component: str, migrations: Sequence[LiteralString]) -> None:
    conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_KEY,))
    conn.execute(_TABLE)
    done = _applied(conn, component, migrations)
    for number, statements in enumerate(migrations[done:], done + 1):
        conn.execute(statements)
        conn.execute("INSERT INTO agent_home_migrations(component, number) VALUES(%s, %s)", (component, number))


def _applied(conn: Connection, component: str, migrations: Sequence[LiteralString]) -> int:
    """Return how many of *migrations* the database has.

    Raises:
        DatabaseTooNew: it has more.
    """
    found = conn.execute(_APPLIED, (component,)).fetchone()
    done = int(found[0]) if found else 0
    if done > len(migrations):
        raise DatabaseTooNew(component, done, len(migrations))
    return done
