"""A large generation gets HNSW indexes of its own, which find nearly what comparing all vectors finds."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_home.home import Home
from recall.index.postgresql import reader, writer
from recall.index.postgresql.store import PostgresqlStore, live_generation
from recall.index.postgresql.vector_index import has_vector_indexes
from recall.index.reader import Scope
from recall.index.store_choice import choose_namespace
from recall.index.sync import reindex, sync
from recall.postgres.connections import connection
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings
from tests.recall.hashing_embedder import HashingEmbedder

Say = Callable[..., Path]
SETTINGS = RecallSettings()


@pytest.fixture
def store(
    home: Home, say: Say, many_turns: Callable[[int], Iterator[str]], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> PostgresqlStore:
    monkeypatch.setenv(DATABASE_VARIABLE, database_url)
    home.machine.mkdir(parents=True, exist_ok=True)
    store = PostgresqlStore(uuid.uuid4().hex)
    choose_namespace(home, store.namespace)
    say("s1", *many_turns(150))
    (home.root / "Knowledge").mkdir(exist_ok=True)
    (home.root / "Knowledge/a.md").write_text("# Birds\n\nsubject3 and matter2\n", "utf-8")
    sync(home, SETTINGS, HashingEmbedder())
    return store


def nearest(store: PostgresqlStore, scope: Scope) -> tuple[list[int], list[int], set[int]]:
    with store.reading() as found:
        assert found is not None
        answer = found.nearest(HashingEmbedder().embed_query("subject3 and matter2"), scope, 20)
    return list(answer.passages), list(answer.windows), set(answer.files)


@pytest.mark.parametrize("scope", [Scope(), Scope(layers=(2,)), Scope(layers=(1,)), Scope(files="[1]")], ids=str)
def test_hnsw_finds_nearly_what_comparing_all_finds(
    home: Home, store: PostgresqlStore, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = nearest(store, scope)
    for module in (reader, writer):
        monkeypatch.setattr(module, "COMPARED_ONE_BY_ONE", 20)
    sync(home, SETTINGS, HashingEmbedder())
    with connection(store.url) as conn:
        live = live_generation(conn, store.namespace)
        assert live is not None
        assert has_vector_indexes(conn, live.id)
    passages, windows, _ = nearest(store, scope)
    assert len(passages) == len(exact[0])
    assert len(set(passages) & set(exact[0])) >= 0.9 * len(exact[0])  # HNSW may miss one that is unlike all others
    assert len(set(windows) & set(exact[1])) >= 0.9 * len(exact[1])


def test_the_indexes_end_with_their_generation(
    home: Home, store: PostgresqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (reader, writer):
        monkeypatch.setattr(module, "COMPARED_ONE_BY_ONE", 20)
    sync(home, SETTINGS, HashingEmbedder())
    with connection(store.url) as conn:
        old = live_generation(conn, store.namespace)
    reindex(home, SETTINGS, HashingEmbedder())
    with connection(store.url) as conn:
        new = live_generation(conn, store.namespace)
        assert old is not None
        assert new is not None
        assert (has_vector_indexes(conn, old.id), has_vector_indexes(conn, new.id)) == (False, True)


def test_removing_a_generation_locks_no_table_for_readers(
    home: Home, store: PostgresqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generations of other homes are in the same partitions, and removing a large one takes minutes."""
    monkeypatch.setattr(writer, "COMPARED_ONE_BY_ONE", 20)
    sync(home, SETTINGS, HashingEmbedder())
    with store.writing(1.0) as conn:
        live = live_generation(conn, store.namespace)
        assert live is not None
        assert has_vector_indexes(conn, live.id)
        conn.commit()
        locks: list[tuple[str, str]] = []
        original = conn.execute

        def watching(statement: object, *values: object, **options: object) -> object:
            done = original(statement, *values, **options)  # type: ignore[call-overload]
            if str(statement).startswith("DELETE FROM index_generations"):
                locks.extend(original(_LOCKS).fetchall())
            return done

        monkeypatch.setattr(conn, "execute", watching)
        writer.PostgresqlWriter(conn, live.id).remove_generation(live.id)
        assert locks
        assert [found for found in locks if found[1] == "AccessExclusiveLock"] == []
        assert not has_vector_indexes(conn, live.id)


_LOCKS = """
SELECT c.relname, l.mode FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
WHERE l.pid = pg_backend_pid() AND c.relname LIKE 'index_vectors%'
"""
