"""Tests of the embedder that keeps the last query, and of the vector search that needs no thread for it."""

from __future__ import annotations

import threading
from typing import Any

from recall.embedding.query_cache import QueryCachingEmbedder
from recall.search.retrievers import PendingVectors, VectorResult


def test_a_query_is_embedded_once(embedder: Any) -> None:
    cached = QueryCachingEmbedder(embedder)
    assert not cached.knows("the falcon")
    first = cached.embed_query("the falcon")
    assert cached.knows("the falcon")
    assert cached.embed_query("the falcon") is first
    cached.embed_query("the heron")
    assert not cached.knows("the falcon")


def test_a_search_for_a_known_vector_has_no_thread() -> None:
    threads: list[str] = []

    def look() -> VectorResult:
        threads.append(threading.current_thread().name)
        return VectorResult()

    PendingVectors(look, at_once=True).result(0, 0)
    assert threads == [threading.current_thread().name]
