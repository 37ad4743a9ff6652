"""The entries beside the turns of a prompt: all of a small memory, the related ones of a large one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agent_home.documents.entry import Entry
from distill.reading.prompt_entries import EntryIndex
from distill.statements.topics import content_terms
from recall.embedding.embedder import Vector


class Medicine:
    """An embedder for which medicine is one direction and everything else none."""

    name = fingerprint = "medicine"
    dimension = 2

    def embed(self, texts: Sequence[str]) -> Vector:
        sick = [any(word in text for word in ("biopsy", "benign")) for text in texts]
        return np.array([[1, 0] if found else [0, 0] for found in sick], np.float32)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector


def index(texts: Sequence[str], embedder: Medicine | None = None) -> EntryIndex:
    entries = [
        Entry(
            id=f"RC-{number:04d}", date="2026-03-02", title=text, fields={"Origin": "agent" if number == 1 else "user"}
        )
        for number, text in enumerate(texts)
    ]
    words = [frozenset(content_terms(text)) for text in texts]
    return EntryIndex(entries, words, embedder.embed(texts) if embedder else None, embedder)


def test_a_small_memory_is_shown_whole_in_its_order() -> None:
    texts = ["Bruno is waiting for the result.", "The library streams uploads.", "Ilse likes tea."]
    shown = index(texts).related(["It's benign!"], 1000)
    assert [entry.text for entry in shown] == [f"2026-03-02 {text}" for text in texts]
    assert [entry.own for entry in shown] == [False, True, False]


def test_of_a_large_memory_an_entry_without_a_common_word_is_found_by_its_vector() -> None:
    texts = [*(f"Shelf {number} holds maps." for number in range(80)), "Bruno is waiting for the biopsy."]
    said = ["shelf maps", "It's benign!"]
    near = [entry.text for entry in index(texts, Medicine()).related(said, 10_000)]
    far = [entry.text for entry in index(texts).related(said, 10_000)]
    assert any("biopsy" in text for text in near)
    assert not any("biopsy" in text for text in far)
    assert len(near) == len(far) == 32


def test_entries_stay_within_the_tokens() -> None:
    assert len(index(["Bruno is waiting for the result."] * 9).related(["result"], 40)) < 9
