"""Many searches of one process share the connections, and none waits for one that waits for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import BoundedSemaphore

import pytest

from agent_home.home import Home
from recall.index.postgresql import store as stores
from recall.index.postgresql.store import PostgresqlStore
from recall.index.reader import IndexUnreadable
from recall.index.store_choice import choose_namespace
from recall.index.sync import sync
from recall.postgres import connections
from recall.search.hybrid import search
from recall.servers import DATABASE_VARIABLE
from recall.settings import RecallSettings
from tests.recall.hashing_embedder import HashingEmbedder


def test_searches_wait_for_each_other_and_find_everything(
    home: Home, say: Callable[..., Path], new_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each search asks by words and by vectors at once, over a connection for each."""
    monkeypatch.setenv(DATABASE_VARIABLE, new_database_url)
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(stores, "_TURNS", BoundedSemaphore(1))
    home.machine.mkdir(parents=True, exist_ok=True)
    choose_namespace(home, uuid.uuid4().hex)
    say("s1", *(f"turn {n} of the falcon tower" for n in range(20)))
    sync(home, RecallSettings(), HashingEmbedder())

    def ask(_: int) -> tuple[int, tuple[str, ...]]:
        found = search(home, "falcon turn 7", settings=RecallSettings(), embedder=HashingEmbedder())
        return len(found.hits), found.degraded

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(ask, range(12))) == {(10, ())}


def test_a_search_that_gets_no_turn_says_so(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_TURNS", BoundedSemaphore(1))
    monkeypatch.setattr(stores, "_TURN_S", 0.1)
    store = PostgresqlStore(uuid.uuid4().hex, database_url)
    with store.reading():
        with store.reading_again() as again:
            assert again is None
        with pytest.raises(IndexUnreadable, match="not done yet"), store.reading():
            pass
    with store.reading() as reader:  # the turn was given back
        assert reader is None
