"""The whole way with the real model: what shares no word with the question is found by its meaning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.home import Home
from recall.embedding.embedder import NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings
from recall.index.sync import reindex, sync
from recall.index.verify import verify
from recall.search.hybrid import search
from recall.settings import RecallSettings


@pytest.mark.slow
def test_meaning_is_found_without_a_common_word(
    home: Home, say: Callable[..., Path], settings: RecallSettings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    model = open_embedder(EmbeddingSettings(), build_missing=True, cache=tmp_path_factory.mktemp("cache"))
    assert not isinstance(model, NoEmbedder), model.reason
    say("garden", "We planted tomatoes behind the house.", "Nice, they need much sun.")
    say("car", "The engine of my automobile makes a strange noise.", "Then bring it to the garage.")
    say("money", "Our quarterly revenue fell short of the plan.", "By how much?")
    sync(home, settings, model)

    def first(query: str, mode: str) -> str:
        hits = search(home, query, settings=settings, embedder=model, mode=mode, k=1).hits  # type: ignore[arg-type]
        return hits[0].session if hits else ""

    questions = {"growing vegetables": "garden", "vehicle repair": "car", "income missed its target": "money"}
    assert {query: first(query, "lexical") for query in questions} == dict.fromkeys(questions, "")
    assert {query: first(query, "vector") for query in questions} == questions
    assert {query: first(query, "hybrid") for query in questions} == questions
    before = search(home, "vehicle repair", settings=settings, embedder=model).hits
    home.index.unlink()
    reindex(home, settings, model)
    assert search(home, "vehicle repair", settings=settings, embedder=model).hits == before
    assert verify(home, settings).ok
