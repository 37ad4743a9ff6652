"""Sums of scaled scores."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.fusion import by_best, by_range, fuse

SCORES = st.dictionaries(st.integers(0, 20), st.floats(-5, 30, allow_nan=False), max_size=12)


@given(SCORES)
def test_scaled_scores_lie_between_0_and_1_and_keep_their_order(scores: dict[int, float]) -> None:
    for scaled in (by_best(scores), by_range(scores)):
        assert scaled.keys() == scores.keys()
        assert all(0 <= score <= 1 for score in scaled.values())
        ordered = sorted(scores, key=lambda key: scores[key])
        assert all(scaled[a] <= scaled[b] for a, b in pairwise(ordered))


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), SCORES))
def test_every_key_of_every_leg_is_kept_once(legs: dict[str, dict[int, float]]) -> None:
    fused = fuse(legs, dict.fromkeys(legs, 0.5))
    assert fused.keys() == {key for scores in legs.values() for key in scores}


def test_a_sure_leg_outweighs_two_vague_ones() -> None:
    """Rank fusion would put "b" first: it is first twice."""
    words = by_best({"a": 12.0, "b": 1.0})
    vectors = {"b": 0.52, "a": 0.51}
    fused = fuse({"w": words, "v": vectors}, {"w": 1.0, "v": 0.3})
    assert fused["a"] > fused["b"]


def test_no_scores_give_no_ranking() -> None:
    assert by_best({}) == by_range({}) == fuse({}, {}) == {}
    assert by_best({"a": 0.0}) == {"a": 0.0}


def test_a_leg_without_a_weight_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        fuse({"new": {"a": 1.0}}, {})
