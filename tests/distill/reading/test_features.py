"""Features of sentences for the trained reader."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from distill.reading.features import BUCKETS, GROUPS, extract_features, feature_names


@given(st.text(max_size=500), st.text(max_size=500), st.sampled_from(["user", "assistant"]))
def test_any_text_has_features_in_range_and_equal_texts_equal_ones(text: str, previous: str, role: str) -> None:
    found = extract_features(text, previous, role)
    assert len(found.buckets) == len(found.values)
    assert ((found.buckets >= 0) & (found.buckets < BUCKETS)).all()
    again = extract_features(text, previous, role)
    assert np.array_equal(found.buckets, again.buckets)


def test_every_group_has_at_most_its_weight_whatever_the_length() -> None:
    for text in ("Use tabs.", "We use tabs in every file of the project. " * 40, "我们用制表符。" * 40):
        for group, names in feature_names(text, "Tabs or spaces?", "user").items():
            value = GROUPS[group] / max(1, len(names)) ** 0.5
            assert value * len(names) ** 0.5 <= GROUPS[group] + 1e-6


def test_role_and_turn_before_change_the_features() -> None:
    one, other = extract_features("Thursday.", "When?"), extract_features("Thursday.", "It is Friday today.")
    assert set(one.buckets) != set(other.buckets)
    assert set(one.buckets) != set(extract_features("Thursday.", "When?", "assistant").buckets)


def test_only_the_start_of_a_sentence_and_the_end_of_the_turn_before_it_are_read() -> None:
    long = extract_features("x " * 200_000, "y " * 200_000)
    assert len(long.buckets) < 5_000
    started = time.perf_counter()
    for number in range(200):
        extract_features(f"z{number} " * 100_000, "y " * 100_000)
    assert (time.perf_counter() - started) / 200 < 0.05
