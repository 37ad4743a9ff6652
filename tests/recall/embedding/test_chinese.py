"""Chinese texts get vectors near their translations, and the shipped table is sound and small."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.embedding.chinese import chinese_share, grams, shipped_table, without_chinese
from recall.embedding.embedder import Embedder, NoEmbedder, open_embedder
from recall.embedding.model import EmbeddingSettings

#: Written for this test. None of it is in the training data.
TRANSLATIONS = [
    ("我女儿对花生严重过敏。", "My daughter has a severe allergy to peanuts."),
    ("下周三下午我们要去机场接奶奶。", "Next Wednesday afternoon we pick up grandmother at the airport."),
    ("把数据库的备份移到另一台服务器上。", "Move the database backup to another server."),
    ("他每天早上在公园跑步。", "He runs in the park every morning."),
    ("医生建议我少吃盐。", "The doctor advised me to eat less salt."),
    ("我们决定推迟发布。", "We decided to postpone the release."),
    ("房租从下个月起涨了两百块。", "The rent goes up by two hundred from next month."),
    ("我不喜欢在会议上被打断。", "I do not like being interrupted in meetings."),
    ("孩子们想学游泳。", "The children want to learn to swim."),
    ("这台打印机又坏了。", "The printer is broken again."),
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    opened = open_embedder(EmbeddingSettings(threads=1), build_missing=True)
    assert not isinstance(opened, NoEmbedder)
    return opened


def test_the_shipped_table_is_small_and_of_the_models_dimension() -> None:
    table = shipped_table()
    assert len(files("recall.embedding").joinpath("data", "chinese_vectors.npz").read_bytes()) < 4_000_000
    assert table.levels.dtype == np.int8
    assert table.levels.shape == (len(table.places), len(table.basis))
    assert table.basis.shape[1] == 384
    assert np.allclose(table.basis @ table.basis.T, np.eye(len(table.basis)), atol=0.01)


def test_most_statements_are_nearest_to_their_translation(embedder: Embedder) -> None:
    chinese, english = (embedder.embed(list(texts)) for texts in zip(*TRANSLATIONS, strict=True))
    cosines = chinese @ english.T
    assert (cosines.argmax(axis=1) == np.arange(len(cosines))).mean() >= 0.8
    assert (cosines.argmax(axis=0) == np.arange(len(cosines))).mean() >= 0.8


def test_a_mixed_text_lies_between_its_languages(embedder: Embedder) -> None:
    mixed, english, chinese = embedder.embed(
        ["deploy the invoice service 周五之前", "deploy the invoice service", "周五之前"]
    )
    assert mixed @ english > chinese @ english
    assert mixed @ chinese > chinese @ english


def test_a_chinese_text_of_unknown_characters_has_the_models_vector(embedder: Embedder) -> None:
    rare = "㐀㐁"
    assert not shipped_table().encode(rare).any()
    assert np.linalg.norm(embedder.embed_query(rare)) == pytest.approx(1, abs=1e-5)


@given(st.text(max_size=200))
def test_every_text_has_a_share_and_a_finite_vector(text: str) -> None:
    assert 0 <= chinese_share(text) <= 1
    assert np.isfinite(shipped_table().encode(text)).all()
    assert chinese_share(without_chinese(text)) == 0


def test_long_texts_are_read_to_a_limit() -> None:
    assert len(grams("周" * 100_000)) < 20_000
