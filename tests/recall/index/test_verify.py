"""Tests of verification: it finds every kind of difference between an index and the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agent_home.home import Home
from recall.index.sqlite import schema
from recall.index.sync import SyncReport, sync
from recall.index.verify import verify
from recall.settings import RecallSettings
from recall.text.terms import index_text

Update = Callable[[], SyncReport]
Say = Callable[..., Path]


@pytest.fixture
def indexed(home: Home, say: Say, write: Callable[[str, str], Path], update: Update) -> Home:
    say("s1", "the falcon nests", "the otter swims", "the badger digs")
    write("Knowledge/a.md", "# Note\n\nabout the heron\n")
    update()
    return home


def test_a_synced_index_has_no_differences(indexed: Home, settings: RecallSettings) -> None:
    found = verify(indexed, settings)
    assert (found.ok, found.differences, found.passages, found.pending) == (True, (), 4, 0)


def test_pending_vectors_are_counted_and_no_difference(home: Home, say: Say, settings: RecallSettings) -> None:
    say("s1", "one", "two")
    sync(home, settings, None)
    found = verify(home, settings)
    assert (found.ok, found.pending) == (True, 2)


def test_no_index_is_a_difference(home: Home, settings: RecallSettings) -> None:
    assert verify(home, settings).differences == ("there is no index. Run `memory sync`",)


def test_files_changed_after_the_sync_are_named(
    indexed: Home, write: Callable[[str, str], Path], settings: RecallSettings
) -> None:
    write("Knowledge/new.md", "new\n")
    write("Knowledge/a.md", "changed\n")
    (indexed.root / "sessions/2026/11/s1.jsonl").unlink()
    assert verify(indexed, settings).differences == (
        "sessions/2026/11/s1.jsonl is in the index but not in the home. Run `memory sync`",
        "Knowledge/new.md is not in the index. Run `memory sync`",
        "Knowledge/a.md changed since it was indexed. Run `memory sync`",
    )


@pytest.mark.parametrize(
    ("damage", "difference"),
    [
        ("UPDATE passages SET text = 'forged' WHERE source = 's1#m2'", "has other passages in the index (passage 2)"),
        ("UPDATE passages SET source = 's1#m9' WHERE source = 's1#m2'", "has other passages in the index (passage 2)"),
        ("DELETE FROM passages WHERE source = 's1#m3'", "(2 passages, expected 3)"),
        ("DELETE FROM passage_words WHERE rowid = 1", "the postings of passage_words differ"),
        ("INSERT INTO passage_words(rowid, body) VALUES(99, 'stray')", "the postings of passage_words differ"),
        (
            "INSERT OR REPLACE INTO passage_words(rowid, body) VALUES(1, 'other words')",
            "the postings of passage_words differ",
        ),
        (
            "DELETE FROM file_words WHERE rowid = (SELECT id FROM files WHERE session = 's1')",
            "the postings of file_words differ",
        ),
        (
            "DELETE FROM context_windows WHERE file = (SELECT id FROM files WHERE session = 's1')",
            "the context windows of ",
        ),
        ("UPDATE context_windows SET words = x'00000000'", "differ from its passages"),
        ("UPDATE files SET words = words + 1 WHERE session = 's1'", "differ from its passages"),
        ("DELETE FROM embeddings WHERE passage = 1", "1 passages lack their vector"),
        ("UPDATE passages SET embedded = 0 WHERE id = 1", "1 vectors lack their passage"),
        (
            "UPDATE embeddings SET window = NULL WHERE passage = (SELECT id FROM passages WHERE source = 's1#m1')",
            "differs from its turns",
        ),
        (
            "UPDATE embeddings SET window = vector WHERE passage = (SELECT id FROM passages WHERE session = '')",
            "1 windows belong to no turn",
        ),
        ("UPDATE binary_vectors SET slots = zeroblob(length(slots))", "binary vectors for"),
        ("UPDATE passages SET file = file + 1 WHERE id = 1", "differ from their vectors"),
        ("UPDATE meta SET value = '0' WHERE key = 'terms'", "terms is '0' in the index"),
    ],
)
def test_each_kind_of_damage_is_found(indexed: Home, settings: RecallSettings, damage: str, difference: str) -> None:
    conn = schema.connect(indexed.index)
    conn.execute(damage)
    conn.close()
    found = verify(indexed, settings)
    assert not found.ok
    assert any(difference in line for line in found.differences), found.differences


def test_binary_vectors_around_another_centroid_are_found(indexed: Home, settings: RecallSettings) -> None:
    conn = schema.connect(indexed.index)
    dimension = int(schema.read_meta(conn)["dimension"])
    schema.set_meta(conn, {"middle": np.full(dimension, 0.5, np.float32).tobytes().hex()})
    conn.close()
    assert "differ from their vectors" in verify(indexed, settings).differences[0]


def test_a_window_of_other_turns_is_found(indexed: Home, settings: RecallSettings) -> None:
    conn = schema.connect(indexed.index)
    ((passage, blob),) = schema.rows(
        conn,
        "SELECT p.id, e.vector FROM passages p JOIN embeddings e ON e.passage = p.id WHERE p.source = 's1#m1'",
    )
    conn.execute("UPDATE embeddings SET window = ? WHERE passage = ?", (blob, passage))
    conn.close()
    assert "differs from its turns" in verify(indexed, settings).differences[0]


def test_a_damaged_file_is_reported_and_not_raised(indexed: Home, settings: RecallSettings) -> None:
    indexed.index.write_bytes(b"no database " * 1000)
    found = verify(indexed, settings)
    assert not found.ok
    assert "memory reindex" in found.differences[0]


def test_verifying_writes_nothing(indexed: Home, settings: RecallSettings) -> None:
    before = indexed.index.read_bytes()
    verify(indexed, settings)
    assert indexed.index.read_bytes() == before


def test_scores_after_many_changes_are_those_of_a_fresh_index(tmp_path: Path) -> None:
    """Replace rows of a contentless table many times: old lengths and counts would make BM25 drift."""

    def scores(changes: int) -> list[tuple[int, float]]:
        conn, _ = schema.open_writer(tmp_path / f"{changes}.db")
        for turn in range(changes + 1):
            for row in range(1, 6):
                text = f"falcon {'tower ' * row}" if turn == changes else f"old {'words ' * (turn + row)} falcon"
                conn.execute("INSERT OR REPLACE INTO passage_words(rowid, body) VALUES(?, ?)", (row, index_text(text)))
            conn.execute("INSERT OR REPLACE INTO passage_words(rowid, body) VALUES(77, 'gone')")
            conn.execute("DELETE FROM passage_words WHERE rowid = 77")
        select = "SELECT rowid, bm25(passage_words) FROM passage_words WHERE passage_words MATCH 'falcon OR tower'"
        return schema.rows(conn, f"{select} ORDER BY 1")

    assert scores(40) == scores(0)
