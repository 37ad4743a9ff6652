"""Texts with the same words are the same statement."""

from __future__ import annotations

import random

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


def test_texts_that_nearly_repeat_each_other_share_a_hash_of_their_signatures() -> None:
    source = random.Random(7)  # noqa: S311 - texts of a test
    vocabulary = [f"{letter}{'o' * (number % 7)}{number}x" for number in range(90) for letter in "bdk"]
    repeated = 0
    for _ in range(400):
        words = source.choices(vocabulary, k=source.randint(12, 60))
        other = list(words)
        for _ in range(source.randint(0, 3)):
            other.pop(source.randrange(len(other)))
        one, two = Wording.of(" ".join(words)), Wording.of(" ".join(other))
        common, every = len(one.pairs & two.pairs), len(one.pairs | two.pairs)
        if min(len(one.words), len(two.words)) >= 12 and common >= 0.9 * every:
            repeated += 1
            assert set(one.signature) & set(two.signature)
    assert repeated > 50
