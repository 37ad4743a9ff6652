"""Tests of context windows: they hold what the passages hold, and only changed ones are written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agent_home.home import Home
from recall.index.context_window import ContextWindows, build_windows
from recall.index.passage import Passage
from recall.index.sqlite import schema
from recall.index.sqlite.passage_store import store_windows
from recall.index.store import index_store
from recall.index.sync import SyncReport
from recall.text.term_hashes import Fts5Stemmer, term_hash

Say = Callable[..., Path]
Update = Callable[[], SyncReport]


def ident(home: Home, source: str) -> int:
    conn = schema.connect(home.index)
    value: int = schema.value(conn, "SELECT id FROM passages WHERE source = ?", (source,))
    conn.close()
    return value


def load_windows(home: Home, passages: list[int]) -> ContextWindows:
    with index_store(home).reading() as reader:
        assert reader is not None
        return reader.windows(passages)


def test_a_word_has_the_hash_of_its_stem_in_the_index() -> None:
    stemmer = Fts5Stemmer(schema.connect(":memory:"))
    assert stemmer.hashes("Painted paintings").tolist() == [term_hash("paint"), term_hash("paint")]
    assert stemmer.hashes("数据库").tolist() == [term_hash("数据"), term_hash("据库"), term_hash("库")]
    assert stemmer.hashes("").tolist() == []


def test_a_window_holds_words_speakers_days_and_questions(home: Home, say: Say, update: Update) -> None:
    say("s1", "Where do falcons nest?", "In the tower.", "“Really?”")
    update()
    windows = load_windows(home, [ident(home, "s1#m2")])
    assert windows.ordinals.tolist() == [0, 1, 2]
    assert windows.layers.tolist() == ["sessions"] * 3
    assert windows.asks.tolist() == [True, False, True]
    assert windows.users.tolist() == [True, False, True]
    assert windows.lengths.tolist() == [4.0, 3.0, 1.0]
    assert set(windows.days.tolist()) == {np.datetime64("2026-11-20").astype(int) + 719163}
    stems = ("where", "do", "falcon", "nest")
    assert windows.texts.codes[windows.texts.owners == 0].tolist() == [term_hash(stem) for stem in stems]
    assert windows.headings.codes[windows.headings.owners == 1].tolist() == [term_hash("agent")]


def test_only_the_windows_of_the_passages_are_loaded(home: Home, say: Say, update: Update) -> None:
    say("long", *(f"turn {n}" for n in range(100)))
    say("other", "turn")
    update()
    windows = load_windows(home, [ident(home, "long#m40")])
    assert windows.ordinals.tolist() == list(range(32, 64))
    assert len(load_windows(home, [])) == 0


def test_an_appended_turn_leaves_full_windows_alone(tmp_path: Path) -> None:
    conn, _ = schema.open_writer(tmp_path / "index.db")
    conn.execute("INSERT INTO files VALUES(1, 'a', 'sessions', 'a', x'', 0, 0, '', 0, 0)")
    turns = [
        (n + 1, Passage(source=f"a#{n}", path="a", layer="sessions", ordinal=n, text=f"turn {n}")) for n in range(41)
    ]

    def written(count: int) -> int:
        before = conn.total_changes()
        store_windows(conn, 1, build_windows(turns[:count], Fts5Stemmer(conn)))
        return conn.total_changes() - before

    assert written(40) == 2  # two windows are inserted
    assert written(40) == 0
    assert written(41) == 2  # the second is deleted and inserted
    assert written(32) == 1  # the second is deleted
    assert schema.value(conn, "SELECT count(*) FROM context_windows") == 1


@pytest.mark.parametrize("name", ["user", "assistant", "User"])
def test_a_name_that_repeats_the_role_is_ignored(home: Home, say: Say, update: Update, name: str) -> None:
    say("s1", "the user is authenticated", names=(name, "agent"))
    update()
    assert len(load_windows(home, [ident(home, "s1#m1")]).headings.codes) == 0
