"""The queue of nightly runs, which procrastinate keeps in the database of the registry.

Each home has a queue of its own, and a worker listens to the queues of the homes that its host holds. So a run begins
only where its home is. The lock of procrastinate keeps a second run of one home from starting, and its queueing lock a
second one from waiting.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recall.postgres.connections import Connection, OwnConnection, silence_options

if TYPE_CHECKING:
    import procrastinate

__all__ = [
    "NIGHTLY",
    "QueueState",
    "defer_again",
    "defer_nightly",
    "drop_runs",
    "empty_app",
    "prepare_queue",
    "queue_of",
    "queue_state",
]

#: The name of the task.
NIGHTLY = "nightly"
#: Advisory lock of the tables of procrastinate: the letters "agho" and a number of its own.
_LOCK_KEY = 0x6167686F_0002
_SILENCE_S = 10.0
_COUNTED = ("todo", "doing", "succeeded")
#: Failed runs that are named.
_MOST_FAILED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """Runs by status: waiting (*todo*), running (*doing*) and *succeeded*.

    *failed* counts the homes whose last run failed for good, and *failures* are the newest of these runs.
    """

    todo: int = 0
    doing: int = 0
    succeeded: int = 0
    failed: int = 0
    failures: tuple[dict[str, Any], ...] = ()


def queue_of(home: str) -> str:
    """Return the name of the queue of a home."""
    return f"home:{home}"


def empty_app(url: str, *, asynchronous: bool) -> procrastinate.App:
    """Return procrastinate's application for the database at *url*, without tasks."""
    import procrastinate

    kind = procrastinate.PsycopgConnector if asynchronous else procrastinate.SyncPsycopgConnector
    return procrastinate.App(connector=kind(conninfo=url, kwargs=silence_options(_SILENCE_S), min_size=1, max_size=4))


def prepare_queue(url: str) -> None:
    """Make the tables of procrastinate, if the database has none.

    Raises:
        RecallError: the database does not answer, or the client is not installed.
    """
    connection = OwnConnection(url, _SILENCE_S)
    try:
        connection.run(_make_tables)
    finally:
        connection.close()


def defer_nightly(url: str, homes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Queue a nightly run of each of *homes*. Return the homes whose run is queued now, and those that had one.

    Raises:
        RecallError: the database does not answer.
    """
    from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

    from recall.servers import ServerUnavailable

    prepare_queue(url)
    queued, known = [], []
    try:
        with empty_app(url, asynchronous=False).open() as app:
            for home in homes:
                task = app.configure_task(NIGHTLY, lock=home, queueing_lock=home, queue=queue_of(home))
                try:
                    task.defer(home=home)
                except AlreadyEnqueued:
                    known.append(home)
                else:
                    queued.append(home)
    except ConnectorException as error:
        raise ServerUnavailable("PostgreSQL", url, " ".join(str(error).split())) from error
    return queued, known


async def defer_again(app: procrastinate.App, home: str, tries: int, seconds: float) -> None:
    """Queue the next try of a run after *seconds*, unless the next run of *home* waits already.

    Each try is a job of its own. To put a job back, procrastinate would need the place in the queue that the next run
    may have taken.
    """
    from procrastinate.exceptions import AlreadyEnqueued

    task = app.configure_task(
        NIGHTLY, lock=home, queueing_lock=home, queue=queue_of(home), schedule_in={"seconds": round(seconds)}
    )
    with suppress(AlreadyEnqueued):
        await task.defer_async(home=home, tries=tries)


def queue_state(url: str) -> QueueState:
    """Return how many runs wait, run, are done and failed, and what failed last.

    Raises:
        RecallError: the database does not answer.
    """
    connection = OwnConnection(url, _SILENCE_S)
    try:
        return connection.run(_state)
    finally:
        connection.close()


def drop_runs(url: str, home: str) -> None:
    """Take the run of a home that left the fleet out of the queue, because no worker will listen to it.

    Raises:
        RecallError: the database does not answer.
    """
    connection = OwnConnection(url, _SILENCE_S)
    try:
        connection.run(lambda conn: _drop(conn, home))
    finally:
        connection.close()


def _make_tables(conn: Connection) -> None:
    import procrastinate.schema

    with conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_KEY,))
        if not _has_tables(conn):
            conn.execute(procrastinate.schema.SchemaManager.get_schema())


def _has_tables(conn: Connection) -> bool:
    found = conn.execute("SELECT to_regclass('procrastinate_jobs') IS NOT NULL").fetchone()
    return bool(found and found[0])


def _state(conn: Connection) -> QueueState:
    if not _has_tables(conn):
        return QueueState()
    rows = conn.execute(
        """SELECT status::text, count(*) FROM procrastinate_jobs WHERE task_name = %s AND status <> 'failed'
           GROUP BY 1""",
        (NIGHTLY,),
    )
    counts: dict[str, int] = dict(rows.fetchall())
    failed = conn.execute(
        """SELECT j.lock, coalesce((j.args->>'tries')::int, 0) + 1,
               (SELECT max(at) FROM procrastinate_events e WHERE e.job_id = j.id), count(*) OVER ()
           FROM procrastinate_jobs j WHERE j.task_name = %s AND j.status = 'failed' AND NOT EXISTS (
               SELECT 1 FROM procrastinate_jobs l WHERE l.lock = j.lock AND l.id > j.id
                   AND l.status IN ('succeeded', 'failed'))
           ORDER BY j.id DESC LIMIT %s""",
        (NIGHTLY, _MOST_FAILED),
    ).fetchall()
    failures = [
        {"home": home, "attempts": attempts, "at": at.isoformat() if at else ""} for home, attempts, at, _ in failed
    ]
    return QueueState(
        **{name: counts.get(name, 0) for name in _COUNTED}, failed=failed[0][3] if failed else 0,
        failures=tuple(failures),
    )  # fmt: skip


def _drop(conn: Connection, home: str) -> None:
    if _has_tables(conn):
        conn.execute(
            "DELETE FROM procrastinate_jobs WHERE task_name = %s AND queue_name = %s AND status = 'todo'",
            (NIGHTLY, queue_of(home)),
        )
