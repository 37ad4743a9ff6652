"""Tests of kept read connections: they show every change, hold up nobody, and belong to one file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from recall.index.sqlite import readers, schema
from recall.index.sqlite.readers import close_readers, reading


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "index.db"
    make(path, "first")
    yield path
    close_readers()


def make(path: Path, terms: str) -> None:
    conn, _ = schema.open_writer(path)
    schema.set_meta(conn, {"terms": terms})
    conn.close()


def terms(conn: apsw.Connection | None) -> str:
    assert conn is not None
    return schema.read_meta(conn)["terms"]


def test_a_connection_serves_the_next_reader(path: Path) -> None:
    with reading(path) as first:
        pass
    with reading(path) as second, reading(path) as third:
        assert second is first
        assert third is not first


def test_a_reader_sees_what_was_written_since(path: Path) -> None:
    with reading(path) as conn:
        assert terms(conn) == "first"
    make(path, "second")
    with reading(path) as conn:
        assert terms(conn) == "second"


def test_a_reader_sees_one_state(path: Path) -> None:
    with reading(path) as conn:
        assert terms(conn) == "first"
        make(path, "second")
        assert terms(conn) == "first"


def test_a_kept_connection_holds_up_no_checkpoint(path: Path) -> None:
    with reading(path) as conn:
        terms(conn)
    writer, _ = schema.open_writer(path)
    schema.set_meta(writer, {"terms": "second"})
    assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall() == [(0, 0, 0)]
    writer.close()


def test_a_replaced_file_is_opened_anew(path: Path, tmp_path: Path) -> None:
    with reading(path) as conn:
        terms(conn)
    make(tmp_path / "other.db", "other")
    schema.remove(path)
    shutil.move(tmp_path / "other.db", path)
    with reading(path) as conn:
        assert terms(conn) == "other"


def test_a_link_is_refused_although_a_connection_was_kept(path: Path, tmp_path: Path) -> None:
    with reading(path) as conn:
        terms(conn)
    path.rename(tmp_path / "elsewhere.db")
    path.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(schema.IndexCorrupt), reading(path):
        pass


def test_an_index_of_another_version_is_refused_although_a_connection_was_kept(path: Path) -> None:
    with reading(path) as conn:
        terms(conn)
    writer, _ = schema.open_writer(path)
    writer.execute("PRAGMA user_version = 999")
    writer.close()
    with pytest.raises(schema.IndexCorrupt, match="version 999"), reading(path):
        pass


def test_a_connection_that_met_an_error_is_closed(path: Path) -> None:
    used = []

    def fail() -> None:
        with reading(path) as conn:
            used.append(conn)
            raise apsw.CorruptError

    with pytest.raises(apsw.CorruptError):
        fail()
    with reading(path) as conn:
        assert conn is not used[0]


def test_no_index_gives_no_connection(tmp_path: Path) -> None:
    with reading(tmp_path / "index.db") as conn:
        assert conn is None


def test_few_connections_are_kept(tmp_path: Path) -> None:
    close_readers()
    for number in range(12):
        path = tmp_path / f"{number}.db"
        make(path, "x")
        with reading(path) as conn:
            terms(conn)
    assert len(readers._IDLE) == 8
    close_readers()
    assert not readers._IDLE
