"""The learned relation of two statements, and the vetoes that stand over it."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from distill.statements.pairs.pair_features import FEATURES, compare
from distill.statements.pairs.pair_model import WEIGHTS_FILE, is_other_year, keeps_older, restates, score_pair


def test_the_shipped_weights_name_every_feature() -> None:
    read = json.loads(files("distill.statements.pairs").joinpath(WEIGHTS_FILE).read_text("utf-8"))
    assert set(read) == {"replaced", "same"}
    assert all(set(weights) == {*FEATURES, "constant"} for weights in read.values())


@pytest.mark.parametrize(
    ("older", "newer", "reason"),
    [
        ("We deploy on Thursdays", "Should we deploy on Mondays instead?", "it asks"),
        ("We use Postgres for orders", "If we used MySQL for orders, what would break", "it supposes"),
        ("Marta has quit", "Marta hasn't quit, that was a rumour", "it takes a claim back"),
        ("Priya owns billing", "Priya also owns exports", "it adds"),
        ("I drink coffee every morning", "drank tea this morning", "it tells of one day"),
        ("Deploy search on Mondays", "Deploy billing on Thursdays instead of Mondays",
         "it names the same value of another thing"),
        ("妹妹住在成都", "弟弟住在重庆", "it tells of another person"),
        ("We host in Frankfurt", "Penguins like fish", "it shares too little"),
    ],
)  # fmt: skip
def test_a_veto_names_its_reason(older: str, newer: str, reason: str) -> None:
    assert keeps_older(compare(older, newer)) == reason


def test_a_changed_value_scores_higher_than_another_attribute() -> None:
    changed = score_pair(compare("Rent is 1,150 a month", "They put the rent up, 1,240 a month from January"))
    other = score_pair(compare("Rent is 1,150 a month", "Electricity comes to 90 a month"))
    assert changed.replaced > other.replaced


@pytest.mark.parametrize(
    ("older", "newer", "holds"),
    [
        ("The launch is on 3 October.", "so launch day, Oct 3rd, we need cake", True),
        ("The lease ends on 30 November.", "the lease runs out at the end of November, on the 30th", True),
        ("项目上线日期是十二月一日。", "上线12月1号，大家加油", True),
        ("奶奶今年八十八岁。", "奶奶88啦", True),
        ("The launch is on 3 October.", "the launch is on 4 October", False),
        ("The launch is on 3 October.", "the launch moved, no longer on 3 October", False),
        ("The launch is soon.", "so launch day, we need cake", False),
    ],
)
def test_a_value_said_again_is_known_in_any_spelling(older: str, newer: str, *, holds: bool) -> None:
    assert restates(older, newer, compare(older, newer)) is holds


def test_work_of_another_year_is_other_work() -> None:
    assert is_other_year("file the accounts of 2025", "the accounts of 2024 are filed")
    assert not is_other_year("file the accounts of 2025", "the accounts of 2025 are filed")
