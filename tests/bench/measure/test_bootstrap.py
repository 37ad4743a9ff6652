"""Intervals hold what they say, are the same in every run, and judge differences question by question."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.measure.bootstrap import Bootstrap

VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@settings(max_examples=50)
@given(VALUES)
def test_the_mean_of_the_values_stands_with_an_interval_inside_their_range(values: list[float]) -> None:
    found = Bootstrap(len(values), resamples=200).interval(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9


@settings(max_examples=50)
@given(VALUES)
def test_a_system_differs_from_itself_by_nothing(values: list[float]) -> None:
    found = Bootstrap(len(values), resamples=50).difference(values, values)
    assert (found.mean, found.low, found.high) == (0.0, 0.0, 0.0)


def test_the_same_values_have_the_same_interval_in_every_run() -> None:
    values = np.random.default_rng(3).random(80).tolist()
    assert Bootstrap(80).interval(values) == Bootstrap(80).interval(values)


def test_another_seed_draws_other_questions() -> None:
    values = np.random.default_rng(3).random(80).tolist()
    assert Bootstrap(80, seed=1).interval(values) != Bootstrap(80, seed=2).interval(values)


def test_about_95_of_100_intervals_hold_the_true_mean() -> None:
    rng = np.random.default_rng(5)
    draws = Bootstrap(120, resamples=500)
    answers = [[float(one < 0.3) for one in rng.random(120)] for _ in range(400)]
    held = sum(found.low <= 0.3 <= found.high for found in map(draws.interval, answers))
    assert 0.90 <= held / 400 <= 0.98


def test_a_small_difference_on_every_question_is_told_from_noise() -> None:
    """Each interval alone is wide, because questions differ; judged question by question the difference is sure."""
    theirs = np.random.default_rng(7).random(50)
    draws = Bootstrap(50)
    alone, paired = (
        draws.interval((theirs + 0.01).tolist()),
        draws.difference((theirs + 0.01).tolist(), theirs.tolist()),
    )
    assert alone.low < float(theirs.mean())
    assert paired.low == pytest.approx(0.01)
    assert paired.high == pytest.approx(0.01)


def test_a_missing_value_is_an_error_that_names_both_counts() -> None:
    with pytest.raises(ValueError, match="2 values, wanted one for each of 3 questions"):
        Bootstrap(3).interval([0.0, 1.0])


def test_no_question_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        Bootstrap(0)
