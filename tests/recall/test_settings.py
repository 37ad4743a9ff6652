"""Impossible numbers are rejected by name, and retired settings say so."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from recall.search.reranking import RankingWeights
from recall.settings import RecallSettings


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("passage_tokens", 0, "at least 1"),
        ("fresh_embeddings", -1, "at least 0"),
        ("vector_weight", -0.1, "at least 0"),
        ("vector_weight", math.nan, "at least 0"),
        ("lexical_deadline_ms", math.inf, "at least 0"),
        ("archive_weight", 1.1, "0 to 1"),
    ],
)
def test_a_number_out_of_range_is_named(name: str, value: float, expected: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} is .*{expected}"):
        RecallSettings(**{name: value})  # type: ignore[arg-type]


def test_at_most_twelve_settings_are_public_and_none_of_them_is_retired() -> None:
    public = {field.name for field in fields(RecallSettings)}
    assert len(public) <= 12
    assert not public & RecallSettings.RETIRED


def test_every_weight_is_a_setting_or_a_retired_setting() -> None:
    public = {field.name for field in fields(RecallSettings)}
    assert {field.name for field in fields(RankingWeights)} <= public | RecallSettings.RETIRED


def test_settings_change_the_weights_of_the_same_name_and_no_others() -> None:
    weights = RankingWeights.of(
        RecallSettings(vector_weight=2.0, chinese_vector_weight=0.5, cjk_vector_weight=1.0, archive_weight=0.5)
    )
    assert weights == RankingWeights(
        vector_weight=2.0, chinese_vector_weight=0.5, cjk_vector_weight=1.0, archive_weight=0.5
    )
    assert RankingWeights.of(RecallSettings()) == RankingWeights()
