"""Tests of opening an index: our own, damaged and foreign files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import apsw
import pytest

from recall.errors import IndexUnusable
from recall.index.sqlite import schema


def aside(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.glob("*corrupt*"))


def test_a_new_index_has_its_version_and_a_busy_timeout(tmp_path: Path) -> None:
    conn, note = schema.open_writer(tmp_path / "index.db")
    assert note == ""
    assert conn.pragma("user_version") == len(schema.MIGRATIONS)
    assert conn.pragma("journal_mode") == "wal"
    assert conn.pragma("busy_timeout") == schema.BUSY_TIMEOUT_MS
    assert conn.pragma("foreign_keys") == 1


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    conn, _ = schema.open_writer(path)
    schema.set_meta(conn, {"terms": "1"})
    conn.close()
    conn, note = schema.open_writer(path)
    assert (schema.read_meta(conn), note, aside(path)) == ({"terms": "1"}, "", [])


@pytest.mark.parametrize(
    "content", [b"this is no database at all, only words " * 99, b"SQLite format 3\x00" + b"\xff" * 4080]
)
def test_a_damaged_file_is_set_aside_and_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(content)
    conn, note = schema.open_writer(path)
    assert schema.read_meta(conn) == {}
    assert "index.db.corrupt-1" in note
    assert (tmp_path / "index.db.corrupt-1").read_bytes() == content


def test_a_folder_is_set_aside_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    for number in range(1, 6):
        path.mkdir()
        (path / "theirs").touch()
        conn, note = schema.open_writer(path)
        conn.close()
        path.unlink()
        assert f"is no regular file with one name). It is now index.db.corrupt-{number}" in note
    assert len(list(tmp_path.glob("*/theirs"))) == 5


def test_another_programs_database_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs(x)")
    other.commit()
    other.close()
    _, note = schema.open_writer(path)
    assert "another program's database" in note
    assert aside(path) == ["index.db.corrupt-1"]


def test_the_index_of_a_newer_program_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    conn, _ = schema.open_writer(path)
    conn.execute("PRAGMA user_version = 99")
    conn.close()
    with pytest.raises(schema.IndexCorrupt, match="99"):
        schema.open_reader(path)
    _, note = schema.open_writer(path)
    assert "schema version 99" in note


def test_files_set_aside_do_not_replace_each_other(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    for _ in range(3):
        path.write_bytes(b"damage" * 999)
        schema.open_writer(path)[0].close()
    assert aside(path) == ["index.db.corrupt-1", "index.db.corrupt-2", "index.db.corrupt-3"]


def test_of_many_files_set_aside_the_last_three_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    for number in range(1, 6):
        path.write_bytes(f"damage {number}".encode())
        (tmp_path / "index.db-wal").write_bytes(b"log")
        schema.set_aside(path)
    assert aside(path) == sorted(f"index.db.corrupt-{n}{end}" for n in (3, 4, 5) for end in ("", "-wal"))


def test_an_index_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(IndexUnusable, match="unusable and could not be rebuilt"):
        schema.open_writer(tmp_path / "file" / "index.db")


def test_a_reader_needs_an_index_and_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    assert schema.open_reader(path) is None
    assert not path.exists()
    schema.open_writer(path)[0].close()
    reader = schema.open_reader(path)
    assert reader is not None
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM files")


def test_a_failing_migration_leaves_the_old_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index.db"
    schema.open_writer(path)[0].close()
    broken = (*schema.MIGRATIONS, "CREATE TABLE extra(x); CREATE TABLE extra(x);")
    conn = schema.connect(path)
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    with pytest.raises(apsw.SQLError):
        schema.migrate(conn)
    assert conn.pragma("user_version") == len(broken) - 1
    assert schema.value(conn, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'") == 0


def test_the_index_records_the_model_and_the_metric(tmp_path: Path) -> None:
    conn, _ = schema.open_writer(tmp_path / "index.db")
    with schema.transaction(conn):
        schema.describe_vectors(conn, "model", "model:1", 2)
    assert schema.read_meta(conn) == {"model": "model", "fingerprint": "model:1", "dimension": "2", "metric": "cosine"}
