"""Erasure of forgotten text from an index in PostgreSQL, and the search that proves it.

A deleted row stays in its page until the page is cleaned, so the tables are vacuumed. The server's write-ahead log,
its replicas and its backups are the administrator's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import LiteralString

from agent_home.forgetting.redaction_target import RedactionTarget

from ...errors import RecallError
from ...postgres.connections import connection
from .store import PostgresqlStore
from .tables import TABLES, require_tables

__all__ = ["occurrences_in", "vacuum"]

_ROWS: tuple[LiteralString, ...] = (
    """SELECT source, session, message, name, heading, text, meaning FROM index_passages p
    JOIN index_generations g ON g.id = p.index_id WHERE g.namespace = %s""",
    """SELECT path, session, skipped FROM index_files f
    JOIN index_generations g ON g.id = f.index_id WHERE g.namespace = %s""",
)
#: Rows that the server sends at once.
_BATCH = 1000


def occurrences_in(store: PostgresqlStore, target: RedactionTarget) -> Iterator[tuple[str, str]]:
    """Yield ``(table of the database, place in it)`` for each row of the namespace in which the target occurs."""
    place = f"PostgreSQL, namespace {store.namespace}"
    try:
        with connection(store.url) as conn:
            require_tables(conn)
            for statement in _ROWS:
                with conn.cursor(name="rows") as cursor:
                    cursor.itersize = _BATCH
                    for row in cursor.execute(statement, (store.namespace,)):
                        if any(target.occurs_in(str(value)) for value in row):
                            yield place, str(row[0]) if not target.occurs_in(str(row[0])) else "a row"
    except RecallError as error:
        yield place, f"cannot be read: {error}"


def vacuum(store: PostgresqlStore) -> list[str]:
    """Let the server clean the pages of deleted rows. Return a line for what failed."""
    import psycopg

    skipped: list[str] = []

    def note(told: psycopg.errors.Diagnostic) -> None:
        skipped.append(told.message_primary or "")

    try:
        with connection(store.url) as conn:
            conn.commit()
            conn.autocommit = True
            conn.add_notice_handler(note)
            try:
                for table in TABLES:
                    statement: LiteralString = f"VACUUM {table}"
                    conn.execute(statement)
            finally:
                conn.remove_notice_handler(note)
                conn.autocommit = False
    except (RecallError, psycopg.Error) as error:
        skipped.append(str(error))
    if skipped:  # a role that does not own the tables gets a warning alone
        return [f"the tables in PostgreSQL could not be vacuumed ({skipped[0]}). Run VACUUM there"]
    return []
