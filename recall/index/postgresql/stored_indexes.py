"""The indexes in a database, those that no home uses any more among them.

A home that was deleted, moved to another machine, or that left an unreachable database behind keeps its rows there.
Nobody but a person can tell that they are not needed. An index can always be made again from the files of its home.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from ...postgres.connections import connection
from .erasure import vacuum
from .store import PostgresqlStore
from .sync import remove_namespace
from .tables import require_tables

__all__ = ["StoredIndex", "list_indexes", "remove_index"]

_SELECT: LiteralString = """
SELECT g.namespace, min(g.made), sum(g.passages)::bigint, coalesce(max(h.value), ''), coalesce(max(m.value), '')
FROM index_generations g
LEFT JOIN index_descriptions h ON h.index_id = g.id AND h.key = 'home'
LEFT JOIN index_descriptions m ON m.index_id = g.id AND m.key = 'machine'
GROUP BY g.namespace ORDER BY min(g.made), g.namespace
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredIndex:
    """The index of a home: its namespace, when it was *made*, its *passages*, and the home and machine it is from.

    *home* and *machine* are names for people. They are empty for an index that an older version made.
    """

    namespace: str
    made: datetime
    passages: int
    home: str
    machine: str


def list_indexes(url: str) -> list[StoredIndex]:
    """Return the indexes in the database at *url*, oldest first.

    Raises:
        ServerUnavailable, NoServer, DatabaseFailed: the server does not answer, or answers with an error.
    """
    with connection(url) as conn:
        require_tables(conn)
        rows = conn.execute(_SELECT).fetchall()
    return [
        StoredIndex(namespace=namespace, made=made, passages=passages, home=home, machine=machine)
        for namespace, made, passages, home, machine in rows
    ]


def remove_index(url: str, namespace: str, timeout_s: float) -> list[str]:
    """Delete every row of *namespace*, and clean their pages. Return a line for what failed of the cleaning.

    A home that uses the namespace makes the index again from its files at the next sync.

    Raises:
        NamespaceBusy: a process writes it.
        ServerUnavailable, NoServer, DatabaseFailed: the server does not answer, or answers with an error.
    """
    store = PostgresqlStore(namespace, url)
    remove_namespace(store, timeout_s)
    return vacuum(store)
