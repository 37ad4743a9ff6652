"""Report on the stores of a home on this machine: where its index and its hot state are, and whether servers answer."""

from __future__ import annotations

from dataclasses import dataclass

from agent_home.home import Home
from recall.errors import RecallError
from recall.hot_state import redis_state
from recall.index.migration import IndexCounts, index_counts
from recall.index.postgresql.store import PostgresqlStore, live_generation
from recall.index.reader import IndexUnreadable
from recall.index.store import index_store
from recall.index.store_choice import chosen_namespace, moving_namespace
from recall.postgres.connections import connection
from recall.servers import database_url, without_password

__all__ = ["IndexPlace", "StoresReport", "report_stores", "require_database"]

#: Seconds that a server has to answer.
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlace:
    """Place of an index. *namespace* is empty for a file. *passages* is ``None`` where the index cannot be read."""

    store: str
    address: str
    namespace: str = ""
    server: str = ""
    passages: int | None = None
    pending: int = 0
    counts: IndexCounts | None = None
    moving_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoresReport:
    """Places of the index and the hot state. *problems* has a line for each server that does not answer."""

    index: IndexPlace
    hot_state: str
    problems: tuple[str, ...] = ()


def report_stores(home: Home, *, count: bool = False) -> StoresReport:
    """Return where the stores of *home* are. With *count*, every row of the index is read."""
    problems: list[str] = []
    index = _in_database(home, problems) if chosen_namespace(home) else _in_file(home, problems)
    counts = None
    if count and not problems:
        try:
            counts = index_counts(home)
        except RecallError as error:
            problems.append(str(error))
    place = IndexPlace(
        store=index.store, address=index.address, namespace=index.namespace, server=index.server,
        passages=index.passages, pending=index.pending, counts=counts, moving_to=moving_namespace(home),
    )  # fmt: skip
    redis = redis_state(home)
    problems += [redis.problem] if redis.problem else []
    hot = f"Redis at {redis.address}" if redis.address else f"a file, {home.machine / 'hot-state.db'}"
    return StoresReport(index=place, hot_state=hot, problems=tuple(problems))


def require_database() -> None:
    """Ask the database once.

    Raises:
        ServerUnavailable, NoServer, DatabaseFailed: it does not answer.
    """
    with connection(database_url(), limit_s=_PATIENCE_S) as conn:
        conn.execute("SELECT 1")


def _in_file(home: Home, problems: list[str]) -> IndexPlace:
    passages = None
    try:
        with index_store(home).reading(searching=False) as reader:
            passages = None if reader is None else reader.totals()[0]
    except IndexUnreadable as error:
        problems.append(str(error))
    return IndexPlace(store="sqlite", address=str(home.index), passages=passages)


def _in_database(home: Home, problems: list[str]) -> IndexPlace:
    namespace, url = chosen_namespace(home), database_url()
    server, passages, pending = "", None, 0
    try:
        with connection(url, limit_s=_PATIENCE_S) as conn:
            ((version, extension),) = conn.execute(
                "SELECT current_setting('server_version'),"
                " (SELECT extversion FROM pg_extension WHERE extname = 'vector')"
            ).fetchall()
            server = f"PostgreSQL {version}, pgvector {extension}"
        store = PostgresqlStore(namespace)
        with store.reading() as reader:
            if reader is not None:
                passages = reader.totals()[0]
        with connection(url, limit_s=_PATIENCE_S) as conn:
            live = live_generation(conn, namespace)
            if live is not None:
                ((pending,),) = conn.execute(
                    "SELECT count(*) FROM index_passages WHERE index_id = %s AND embedded = 0", (live.id,)
                ).fetchall()
    except RecallError as error:
        problems.append(str(error))
    except IndexUnreadable as error:
        problems.append(str(error))
    return IndexPlace(
        store="postgresql", address=without_password(url), namespace=namespace, server=server, passages=passages,
        pending=pending,
    )  # fmt: skip
