"""A denial with another number of the same unit corrects the turn before it."""

from __future__ import annotations

import time

import pytest

from distill.reading.corrections import corrects_value, states_correction


@pytest.mark.parametrize(
    ("previous", "sentence", "expected"),
    [
        ("The test suite takes 12 minutes.", "No, it takes 9 minutes.", True),
        ("The gap is -8 %, about 3 deals.", "Nope, -12 % it is.", True),
        ("一共 3 个人。", "不对,一共 5 个人。", True),
        ("The test suite takes 12 minutes.", "No, 12 minutes are fine.", False),
        ("The test suite takes 12 minutes.", "No, I have 2 kids.", False),
        ("The test suite takes 12 minutes.", "It takes 9 minutes.", False),
        ("The test suite takes 12 minutes.", "No problem, 9 minutes it is.", False),
        ("", "No, it takes 9 minutes.", False),
    ],
)
def test_another_number_of_the_same_unit_corrects(previous: str, sentence: str, *, expected: bool) -> None:
    assert corrects_value(sentence, previous) is expected


def test_a_text_without_full_stops_takes_time_that_grows_with_it() -> None:
    """Hole: a look-ahead to the next full stop took 8 s for 64 KB."""
    for unit in ("it's 'a' ", "password is ", "is a, not b "):
        begun = time.process_time()
        assert not states_correction(unit * 12_000)
        assert time.process_time() - begun < 0.5
