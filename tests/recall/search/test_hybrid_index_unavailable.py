"""A sound index that cannot be used just now costs recall and raises nothing."""

from __future__ import annotations

import apsw
import pytest

from agent_home.home import Home
from recall.index.sqlite import schema
from recall.index.sync import ensure_fresh, sync
from recall.search.hybrid import search
from recall.settings import RecallSettings

SETTINGS = RecallSettings()


@pytest.fixture
def indexed(home: Home) -> Home:
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge" / "a.md").write_text("# Bridges\n\nThe suspension bridge sways.\n", encoding="utf-8")
    sync(home, SETTINGS, None)
    return home


def test_a_read_only_folder_is_searched(indexed: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = schema.connect

    def read_only(path: object, flags: int = apsw.SQLITE_OPEN_READWRITE, *_: object, **__: object) -> apsw.Connection:
        if flags & apsw.SQLITE_OPEN_READWRITE:
            raise apsw.ReadOnlyError("attempt to write a readonly database")
        return connect(str(path), flags)

    with apsw.Connection(str(indexed.index)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    monkeypatch.setattr(schema, "connect", read_only)
    assert [hit.path for hit in search(indexed, "bridge", settings=SETTINGS, mode="lexical").hits] == ["Knowledge/a.md"]


def test_a_foreign_lock_hides_the_newest_passages_and_is_named(indexed: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_MS", 50)
    (indexed.root / "Knowledge" / "b.md").write_text("# Tunnels\n", encoding="utf-8")
    stranger = apsw.Connection(str(indexed.index))
    stranger.execute("BEGIN IMMEDIATE")
    try:
        assert ensure_fresh(indexed, SETTINGS, None).degraded
        assert search(indexed, "bridge", settings=SETTINGS, mode="lexical").hits
        assert not search(indexed, "tunnels", settings=SETTINGS, mode="lexical").hits
    finally:
        stranger.close()
    assert not ensure_fresh(indexed, SETTINGS, None).degraded
    assert search(indexed, "tunnels", settings=SETTINGS, mode="lexical").hits


@pytest.mark.parametrize("kind", [apsw.FullError, apsw.IOError, apsw.ReadOnlyError, apsw.BusyError])
def test_a_disk_that_fails_while_words_are_indexed_is_named(
    indexed: Home, monkeypatch: pytest.MonkeyPatch, kind: type[apsw.Error]
) -> None:
    def fails(*_arguments: object, **_more: object) -> None:
        raise kind("database or disk is full")

    (indexed.root / "Knowledge" / "b.md").write_text("# Tunnels\n", encoding="utf-8")
    monkeypatch.setattr("recall.index.sync.index_words", fails)
    (problem,) = ensure_fresh(indexed, SETTINGS, None).degraded
    assert "disk is full" in problem
