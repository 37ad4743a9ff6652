"""Tests of erasure: a text that the files lost is in no row, page or log of the index."""

from __future__ import annotations

import uuid

import pytest
from psycopg import sql

from agent_home.forgetting.redaction_target import RedactionTarget
from agent_home.forgetting.text_matcher import Phrase
from agent_home.home import Home
from recall.index import migration
from recall.index.erasure import erase, occurrences
from recall.index.postgresql.erasure import vacuum
from recall.index.postgresql.store import PostgresqlStore
from recall.index.postgresql.tables import require_tables
from recall.index.sqlite import schema
from recall.index.store_choice import chosen_namespace, moving_namespace
from recall.index.sync import sync
from recall.index.verify import verify
from recall.postgres.connections import connection
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings

HERON = RedactionTarget((Phrase("blue heron"),))


def write(home: Home, text: str) -> None:
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge/k.md").write_text(text)


@pytest.fixture
def indexed(home: Home) -> Home:
    """A home whose index says it."""
    body = "".join(f"\n\nParagraph {number} on budgets, {'words ' * 60}" for number in range(60))
    write(home, f"# Birds\n\nThe Blue Heron is the word.{body}\n")
    sync(home, RecallSettings(), None)
    return home


def test_rows_and_bytes_with_the_text_are_named(indexed: Home) -> None:
    found = list(occurrences(indexed, HERON))
    assert {file for file, _ in found} >= {".memory/index.db"}
    assert [what for _, what in found if what.startswith("Knowledge/k.md")] != []
    assert "deleted rows still in the database file" in {what for _, what in found}
    assert list(occurrences(indexed, RedactionTarget((Phrase("grey goose"),)))) == []


def test_erasure_leaves_no_row_page_or_log_with_the_text(indexed: Home) -> None:
    write(indexed, "# Birds\n")
    assert [what for _, what in occurrences(indexed, HERON)] != []
    assert erase(indexed, RecallSettings()) == []
    assert list(occurrences(indexed, HERON)) == []
    assert [path for path in indexed.index.parent.glob("index.db*") if b"heron" in path.read_bytes().lower()] == []
    assert verify(indexed, RecallSettings()).ok


def test_erasure_deletes_files_set_aside(indexed: Home) -> None:
    aside = indexed.index.with_name("index.db.corrupt-1")
    aside.write_bytes(b"\0Blue Heron\0")
    building = indexed.index.with_name("index.db.building")
    building.write_bytes(b"\0Blue Heron\0")
    erase(indexed, RecallSettings())
    assert not aside.exists()
    assert not building.exists()


def test_a_home_without_an_index_gets_none(home: Home) -> None:
    assert erase(home, RecallSettings()) == []
    assert not home.index.exists()
    assert list(occurrences(home, HERON)) == []


def test_a_reader_that_keeps_the_log_is_reported(indexed: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_MS", 50)
    write(indexed, "# Birds\n")
    reader = schema.open_reader(indexed.index)
    assert reader is not None
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM passages").fetchall()
    (note,) = erase(indexed, RecallSettings())
    assert "another process reads the index" in note
    assert [what for _, what in occurrences(indexed, HERON)] != []
    reader.close()
    assert erase(indexed, RecallSettings()) == []
    assert list(occurrences(indexed, HERON)) == []


def _dies(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["_copy_vectors", "_remove_left"])
def test_rows_of_a_move_that_was_killed_are_erased(
    indexed: Home, database_url: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Killed before the choice, the database has rows that nobody reads. Killed after it, the old file is there."""
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    monkeypatch.setattr(migration, step, _dies)
    with pytest.raises(KeyboardInterrupt):
        migration.move_index(indexed, RecallSettings(), "postgresql")
    assert bool(chosen_namespace(indexed)) == (step == "_remove_left")
    write(indexed, "# Birds\n")
    places = {file.split(",")[0] for file, _ in occurrences(indexed, HERON)}
    assert places == {"PostgreSQL", ".memory/index.db"}
    assert erase(indexed, RecallSettings()) == []
    assert list(occurrences(indexed, HERON)) == []
    assert moving_namespace(indexed) in {"", chosen_namespace(indexed)}
    assert verify(indexed, RecallSettings()).ok


def test_rows_of_a_killed_move_that_cannot_be_erased_are_named(
    indexed: Home, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    monkeypatch.setattr(migration, "_copy_vectors", _dies)
    with pytest.raises(KeyboardInterrupt):
        migration.move_index(indexed, RecallSettings(), "postgresql")
    monkeypatch.delenv(DATABASE_VARIABLE)
    assert "did not end could not be removed" in erase(indexed, RecallSettings())[0]
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    assert erase(indexed, RecallSettings()) == []
    assert moving_namespace(indexed) == ""


def test_a_role_that_may_not_vacuum_is_reported(new_database_url: str) -> None:
    role = f"r{uuid.uuid4().hex}"
    with connection(new_database_url) as conn:
        require_tables(conn)
        conn.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
    assert vacuum(PostgresqlStore("n1", new_database_url)) == []
    (note,) = vacuum(PostgresqlStore("n1", new_database_url.replace("//postgres", f"//{role}")))
    assert "permission denied to vacuum" in note
