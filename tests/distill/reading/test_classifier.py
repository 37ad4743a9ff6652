"""The trained reader of sentences: its shipped weights, its speed, and its use of vectors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.reading.classifier import (
    ACTS,
    DENSE_PARTS,
    Act,
    ReaderWeights,
    SentenceReader,
    SentenceReading,
    dense_features,
    load_weights,
    read_sentence,
)
from distill.reading.features import BUCKETS
from recall.embedding.embedder import Vector
from recall.embedding.model import DEFAULT_MODEL
from recall.errors import ModelError


class Letters:
    """An embedder of letters that counts its texts. It takes the name of the default model."""

    name = fingerprint = DEFAULT_MODEL
    dimension = 384

    def __init__(self, *, fails: bool = False) -> None:
        self.texts: list[str] = []
        self._fails = fails

    def embed(self, texts: Sequence[str]) -> Vector:
        if self._fails:
            raise ModelError("no memory for this test")
        self.texts += texts
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[len(text) % self.dimension] = 1
        return rows

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed([text])[0]
        return vector


@pytest.mark.parametrize(
    ("text", "previous", "act"),
    [
        ("My son has a severe peanut allergy.", "", "fact"),
        ("I work as a nurse in a children's hospital.", "", "fact"),
        ("From now on always run the tests before you commit.", "", "preference"),
        ("We decided to ship on Monday.", "When do we ship?", "decision"),
        ("No, it's 40, not 30.", "The limit is 30.", "correction"),
        ("I have to renew my passport by the end of May.", "", "thread"),
        ("Next time we should ask legal before we promise a date.", "", "lesson"),
        ("我女儿对花生过敏。", "", "fact"),
        ("以后报告都先写结论。", "", "preference"),
        ("下周三要交年审材料。", "", "thread"),
    ],
)
def test_clear_sentences_enter_as_their_act(text: str, previous: str, act: Act) -> None:
    reading = read_sentence(text, previous)
    assert reading.likeliest == act
    assert reading.enters


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("I live in Rome.", "fact"),
        ("I live in Tallinn.", "fact"),
        ("I'm allergic to kiwi", "fact"),
        ("We picked Vultr.", "decision"),
        ("No tables please.", "preference"),
        ("My flight to Malta is on June 3 at 6:15", "thread"),
        ("我住在厦门。", "fact"),
        ("我对芒果过敏", "fact"),
        ("我们选了腾讯云。", "decision"),
    ],
)
def test_short_plain_sentences_enter_whatever_their_names(text: str, act: Act) -> None:
    reading = read_sentence(text)
    assert (reading.likeliest, reading.enters) == (act, True)


@pytest.mark.parametrize("previous", ["", "OK.", "Hello! How can I help you today?", "Here is the corrected formula."])
@pytest.mark.parametrize(
    "text",
    ["My daughter Ema has a gluten allergy.", "My boss is Honza Dvořák.", "I hate when you use emojis."],
)
def test_what_is_clear_alone_enters_after_any_turn(text: str, previous: str) -> None:
    assert read_sentence(text, previous).enters


def test_short_answer_needs_the_turn_before_it() -> None:
    assert read_sentence("Two boys, 9 and 6.", "Do you have children?").keep > read_sentence("Two boys, 9 and 6.").keep


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Thanks a lot!", "user"),
        ("Write me a function that parses dates.", "user"),
        ("What do you think?", "user"),
        ("You should always drink enough water.", "assistant"),
        ("谢谢你!", "user"),
        ("最好提前订票。", "assistant"),
    ],
)
def test_ordinary_sentences_do_not_enter(text: str, role: str) -> None:
    assert not read_sentence(text, "", role).enters


@pytest.mark.parametrize("head", ["words", "vectors"])
def test_shipped_weights_have_their_format(head: Literal["words", "vectors"]) -> None:
    weights = load_weights(head)
    assert weights.table.shape == (BUCKETS, len(ACTS))
    assert weights.dense.shape == (len(DENSE_PARTS) * 384 if head == "vectors" else 0, len(ACTS))
    assert weights.thresholds.shape == (8,)
    assert ((weights.thresholds > 0) & (weights.thresholds <= 1.01)).all()


@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from(["user", "assistant"]))
def test_any_text_has_a_reading(text: str, previous: str, role: str) -> None:
    reading = read_sentence(text, previous, role)
    assert 0 <= reading.keep <= 1
    assert reading.likeliest != "none"


def test_reading_takes_less_than_a_millisecond() -> None:
    load_weights()
    started = time.process_time()
    for number in range(300):
        read_sentence(f"We moved the {number}th box of old records to the cellar of my sister.", f"Box {number}?")
    assert (time.process_time() - started) / 300 < 0.003  # .3 ms on an idle machine


def test_only_promising_sentences_get_vectors() -> None:
    letters = Letters()
    reader = SentenceReader(letters)
    reader.prepare(
        [("My son has a severe peanut allergy.", "", "user"), ("ok", "", "user"), ("我对花生过敏。", "", "user")]
    )
    assert sorted(letters.texts) == ["My son has a severe peanut allergy.", "我对花生过敏。"]


def test_failing_model_leaves_sentences_to_their_words() -> None:
    row = ("My son has a severe peanut allergy.", "", "user")
    reader = SentenceReader(Letters(fails=True))
    reader.prepare([row])
    assert reader.read(*row) == read_sentence(*row)


def test_vectors_of_chinese_texts_weigh_less_and_a_missing_turn_is_zero() -> None:
    rows = dense_features([("我对花生过敏。", "Any allergies?", "user"), ("Peanuts.", "", "user")], Letters())
    assert 0 < np.linalg.norm(rows[0][:384]) < np.linalg.norm(rows[1][:384])
    assert rows[0][384:768].any()
    assert not rows[1][384:].any()


def test_what_only_the_vectors_take_for_a_lesson_is_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ("My son has a severe peanut allergy.", "", "user")
    lesson = SentenceReading(act="lesson", likeliest="lesson", keep=0.9, enters=True)
    read_sentence(*row)  # what the words say is remembered, so only the vectors are patched
    monkeypatch.setattr(ReaderWeights, "read", lambda _weights, *_row, vector=None: lesson)
    reader = SentenceReader(Letters())
    reader.prepare([row])
    assert reader.read(*row) == SentenceReading(act="fact", likeliest="fact", keep=0.9, enters=True)
