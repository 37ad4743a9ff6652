"""An index moves to PostgreSQL and back without a difference, and an interrupted move goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent_home.home import Home
from recall.embedding.embedder import Vector
from recall.index import ingest, migration
from recall.index.migration import MoveDiffers, abandon_database, index_counts, move_index
from recall.index.postgresql.store import PostgresqlStore, live_generation
from recall.index.postgresql.writer import PostgresqlWriter
from recall.index.store_choice import chosen_namespace, moving_namespace
from recall.index.sync import sync
from recall.index.verify import verify
from recall.postgres.connections import connection
from recall.search.hybrid import search
from recall.servers import DATABASE_VARIABLE, ServerUnavailable
from recall.settings import RecallSettings
from tests.recall.hashing_embedder import HashingEmbedder

Say = Callable[..., Path]
SETTINGS = RecallSettings()


class NoNewVectors(HashingEmbedder):
    """A model that may not be asked."""

    def embed(self, texts: Sequence[str]) -> Vector:
        raise AssertionError(texts)


@pytest.fixture
def filled(home: Home, say: Say, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    home.machine.mkdir(parents=True, exist_ok=True)
    say("s1", *(f"turn {n} of the falcon tower" for n in range(40)))
    sync(home, SETTINGS, HashingEmbedder())
    return home


def sources(home: Home) -> list[str]:
    found = search(home, "falcon turn 7", settings=SETTINGS, embedder=HashingEmbedder())
    assert found.degraded == ()
    return [hit.source for hit in found.hits]


def test_an_index_moves_to_the_database_and_back(filled: Home) -> None:
    before, counts = sources(filled), index_counts(filled)
    there = move_index(filled, SETTINGS, "postgresql")
    assert there.counts == counts
    assert there.copied == counts.vectors if counts else False
    assert not filled.index.exists()
    assert sources(filled) == before
    sync(filled, SETTINGS, NoNewVectors())
    assert verify(filled, SETTINGS).differences == ()
    back = move_index(filled, SETTINGS, "sqlite")
    assert back.counts == counts
    assert sources(filled) == before
    assert verify(filled, SETTINGS).differences == ()
    with PostgresqlStore(there.namespace).writing(1.0) as conn:
        assert live_generation(conn, there.namespace) is None


def test_moving_an_index_where_it_is_changes_nothing(filled: Home) -> None:
    done = move_index(filled, SETTINGS, "sqlite")
    assert (done.source, done.target, done.copied) == ("sqlite", "sqlite", 0)
    assert filled.index.exists()


def test_an_interrupted_move_goes_on_in_the_same_namespace(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    store, calls = PostgresqlWriter.store_quantized, []

    def dies(self: PostgresqlWriter, *arguments: object) -> None:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        store(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(migration, "_BATCH", 10)
    monkeypatch.setattr(PostgresqlWriter, "store_quantized", dies)
    before = sources(filled)
    with pytest.raises(KeyboardInterrupt):
        move_index(filled, SETTINGS, "postgresql")
    assert chosen_namespace(filled) == ""
    assert sources(filled) == before
    monkeypatch.setattr(PostgresqlWriter, "store_quantized", store)
    namespace = moving_namespace(filled)
    done = move_index(filled, SETTINGS, "postgresql")
    assert (done.namespace, done.copied) == (namespace, done.counts.vectors - 10)
    assert moving_namespace(filled) == ""
    assert sources(filled) == before


def test_a_difference_keeps_the_old_index(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "_copy_vectors", lambda *_: 0)
    with pytest.raises(MoveDiffers, match="stays in use"):
        move_index(filled, SETTINGS, "postgresql")
    assert chosen_namespace(filled) == ""
    assert sources(filled)


def test_a_database_that_is_gone_can_be_abandoned(
    filled: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_index(filled, SETTINGS, "postgresql")
    monkeypatch.setenv(DATABASE_VARIABLE, f"postgresql://nobody@/none?host={tmp_path}")
    assert abandon_database(filled, SETTINGS).passages == index_counts(filled).passages  # type: ignore[union-attr]
    assert filled.index.exists()
    sync(filled, SETTINGS, HashingEmbedder())
    assert sources(filled)


def test_without_the_server_the_index_stays(filled: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATABASE_VARIABLE, f"postgresql://nobody@/none?host={tmp_path}")
    with pytest.raises(ServerUnavailable):
        move_index(filled, SETTINGS, "postgresql")
    assert sources(filled)
    assert moving_namespace(filled) == ""


def test_two_moves_at_once_end_in_one_namespace(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second move began before the first one ended, and finds its work done."""
    first = sync

    def another_move(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(migration, "sync", first)
        moved.append(move_index(filled, SETTINGS, "postgresql"))
        return first(*arguments, **options)  # type: ignore[arg-type]

    moved: list[migration.IndexMove] = []
    monkeypatch.setattr(migration, "sync", another_move)
    done = move_index(filled, SETTINGS, "postgresql")
    assert (done.source, done.namespace, done.counts) == ("postgresql", moved[0].namespace, moved[0].counts)
    assert chosen_namespace(filled) == done.namespace
    assert moving_namespace(filled) == ""
    assert not filled.index.exists()


def test_rows_that_a_killed_move_back_left_go_with_the_next_one(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresqlStore(move_index(filled, SETTINGS, "postgresql").namespace)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PostgresqlWriter, "remove_generation", dies)
        with pytest.raises(KeyboardInterrupt):
            move_index(filled, SETTINGS, "sqlite")
    assert sources(filled)
    assert chosen_namespace(filled) == ""
    assert generations(store) == 1
    move_index(filled, SETTINGS, "sqlite")
    assert generations(store) == 0
    assert moving_namespace(filled) == ""


def generations(store: PostgresqlStore) -> int:
    with connection(store.url) as conn:
        select = "SELECT count(*) FROM index_generations WHERE namespace = %s"
        ((found,),) = conn.execute(select, (store.namespace,)).fetchall()
    return int(found)


def test_an_address_with_a_zero_character_moves(filled: Home, say: Say) -> None:
    row = {"session": "s\x002", "id": "m\x001", "role": "user", "content": "a falcon behind a zero"}
    say("s2").write_text(json.dumps(row) + "\n", "utf-8")
    sync(filled, SETTINGS, HashingEmbedder())
    assert move_index(filled, SETTINGS, "postgresql").counts == index_counts(filled)
    assert verify(filled, SETTINGS).differences == ()
    move_index(filled, SETTINGS, "sqlite")
    assert verify(filled, SETTINGS).differences == ()


@pytest.mark.parametrize("first", [True, False], ids=["out", "back"])
def test_a_passage_that_waits_and_says_the_same_as_another_moves(filled: Home, say: Say, *, first: bool) -> None:
    if not first:
        move_index(filled, SETTINGS, "postgresql")
    say("s2", "turn 6 of the falcon tower", "a turn of its own")
    sync(filled, SETTINGS, None)
    done = move_index(filled, SETTINGS, "postgresql" if first else "sqlite")
    assert (done.counts.passages, done.counts.vectors) == (42, 41)
    assert verify(filled, SETTINGS).differences == ()


def test_files_that_change_during_a_move_are_in_both(filled: Home, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large index takes hours to move, and an agent goes on meanwhile."""
    said: list[Path] = []
    sides = ingest.index_words

    def index(writer: object, *arguments: object) -> None:
        sides(writer, *arguments)  # type: ignore[arg-type]
        if isinstance(writer, PostgresqlWriter) and len(said) < 2:
            said.append(say("s2", f"turn {len(said)} of another tower"))

    monkeypatch.setattr(migration, "index_words", index)
    assert move_index(filled, SETTINGS, "postgresql").counts.passages == 42
    assert verify(filled, SETTINGS).differences == ()


def test_counting_waits_for_no_writer(filled: Home) -> None:
    moved = move_index(filled, SETTINGS, "postgresql")
    with PostgresqlStore(moved.namespace).writing(1.0):
        assert index_counts(filled) == moved.counts
