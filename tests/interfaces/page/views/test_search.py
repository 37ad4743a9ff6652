"""A search shows passages of every layer, with the entry of each and the parts of its score."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home.home import Home
from agent_home.store.gateway import transaction
from interfaces.api import AgentHome
from interfaces.page.views.search import search_view
from recall.index.passage import LAYERS


@pytest.fixture
def noted(home: Home, now: datetime) -> Home:
    AgentHome(home).remember("The ledger runs on PostgreSQL.", now=now)
    with transaction(home, actor="close", message="Note", now=now) as edits:
        edits.write("Knowledge/a.md", f"# Ledger\n\nThe ledger is large. {'word ' * 300}\n")
    return home


def test_a_hit_of_memory_leads_to_its_entry(noted: Home) -> None:
    view = search_view(noted, "ledger PostgreSQL")
    first = view.hits[0]
    assert (first.hit.layer, first.entry[:2]) == ("memory", "RC")
    assert first.text == "The ledger runs on PostgreSQL."
    assert first.reasons
    assert [abs(score) for _, score in first.reasons] == sorted(
        (abs(score) for _, score in first.reasons), reverse=True
    )
    assert any(hit.hit.layer == "knowledge" and not hit.entry for hit in view.hits)


def test_a_layer_narrows_and_an_unknown_one_does_not(noted: Home) -> None:
    assert {found.hit.layer for found in search_view(noted, "ledger", "knowledge").hits} == {"knowledge"}
    for layer in ("", "none", "<x>", "knowledge,memory"):
        view = search_view(noted, "ledger", layer)
        assert view.layer == ""
        assert {found.hit.layer for found in view.hits} >= {"knowledge", "memory"}
    assert view.layers == tuple(LAYERS)


def test_long_passages_are_cut(noted: Home) -> None:
    assert all(len(found.text) <= 600 for found in search_view(noted, "ledger word").hits)


@pytest.mark.parametrize("words", ["", "   ", "\n\t"])
def test_without_words_nothing_is_searched(noted: Home, words: str) -> None:
    view = search_view(noted, words)
    assert (view.hits, view.words, view.degraded) == ((), "", ())
