"""Another home or employer ends the one before it."""

from __future__ import annotations

import pytest

from distill.statements.life_changes import ends_life_fact


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Ghent with my brother.", "I moved to Antwerp last month."),
        ("We live in Ghent", "we've just moved to Antwerp"),
        ("My mother lives in Kassel.", "Mum moved to Bremen to be closer to us."),
        ("Tove lives in Lund.", "Tove has moved to Gothenburg."),
        ("I work for Halvorsen Shipping.", "I started at Nordlys Energy two weeks ago."),
        ("我住在广州", "我搬到深圳了"),
        ("我在一家律所上班。", "我上个月跳槽去了一家银行。"),
    ],
)
def test_another_home_or_employer_ends_the_older_one(older: str, newer: str) -> None:
    assert ends_life_fact(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Ghent.", "I went to Antwerp last weekend."),
        ("I live in Ghent.", "I moved to the marketing team."),
        ("I live in Ghent.", "My dad moved to Antwerp."),
        ("I live in Ghent.", "I moved to Antwerp for two weeks."),
        ("I live in Ghent.", "I want to live in Antwerp."),
        ("I live in Ghent.", "I joined Nordlys Energy."),
        ("I live in Antwerp.", "I moved to Antwerp in 2019."),
        ("我住在南京。", "我上周去了苏州。"),
        ("我住在南京。", "我婆婆搬到宝鸡了。"),
        ("我住在南京。", "我打算搬到苏州。"),
    ],
)
def test_a_visit_a_plan_and_another_person_end_nothing(older: str, newer: str) -> None:
    assert not ends_life_fact(older, newer)
