"""The labelled pairs, and the floor that the rules hold on them."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.promotion import FLOOR, by_rules, score, swaps
from bench.promotion_data import HALVES, Half, pairs


@pytest.mark.parametrize("half", HALVES)
def test_each_half_has_every_label_in_both_languages(half: Half) -> None:
    rows = pairs(half)
    labels = Counter((pair.label, pair.lang) for pair in rows)
    assert len(rows) >= 40
    assert len({pair.id for pair in rows}) == len(rows)
    assert all(labels[label, lang] >= 2 for label in ("contradiction", "refinement", "unrelated", "duplicate")
               for lang in ("en", "zh"))  # fmt: skip


def test_no_pair_stands_in_both_halves() -> None:
    told = [{(pair.older, pair.newer) for pair in pairs(half)} for half in HALVES]
    assert not told[0] & told[1]


@pytest.mark.parametrize("half", HALVES)
def test_what_is_superseded_by_words_alone_is_contradicted(half: Half) -> None:
    rows = pairs(half)
    found = score(rows, by_rules(rows, None), "replaced")
    assert found.precision >= FLOOR
    assert found.recall >= 0.8


@pytest.mark.parametrize("half", HALVES)
def test_whatever_the_model_says_only_duplicates_are_united(half: Half) -> None:
    rows = pairs(half)
    assert score(rows, by_rules(rows, [1.0] * len(rows)), "same").precision >= 0.9


def test_a_swap_changes_one_particular() -> None:
    assert list(swaps("Dana has 3 keys since Monday", "Dana", "Priya")) == [
        ("number", "Dana has 4 keys since Monday"),
        ("day", "Dana has 3 keys since Wednesday"),
        ("negation", "Dana has not 3 keys since Monday"),
        ("name", "Priya has 3 keys since Monday"),
    ]
