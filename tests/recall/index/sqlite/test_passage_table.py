"""Tests of the table of passages: it answers as the index does, also after changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import pytest

from agent_home.home import Home
from recall.index.context_window import ContextWindows
from recall.index.sqlite import passage_table, schema
from recall.index.sqlite.passage_table import PassageTable, load_table, log_change, resident_table
from recall.index.sqlite.reader import SqliteReader
from recall.index.sync import SyncReport
from recall.text.term_hashes import term_hash

Say = Callable[..., Path]
Write = Callable[[str, str], Path]
Update = Callable[[], SyncReport]
FEATURES = ("ids", "files", "ordinals", "layers", "lengths", "days", "users", "asks")


@pytest.fixture
def filled(home: Home, say: Say, write: Write, update: Update, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home whose index is read into memory by the first search."""
    monkeypatch.setattr(passage_table, "_SEARCHES_BEFORE", 0)
    monkeypatch.setattr(passage_table, "_start", lambda read: read())
    say("long", *(f"turn {n} about the old falcon tower?" for n in range(70)))
    say("other", "Where do falcons nest?", "In the tower.", names=("Old Falcon", "agent"))
    write("Knowledge/birds.md", "# Birds\n\nThe falcon nests in an old tower.\n")
    update()
    return home


def table_of(home: Home) -> PassageTable:
    conn = schema.open_reader(home.index)
    assert conn is not None
    table = resident_table(conn, home.index)
    conn.close()
    assert table is not None
    return table


def assert_same(found: ContextWindows, expected: ContextWindows) -> None:
    for name in FEATURES:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    for words, others in ((found.texts, expected.texts), (found.headings, expected.headings)):
        assert np.array_equal(words.codes, others.codes)
        assert np.array_equal(words.owners, others.owners)
        for spelling in ((term_hash("falcon"),), (term_hash("old"), term_hash("falcon")), (term_hash("absent"),)):
            assert np.array_equal(words.times(spelling), others.times(spelling))


def assert_answers_as_the_index(home: Home) -> None:
    table = table_of(home)
    conn = schema.open_reader(home.index)
    assert conn is not None
    every = [ident for (ident,) in schema.rows(conn, "SELECT id FROM passages")]
    for ids in ([], every[:1], every[::7], every[-3:], every, [10**6]):
        assert_same(table.windows_of(ids), SqliteReader(conn, home.index).windows(ids))
    sums = schema.rows(conn, "SELECT count(*), sum(passages), sum(words) FROM files WHERE passages")
    assert [(table.files, table.passages, table.text_words)] == sums
    conn.close()


def test_windows_are_those_of_the_index(filled: Home) -> None:
    assert_answers_as_the_index(filled)


def test_windows_follow_every_change(filled: Home, say: Say, write: Write, update: Update) -> None:
    table = table_of(filled)
    steps: list[Callable[[], object]] = [
        lambda: say("other", "The falcon flew away."),
        lambda: write("Knowledge/birds.md", "# Birds\n\nOwls nest in barns.\n"),
        lambda: write("Knowledge/towers.md", "# Towers\n\nAn old falcon tower.\n"),
        (filled.root / "Knowledge/birds.md").unlink,
        lambda: say("long", *(f"further turn {n}" for n in range(5))),
    ]
    for step in steps:
        step()
        update()
        assert_answers_as_the_index(filled)
    assert table_of(filled).segments[0].tokens is table.segments[0].tokens


def test_after_many_changes_all_is_read_again(
    filled: Home, say: Say, update: Update, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_table, "_MOST_CHANGED", 4)
    table_of(filled)
    say("third", *(f"turn {n}" for n in range(30)))
    update()
    assert len(table_of(filled).segments) == 1
    assert_answers_as_the_index(filled)


def test_an_unchanged_index_is_not_read_again(filled: Home) -> None:
    assert table_of(filled) is table_of(filled)


def test_an_index_is_read_when_it_was_searched_several_times(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_table, "_SEARCHES_BEFORE", 2)
    conn = schema.open_reader(filled.index)
    assert conn is not None
    found = [resident_table(conn, filled.index) for _ in range(4)]
    conn.close()
    assert [table is not None for table in found] == [False, False, True, True]


def test_a_large_index_is_not_read(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_table, "_MOST_PASSAGES", 10)
    conn = schema.open_reader(filled.index)
    assert conn is not None
    assert resident_table(conn, filled.index) is None
    conn.close()


def test_another_index_in_the_same_place_is_told_by_its_token(filled: Home) -> None:
    before = table_of(filled)
    conn = schema.connect(filled.index)
    conn.execute("UPDATE changes SET token = random()")
    reader = schema.open_reader(filled.index)
    assert reader is not None
    after = resident_table(reader, filled.index)
    assert after is not None
    assert after is not before
    reader.close()
    conn.close()


def test_the_log_of_changes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_table, "_LOGGED", 3)
    conn, _ = schema.open_writer(tmp_path / "index.db")
    for file in range(10):
        log_change(conn, file)
    assert schema.rows(conn, "SELECT file FROM changes ORDER BY number") == [(7,), (8,), (9,)]
    conn.close()


def test_an_empty_index_has_an_empty_table(tmp_path: Path) -> None:
    conn: apsw.Connection = schema.open_writer(tmp_path / "index.db")[0]
    table = load_table(conn)
    assert (table.passages, table.files, len(table.windows_of([1]))) == (0, 0, 0)
    conn.close()


def test_searches_go_on_while_the_index_is_read(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Callable[[], None]] = []
    monkeypatch.setattr(passage_table, "_start", begun.append)
    conn = schema.open_reader(filled.index)
    assert conn is not None
    assert [resident_table(conn, filled.index) for _ in range(3)] == [None, None, None]
    (read,) = begun
    read()
    assert resident_table(conn, filled.index) is not None
    conn.close()


def test_a_damaged_index_is_left_to_the_searches(filled: Home) -> None:
    conn = schema.open_reader(filled.index)
    assert conn is not None
    filled.index.write_bytes(b"no index" * 100)
    assert resident_table(conn, filled.index) is None
    conn.close()
