"""A damaged index costs at most the hits of one search, and is rebuilt by the next command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from agent_home.home import Home
from assembler.recalled.searcher import HomeSearcher
from recall.index.sqlite import damage
from recall.index.sync import SyncReport, ensure_fresh, sync
from recall.index.verify import verify
from recall.search.hybrid import search
from recall.settings import RecallSettings

if TYPE_CHECKING:
    from tests.recall.hashing_embedder import HashingEmbedder

Say = Callable[..., Path]
PAGE_BYTES = 4096
#: Shares of the file at which a page is emptied.
PLACES = (0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8)


@pytest.fixture
def indexed(update: Callable[[], SyncReport], say: Say, home: Home) -> Home:
    for session in range(3):
        say(f"s{session}", *(f"turn {n} of the harbour crane {session} near quay {n % 7}" for n in range(12)))
    update()
    conn = apsw.Connection(str(home.index))
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    conn.close()
    return home


def empty_a_page(home: Home, share: float) -> None:
    data = bytearray(home.index.read_bytes())
    start = round(share * (len(data) // PAGE_BYTES)) * PAGE_BYTES
    data[start : start + PAGE_BYTES] = bytes(PAGE_BYTES)
    home.index.write_bytes(data)


@pytest.mark.parametrize("share", PLACES)
def test_a_search_that_meets_an_empty_page_lets_the_next_command_rebuild(
    indexed: Home, settings: RecallSettings, embedder: HashingEmbedder, share: float
) -> None:
    empty_a_page(indexed, share)
    search(indexed, "harbour crane 2", settings=settings, embedder=embedder)
    damage.sound(indexed.index)
    report = sync(indexed, settings, embedder)
    assert not damage.is_marked(indexed.index)
    found = search(indexed, "turn 5 of the harbour crane 2", settings=settings, embedder=embedder)
    assert found.hits[0].text.startswith("turn 5 of the harbour crane 2")
    assert not found.degraded
    assert verify(indexed, settings).ok, report


def test_a_prompts_search_repairs_a_small_index_and_finds_at_once(indexed: Home, settings: RecallSettings) -> None:
    empty_a_page(indexed, 0.1)
    searcher = HomeSearcher(indexed)
    searcher.refresh("harbour crane 2")
    assert not damage.is_marked(indexed.index)
    assert verify(indexed, settings).ok


def test_an_index_that_is_marked_is_not_fresh(indexed: Home, settings: RecallSettings) -> None:
    assert damage.set_marked_aside(indexed.index) == ""
    assert "rebuilds it" in damage.mark(indexed.index, "broken")
    report = ensure_fresh(indexed, settings, None)
    assert any("rebuilt" in line for line in report.degraded)
    assert ensure_fresh(indexed, settings, None).degraded == ()


def test_a_sound_index_and_an_absent_one_are_sound(indexed: Home) -> None:
    assert damage.sound(indexed.index)
    assert not damage.is_marked(indexed.index)
    assert damage.sound(indexed.index.with_name("none.db"))
    indexed.index.write_bytes(b"no database")
    assert not damage.sound(indexed.index)
    assert damage.is_marked(indexed.index)
