"""Small development sets, and vectors that need no model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.measure.baselines import question_words
from recall.embedding.embedder import Vector

TURNS = [
    ("a-1", "1", "Owl", "The lamp in the hall is broken again."),
    ("a-1", "2", "Fox", "I will bring a new bulb for it on Friday."),
    ("a-2", "1", "Owl", "We painted the kitchen yellow in spring."),
    ("a-2", "2", "Fox", "Yellow suits the kitchen, and the curtains are green."),
    ("b-1", "1", "Hen", "The train to the coast leaves at seven."),
    ("c-1", "1", "Owl", "Then I pack the green suitcase tonight."),
]
QUESTIONS: dict[str, list[tuple[str, list[str]]]] = {
    "a": [("What is broken in the hall?", ["a-1#1"]), ("Who brings a new bulb?", ["a-1#2"])],
    "b": [("When does the train leave?", ["b-1#1"]), ("Nothing?", [])],
    "c": [("What is green?", ["a-2#2", "c-1#1"])],
}


class WordEmbedder:
    """Each word is a direction of its own, as far as the dimension reaches; counts the texts it is given."""

    name = fingerprint = "words"
    dimension = 128

    def __init__(self) -> None:
        self.count = 0

    def embed(self, texts: Sequence[str]) -> Vector:
        self.count += len(texts)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        vector = np.full(self.dimension, 1e-3, np.float32)
        for word in question_words(text):
            vector[int.from_bytes(hashlib.blake2b(word.encode(), digest_size=2).digest()) % self.dimension] += 1
        unit: Vector = vector / np.linalg.norm(vector)
        return unit.astype(np.float32)


def write_rows(path: Path, rows: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of evaluation data with one set of conversations and one of documents."""
    folder = tmp_path / "data"
    for name, asked in QUESTIONS.items():
        turns = [
            {"session": session, "id": ident, "ts": f"2026-05-0{ident}T10:00:00", "role": "user", "name": speaker}
            | {"content": content}
            for session, ident, speaker, content in TURNS
            if session.startswith(name)
        ]
        write_rows(folder / "locomo" / f"{name}.transcript.jsonl", turns)
        questions = [{"query": query, "expect": expect, "category": "c1"} for query, expect in asked]
        write_rows(folder / "locomo" / f"{name}.queries.jsonl", questions)
    documents = [
        {"path": f"Knowledge/{word}.md", "title": word, "text": f"All about the {word} and its {other}."}
        for word, other in (("owl", "feathers"), ("fox", "den"), ("hen", "eggs"))
    ]
    write_rows(folder / "scifact" / "documents.jsonl", documents)
    first = {"query": "Where are feathers?", "expect": ["Knowledge/owl.md"]}
    second = {"query": "Which den?", "expect": ["Knowledge/fox.md"]}
    write_rows(folder / "scifact" / "queries.jsonl", [first, second])
    return folder


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()
