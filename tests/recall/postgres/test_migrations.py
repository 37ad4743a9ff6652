"""Migrations are applied once, in order, also by several processes at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from agent_home.home import Home
from recall.index.postgresql.tables import require_tables
from recall.index.store_choice import choose_namespace
from recall.index.sync import ensure_fresh
from recall.postgres import migrations
from recall.postgres.connections import Connection, connection
from recall.postgres.migrations import DatabaseTooNew, migrate
from recall.search.addressed import passage_at
from recall.search.hybrid import search
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings

FIRST, SECOND = "CREATE TABLE thing(n int)", "ALTER TABLE thing ADD COLUMN name text"


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "_CURRENT", set())


def columns(conn: Connection) -> list[str]:
    select = "SELECT column_name FROM information_schema.columns WHERE table_name = 'thing' ORDER BY 1"
    return [name for (name,) in conn.execute(select)]


def test_a_database_gets_what_it_lacks(new_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connection(new_database_url) as conn:
        migrate(conn, "things", [FIRST])
        assert columns(conn) == ["n"]
        monkeypatch.setattr(migrations, "_CURRENT", set())
        migrate(conn, "things", [FIRST, SECOND])
        assert columns(conn) == ["n", "name"]


def test_several_processes_migrate_at_once(new_database_url: str) -> None:
    def apply(_: int) -> None:
        with psycopg.connect(new_database_url) as conn:
            migrate(conn, "things", [FIRST, SECOND])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(apply, range(8)))
    with connection(new_database_url) as conn:
        assert columns(conn) == ["n", "name"]


def test_a_failing_migration_leaves_nothing(new_database_url: str) -> None:
    with psycopg.connect(new_database_url) as conn, pytest.raises(psycopg.Error):
        migrate(conn, "things", [FIRST, "CREATE NONSENSE"])
    with connection(new_database_url) as conn:
        assert columns(conn) == []


def test_a_newer_database_is_refused(new_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with connection(new_database_url) as conn:
        migrate(conn, "things", [FIRST, SECOND])
        monkeypatch.setattr(migrations, "_CURRENT", set())
        with pytest.raises(DatabaseTooNew, match="Update agent-home"):
            migrate(conn, "things", [FIRST])


def test_a_role_that_may_make_no_tables_uses_those_that_are_there(
    new_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection(new_database_url) as conn:
        migrate(conn, "things", [FIRST])
    monkeypatch.setattr(migrations, "_CURRENT", set())
    with connection(new_database_url) as conn:
        conn.execute("SET LOCAL default_transaction_read_only = on; SET LOCAL transaction_read_only = on")
        migrate(conn, "things", [FIRST])
        migrations._CURRENT.clear()
        conn.execute("SET LOCAL transaction_read_only = on")
        with pytest.raises(psycopg.Error):
            migrate(conn, "things", [FIRST, SECOND])
        conn.rollback()


def test_a_newer_database_costs_a_prompt_its_passages_alone(
    home: Home, new_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older program beside it answers, and says what to do."""
    monkeypatch.setenv(DATABASE_VARIABLE, new_database_url)
    monkeypatch.setattr(migrations, "_CURRENT", set())
    with connection(new_database_url) as conn:
        require_tables(conn)
        conn.execute("INSERT INTO agent_home_migrations(component, number) VALUES('index', 99)")
    migrations._CURRENT.clear()
    choose_namespace(home, "n1")
    assert "Update agent-home" in ensure_fresh(home, RecallSettings(), None).degraded[0]
    assert "Update agent-home" in search(home, "falcon", settings=RecallSettings()).degraded[0]
    assert passage_at(home, "Knowledge/a.md#L1") is None
