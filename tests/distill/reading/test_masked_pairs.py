"""Masked pairs: which words stay, and the linear model over them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from distill.reading.masked_pairs import BUCKETS, MaskedPairModel, hashed_grams, masked, vector_part


@pytest.mark.parametrize(
    ("text", "other", "words"),
    [
        ("got the visa, at last!", "Apply for a visa", "got the § , at last !"),
        ("Rent is 640 since May, not 600", "The rent is 600", "§ is # since N , not #="),
        ("登机牌找不到了", "打印登机牌", "§ 找 不 到 了"),
        ("I told Ana. The deck is out.", "Send the deck", "i told N . the § is out ."),
    ],
)
def test_shared_words_names_and_numbers_are_masked(text: str, other: str, words: str) -> None:
    assert " ".join(masked(text, other)) == words


def test_the_subject_of_an_entry_is_no_word_of_the_pair() -> None:
    pair = ("The user's rent is 600", "rent is 640 now", "user")
    assert hashed_grams(*pair).tolist() == hashed_grams("rent is 600", "rent is 640 now", "user").tolist()


def test_a_model_survives_its_arrays() -> None:
    model = MaskedPairModel(grams=np.linspace(-1, 1, BUCKETS), dense=np.ones(4), bias=0.5)
    again = MaskedPairModel.from_arrays(model.as_arrays("masked"), "masked")
    buckets = hashed_grams("rent is 600", "rent is 640 now", "user")
    part = vector_part(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert again.score(buckets, part) == pytest.approx(model.score(buckets, part), abs=0.05)
    assert model.score(buckets, part) == pytest.approx(model.score(buckets) + part.sum())


def test_long_texts_cost_little() -> None:
    started = time.perf_counter()
    hashed_grams("done " * 20_000, "房租" * 20_000, "user")
    assert time.perf_counter() - started < 0.5
