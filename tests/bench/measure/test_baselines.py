"""The plain ways to search do what the tables say of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.measure.baselines import (
    DEPTH,
    by_fusion,
    by_substring,
    by_vector,
    by_words,
    plain,
    question_words,
    substrings,
)
from recall.embedding.embedder import NoEmbedder, Vector
from recall.embedding.model import EmbeddingSettings, locate

TEXTS = {
    "s1#1": "Owl: The lamp in the hall is broken.",
    "s1#2": "Fox: Which lamp? The red lamp or the lamplight?",
    "s2#1": "Owl: The red one in the hall.",
    "s2#2": "Fox: Tomorrow it rains.",
}


class Axes:
    """Vectors along the axes of a few words; a text without them points nowhere."""

    name = fingerprint = "axes"
    words = ("lamp", "hall", "rains")
    dimension = len(words)

    def embed(self, texts: Sequence[str]) -> Vector:
        return np.array([[word in text.lower() for word in self.words] for text in texts], np.float32)

    def embed_query(self, text: str) -> Vector:
        row: Vector = self.embed([text])[0]
        return row


def test_stop_words_are_left_out_unless_nothing_else_is_asked() -> None:
    assert question_words("Where is the lamp, and where is THE hall?") == ["lamp", "hall"]
    assert question_words("Who was it?") == ["who", "was", "it"]
    assert question_words("?!") == []


def test_chinese_is_looked_for_by_pairs_of_characters() -> None:
    assert substrings("时间表 v2 好") == ["时间", "间表", "v2", "好"]
    texts = {"one": "新的时间已经公布", "two": "时间表在墙上", "three": "别的"}
    assert by_substring(texts)("时间表？") == ["two", "one"]


def test_substring_search_orders_by_distinct_words_then_occurrences_then_place() -> None:
    # s1#1 holds both words; s1#2 holds one of them three times, inside another word too; s2#1 the other once
    assert by_substring(TEXTS)("the LAMP in the hall") == ["s1#1", "s1#2", "s2#1"]
    assert by_substring(TEXTS)("red") == ["s1#2", "s2#1"]


def test_word_search_finds_stems_and_no_parts_of_words() -> None:
    assert by_words(TEXTS)("raining") == ["s2#2"]
    assert by_words(TEXTS)("amp") == []


def test_signs_alone_find_nothing_in_words() -> None:
    assert by_words(TEXTS)('"*: AND') == by_words(TEXTS)("and")
    assert by_words(TEXTS)("?!") == by_substring(TEXTS)("?!") == []


def test_vectors_name_each_address_once_at_its_nearest_row() -> None:
    nearest = by_vector(["s1", "s1", "s2", "s2"], Axes().embed(list(TEXTS.values())), Axes())
    assert nearest("does it rain? it rains") == ["s2", "s1"]


def test_no_way_answers_with_more_than_its_depth() -> None:
    texts = {f"s#{number}": f"lamp {number}" for number in range(DEPTH + 20)}
    found = plain(texts, Axes(), ["message"])["message"]
    assert {len(find("lamp")) for find in found.values()} == {DEPTH}


def test_fusion_adds_reciprocal_ranks_and_orders_equals_by_address() -> None:
    fused = by_fusion(lambda _: ["b", "a", "c"], lambda _: ["c", "a"])
    # c: 1/63 + 1/61, a: 2/62, b: 1/61
    assert fused("") == ["c", "a", "b"]
    assert by_fusion(lambda _: ["b"], lambda _: ["a"])("") == ["a", "b"]


def test_sessions_are_found_by_words_that_no_single_turn_has_together() -> None:
    found = plain(TEXTS, Axes(), ["message", "session"])
    assert found["session"]["naive FTS5"]("broken lamplight")[0] == "s1"
    assert found["session"]["substring"]("rains red") == ["s2", "s1"]
    assert set(found["session"]["plain RRF"]("lamp")) == {"s1", "s2"}


def test_without_a_model_the_word_searches_are_left() -> None:
    absent = NoEmbedder(reason="none here", location=locate(EmbeddingSettings()))
    assert list(plain(TEXTS, absent, ["message"])["message"]) == ["substring", "naive FTS5"]
