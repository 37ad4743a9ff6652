"""Days that questions name."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.text.dates import Period, day_number, nearness, periods

NOW = date(2026, 11, 21)  # a Saturday


def spans(text: str, now: date | None = NOW) -> list[tuple[str, str, bool]]:
    return [(str(p.first), str(p.last), p.yearly) for p in periods(text, now)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what happened on 7 May 2023?", "2023-05-07", "2023-05-07"),
        ("what happened on the 7th of May, 2023?", "2023-05-07", "2023-05-07"),
        ("where was she on February 1st, 2024", "2024-02-01", "2024-02-01"),
        ("class on 21.01.2024", "2024-01-21", "2024-01-21"),
        ("the log of 2026-03-09", "2026-03-09", "2026-03-09"),
        ("plans for May 2023", "2023-05-01", "2023-05-31"),
        ("in February, 2024 perhaps", "2024-02-01", "2024-02-29"),
        ("2023年5月7日发生了什么", "2023-05-07", "2023-05-07"),
        ("2023年5月的计划", "2023-05-01", "2023-05-31"),
        ("what did I say yesterday", "2026-11-20", "2026-11-20"),
        ("昨天说了什么", "2026-11-20", "2026-11-20"),
        ("前天的会议", "2026-11-19", "2026-11-19"),
        ("what did we decide last week?", "2026-11-09", "2026-11-15"),
        ("上周的结论", "2026-11-09", "2026-11-15"),
        ("what changed this month", "2026-11-01", "2026-11-30"),
        ("上个月的预算", "2026-10-01", "2026-10-31"),
        ("the trip last year", "2025-01-01", "2025-12-31"),
        ("the call on Monday", "2026-11-16", "2026-11-16"),
        ("three days ago", "2026-11-18", "2026-11-18"),
        ("两天前", "2026-11-19", "2026-11-19"),
        ("two weeks ago", "2026-11-04", "2026-11-10"),
    ],
)
def test_a_period_is_understood(text: str, first: str, last: str) -> None:
    assert spans(text) == [(first, last, False)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("the camping trip in June", "2000-06-01", "2000-06-30"),
        ("was it on 24 December?", "2000-12-24", "2000-12-24"),
        ("5月的旅行", "2000-05-01", "2000-05-31"),
    ],
)
def test_a_period_without_a_year_is_of_every_year(text: str, first: str, last: str) -> None:
    assert spans(text) == [(first, last, True)]


@pytest.mark.parametrize(
    "text",
    ["may I march on?", "version 1.24.3", "the 31st of February 2023", "room 2023", "", "a day ago I", "max_12_3"],
)
def test_text_without_a_date_names_no_period(text: str) -> None:
    assert periods(text) == ()


def test_two_dates_are_two_periods() -> None:
    assert len(spans("between August 11 and August 15 2023")) == 2


def test_relative_words_need_the_present() -> None:
    assert periods("yesterday, last week and 两天前") == ()


def test_nearness_is_full_within_a_period_and_fades_after_it() -> None:
    named = (Period(date(2023, 5, 1), date(2023, 5, 31)),)
    days = np.array([day_number(f"2023-{day}T10:00:00") for day in ("05-01", "05-31", "06-07", "04-24", "07-30")])
    inside, last, week_after, week_before, long_after = nearness(days, named, 7.0)
    assert inside == last == 1.0
    assert week_after == pytest.approx(np.exp(-1))
    assert week_before == pytest.approx(np.exp(-2))
    assert long_after < 0.001


def test_a_period_of_every_year_is_near_in_each() -> None:
    named = (Period(date(2000, 2, 29), date(2000, 2, 29), yearly=True),)
    days = np.array([day_number(day) for day in ("2023-02-28", "2024-02-29", "2025-08-01")])
    assert nearness(days, named, 7.0).round(3).tolist() == [1.0, 1.0, 0.0]


def test_a_passage_without_a_date_is_never_near() -> None:
    named = (Period(date(2023, 5, 1), date(2023, 5, 31)),)
    assert nearness(np.array([0, 0]), named, 7.0).tolist() == [0.0, 0.0]
    assert nearness(np.array([day_number(""), day_number("2023-13-45")]), named, 7.0).tolist() == [0.0, 0.0]


@given(
    st.text(alphabet="0123456789-./ ,年月日前天周上 maylstgoJuneTuesday", max_size=40),
    st.dates(),
    st.lists(st.integers(0, 3_000_000), max_size=5),
)
def test_any_text_on_any_day_gives_a_share(text: str, now: date, days: list[int]) -> None:
    near = nearness(np.array(days, np.int64), periods(text, now), 7.0)
    assert len(near) == len(days)
    assert ((near >= 0) & (near <= 1)).all()
