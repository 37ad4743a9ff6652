"""Features of sentences for the trained reader."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distill.reading.features import (
    BUCKETS,
    GROUPS,
    sentence_features,
    sentence_names,
    turn_features,
    turn_names,
)


@given(st.text(max_size=500), st.text(max_size=500), st.sampled_from(["user", "assistant"]))
def test_any_text_has_features_in_range_and_equal_texts_equal_ones(text: str, previous: str, role: str) -> None:
    for found, again in (
        (sentence_features(text, role), sentence_features(text, role)),
        (turn_features(text, previous, role), turn_features(text, previous, role)),
    ):
        assert len(found.buckets) == len(found.values)
        assert ((found.buckets >= 0) & (found.buckets < BUCKETS)).all()
        assert np.array_equal(found.buckets, again.buckets)


def test_every_group_has_at_most_its_weight_whatever_the_length() -> None:
    for text in ("Use tabs.", "We use tabs in every file of the project. " * 40, "我们用制表符。" * 40):
        groups = sentence_names(text, "user") | turn_names(text, "Tabs or spaces?", "user")
        assert set(groups) == set(GROUPS)
        for group, names in groups.items():
            value = GROUPS[group] / max(1, len(names)) ** 0.5
            assert value * len(names) ** 0.5 <= GROUPS[group] + 1e-6


def test_role_changes_the_features_of_a_sentence_and_the_turn_before_it_those_of_the_turn() -> None:
    assert set(sentence_features("Thursday.").buckets) != set(sentence_features("Thursday.", "assistant").buckets)
    one, other = turn_features("Thursday.", "When?"), turn_features("Thursday.", "It is Friday today.")
    assert set(one.buckets) != set(other.buckets)


def test_missing_turn_has_no_features() -> None:
    assert not len(turn_features("Thursday.", "").buckets)


def test_only_the_start_of_a_sentence_and_the_end_of_the_turn_before_it_are_read() -> None:
    assert len(sentence_features("x " * 200_000).buckets) + len(turn_features("x ", "y " * 200_000).buckets) < 5_000
    started = time.perf_counter()
    for number in range(200):
        sentence_features(f"z{number} " * 100_000)
        turn_features(f"z{number} " * 100_000, "y " * 100_000)
    assert (time.perf_counter() - started) / 200 < 0.05
