"""Numbers that cannot be meant are refused, by name."""

from __future__ import annotations

import math

import pytest

from recall.settings import RecallSettings


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("candidates", 0, "at least 1"),
        ("nearest", 0, "at least 1"),
        ("context_reach", -1, "at least 0"),
        ("date_weight", -0.1, "at least 0"),
        ("vector_weight", math.nan, "at least 0"),
        ("group_weight", math.inf, "at least 0"),
        ("saturation", 0.0, "more than 0"),
        ("date_days", 0.0, "more than 0"),
        ("length_words", 0.0, "more than 0"),
        ("length_norm", 1.5, "0 to 1"),
        ("archive_weight", 1.1, "0 to 1"),
    ],
)
def test_a_number_out_of_range_is_named(name: str, value: float, wanted: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} is .*{wanted}"):
        RecallSettings(**{name: value})  # type: ignore[arg-type]
