"""Features of a pair of statements: what they share, and what one says is gone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.statements.pairs.pair_features import FEATURES, compare, word_weight
from distill.statements.statement_parser import parse_statement


def test_every_feature_has_one_name_and_one_value() -> None:
    assert len(set(FEATURES)) == len(FEATURES) == len(compare("Deploy on Monday", "Deploy on Friday").values)


def test_a_number_without_a_unit_is_the_number_with_one() -> None:
    found = compare("Backups are kept for 30 days", "90 days for the backups, not 30")
    assert found["gone value is older"] == 1
    assert found["another value gone"] == 0


@pytest.mark.parametrize(
    ("older", "newer", "feature"),
    [
        ("Deploy billing on Monday", "Deploy billing on Friday", "when changed"),
        ("草稿保留 7 天", "草稿保留 30 天", "number changed"),
        ("Orders are stored in PostgreSQL", "Orders are stored in MySQL", "name changed"),
        ("Nora signs off invoices", "Invoices are signed off by Kai, Nora has left", "aside and fresh"),
        ("My son plays chess", "My daughter plays chess", "kin differs"),
        ("We use Postgres", "Should we use MySQL?", "asked newer"),
    ],
)
def test_a_difference_is_told_by_its_kind(older: str, newer: str, feature: str) -> None:
    assert compare(older, newer)[feature] > 0


def test_a_word_of_change_weighs_less_than_a_rare_word() -> None:
    rehearsal, put = parse_statement("rehearsal put").tokens
    assert word_weight(put) < word_weight(rehearsal)


@given(st.text(max_size=200), st.text(max_size=200))
def test_features_of_any_two_texts_are_small_numbers(older: str, newer: str) -> None:
    assert all(-1 <= value <= 6 for value in compare(older, newer).values)


def test_a_new_thing_that_both_name_is_no_word_of_change() -> None:
    older = "We buy the Bosch oven for the new kitchen."
    assert not compare(older, "We buy the Liebherr fridge for the new kitchen.")["change newer"]
    assert compare(older, "We buy a new oven for the new kitchen.")["change newer"]
