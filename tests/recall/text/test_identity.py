"""Texts with the same words are the same statement."""

from __future__ import annotations

import pytest

from recall.text.identity import Wording, identity_key

LONG = "we decided last week that the nightly export moves from the old server to the new one in Frankfurt"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (LONG, LONG.upper() + "!", True),
        (LONG, LONG.replace("we decided", "it was decided"), False),
        (LONG + " at 9 for now", LONG + " at 10 for now", False),
        (LONG, LONG.replace("moves", "never moves"), False),
        ("thanks a lot", "thanks a lot", False),
    ],
)
def test_a_number_or_a_negation_makes_another_statement(first: str, second: str, *, same: bool) -> None:
    assert Wording.of(first).repeats(Wording.of(second)) is same
    assert Wording.of(second).repeats(Wording.of(first)) is same


def test_a_word_or_two_of_many_may_differ() -> None:
    words = " ".join(f"word{chr(97 + n)}" for n in range(26))
    assert Wording.of(words).repeats(Wording.of(words + " indeed"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("-12 %", "12 %", False),
        ("3.5 or 4", "35 or 4", False),
        ("1,000 rows.", "1000 Rows", True),
        ("a b", "ab", True),
    ],
)
def test_keys_keep_signs_and_decimal_points(one: str, other: str, *, same: bool) -> None:
    assert (identity_key(one) == identity_key(other)) is same
