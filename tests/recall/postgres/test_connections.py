"""Connections are lent, come back, and a server that stops is reported at once and used again when it is back."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from bench.measure import servers
from recall.postgres import connections
from recall.postgres.connections import Connection, DatabaseFailed, OwnConnection, close_pools, connection
from recall.servers import NoServer, ServerUnavailable, without_password


def test_a_block_commits_and_an_exception_undoes(new_database_url: str) -> None:
    with connection(new_database_url) as conn:
        conn.execute("CREATE TABLE kept(n int)")
    with pytest.raises(ZeroDivisionError):
        _insert_and_fail(new_database_url)
    with connection(new_database_url) as conn:
        assert conn.execute("SELECT count(*) FROM kept").fetchall() == [(0,)]


def _insert_and_fail(url: str) -> None:
    with connection(url) as conn:
        conn.execute("INSERT INTO kept VALUES (1)")
        raise ZeroDivisionError


def test_an_error_of_the_server_is_one_line(database_url: str) -> None:
    with pytest.raises(DatabaseFailed, match="no_such_table") as caught, connection(database_url) as conn:
        conn.execute("SELECT * FROM no_such_table")
    assert "\n" not in str(caught.value)


def test_a_statement_that_takes_too_long_does_not_count_as_an_outage(database_url: str) -> None:
    with pytest.raises(DatabaseFailed), connection(database_url) as conn:
        conn.execute("SET LOCAL statement_timeout = 10; SELECT pg_sleep(5)")
    with connection(database_url) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


def test_without_an_address_the_variable_is_named() -> None:
    with pytest.raises(NoServer, match="AGENT_HOME_DATABASE_URL"), connection(""):
        pass


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:12%s3cret@127.0.0.1:1/db", "postgresql://ada:12@s3cret@127.0.0.1:1/db", "ada:s3cret@host/db",
        "postgresql://ada:x/s3cret@127.0.0.1/db", "host=127.0.0.1 password=12 s3cret",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_read_shows_no_part_of_its_password(url: str) -> None:
    for ask in (lambda: OwnConnection(url, 2).run(lambda _conn: None), lambda: connection(url).__enter__()):
        with pytest.raises(NoServer, match="%40 for @") as caught:
            ask()
        assert "s3cret" not in str(caught.value)
        assert "12" not in str(caught.value)


def test_a_refused_connection_is_reported_at_once_and_not_tried_again(tmp_path: Path) -> None:
    url = f"postgresql://nobody@/none?host={tmp_path}"
    with pytest.raises(ServerUnavailable), connection(url):
        pass
    start = time.perf_counter()
    with pytest.raises(ServerUnavailable, match="Asked again in"), connection(url):
        pass
    assert time.perf_counter() - start < 0.5
    close_pools()


@pytest.mark.slow
def test_a_restarted_server_is_used_again(tmp_path: Path) -> None:
    url = servers.postgresql(tmp_path)
    try:
        with connection(url) as conn:
            conn.execute("SELECT 1")
        servers.stop(tmp_path)
        with pytest.raises(ServerUnavailable), connection(url) as conn:
            conn.execute("SELECT 1")
        servers.postgresql(tmp_path)
        time.sleep(1.1)
        with connection(url) as conn:
            conn.execute("SELECT 1")
        servers.stop(tmp_path)
        servers.postgresql(tmp_path)  # the kept connection is dead, and another one takes its place
        with connection(url) as conn:
            assert conn.execute("SELECT 1").fetchone() == (1,)
    finally:
        servers.stop(tmp_path)
        close_pools()


def test_after_a_restart_no_kept_connection_is_lent(new_database_url: str) -> None:
    with ExitStack() as held:
        backends = [_backend(held.enter_context(connection(new_database_url))) for _ in range(3)]
    with psycopg.connect(new_database_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid, 5000) FROM unnest(%s::int[]) AS pid", (backends,))
    with connection(new_database_url) as conn:
        assert _backend(conn) not in backends


def test_a_process_that_uses_all_connections_does_not_blame_the_server(
    new_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 1)
    monkeypatch.setattr(connections, "_LEND_S", 0.2)
    with connection(new_database_url) as first:
        with pytest.raises(ServerUnavailable, match="of this process are in use"), connection(new_database_url):
            pass
        backend = _backend(first)
    with connection(new_database_url) as again:  # at once, and the pool is the same
        assert _backend(again) == backend


def test_a_statement_without_an_answer_is_ended(new_database_url: str) -> None:
    """A block may take longer than a statement of it."""
    with connection(new_database_url, silent_s=0.3, patient=False) as conn:
        for _ in range(2):
            conn.execute("SELECT pg_sleep(.2)")
    silent = pytest.raises(ServerUnavailable, match=r"said nothing for 0\.3 s")
    with silent, connection(new_database_url, silent_s=0.3, patient=False) as conn:
        conn.execute("SELECT pg_sleep(20)")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hidden%zz@127.0.0.1:1/db",
        "postgresql://ann:p@hidden@127.0.0.1:1/db",
        "postgresql://ann:12/hidden@127.0.0.1:1/db",
        "postgresql://ann:no/hidden@127.0.0.1:1/db",
        "postgresql//ann:hidden@127.0.0.1:1/db",
        "host=127.0.0.1 port=1 password=a hidden",
        "hidden",
    ],
)
def test_a_password_that_is_not_escaped_is_in_no_error(url: str) -> None:
    with pytest.raises(NoServer, match="%40") as caught, connection(url):
        pass
    assert "hidden" not in str(caught.value)
    assert "hidden" not in without_password(url)
    own = OwnConnection(url, 1.0)
    with pytest.raises(NoServer):
        own.run(_backend)


def test_a_patient_caller_waits_for_a_long_statement(new_database_url: str) -> None:
    with connection(new_database_url, silent_s=0.2, patient=True) as conn:
        assert conn.execute("SELECT 1 FROM pg_sleep(1)").fetchall() == [(1,)]


@pytest.mark.slow
def test_a_server_that_stalls_is_given_up(tmp_path: Path) -> None:
    url = servers.postgresql(tmp_path)
    server = int((tmp_path / "postgresql" / "postmaster.pid").read_text("utf-8").split()[0])
    try:
        for limit_s, problem in ((0.5, "more than"), (0.0, "said nothing")):
            backends: list[int] = []
            with pytest.raises(ServerUnavailable, match=problem):
                _stop_and_ask(url, server, backends, limit_s)
            for pid in (server, *backends):
                os.kill(pid, signal.SIGCONT)
            close_pools()
    finally:
        os.kill(server, signal.SIGCONT)
        servers.stop(tmp_path)
        close_pools()


def _stop_and_ask(url: str, server: int, backends: list[int], limit_s: float) -> None:
    """Stop the processes of *server* and of its end of a connection, which is added to *backends*, and ask there."""
    with connection(url, limit_s=limit_s, silent_s=0.5) as conn:
        backends.append(_backend(conn))
        for pid in (server, *backends):
            os.kill(pid, signal.SIGSTOP)
        _backend(conn)


def test_a_block_that_takes_too_long_is_ended_and_named(new_database_url: str) -> None:
    with (
        pytest.raises(ServerUnavailable, match=r"more than 0\.2 s"),
        connection(new_database_url, limit_s=0.2) as conn,
    ):
        conn.execute("SELECT pg_sleep(20)")


def test_an_own_connection_is_made_again_after_it_was_lost(database_url: str) -> None:
    own = OwnConnection(database_url, 5.0)
    try:
        first = own.run(_backend)
        assert own.run(_backend) == first
        with connection(database_url) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (first,))
        with pytest.raises(ServerUnavailable):
            own.run(_backend)
        assert own.run(_backend) != first
        with pytest.raises(DatabaseFailed, match="no_such_table"):
            own.run(lambda conn: conn.execute("SELECT * FROM no_such_table"))
    finally:
        own.close()


def test_an_own_connection_gives_up_a_server_that_says_nothing(database_url: str) -> None:
    own = OwnConnection(database_url, 0.5)
    start = time.perf_counter()
    with pytest.raises(ServerUnavailable):
        own.run(lambda conn: conn.execute("SELECT pg_sleep(20)"))
    assert time.perf_counter() - start < 10


def _backend(conn: Connection) -> int:
    row = conn.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    return int(row[0])
