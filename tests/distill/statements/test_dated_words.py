"""Relative words get a date where they name one, and none where they are open."""

from __future__ import annotations

import time
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.statements.dated_words import add_dates, named_dates, without_dates

FRIDAY = date(2026, 11, 20)


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("yesterday", "yesterday (2026-11-19)"),
        ("the day after tomorrow", "the day after tomorrow (2026-11-22)"),
        ("tomorrow's standup", "tomorrow's (2026-11-21) standup"),
        ("next Tuesday at 8", "next Tuesday (2026-11-24) at 8"),
        ("last Saturday", "last Saturday (2026-11-14)"),
        ("I joined last Tues.", "I joined last Tues (2026-11-17)."),
        ("two weekends ago", "two weekends ago (2026-11-07 to 2026-11-08)"),
        ("周三才出结果", "周三\uff082026-11-25\uff09才出结果"),
        ("外婆周日摔了一跤", "外婆周日\uff082026-11-15\uff09摔了一跤"),
        ("I will pay on Tuesday", "I will pay on Tuesday (2026-11-24)"),
        ("paid on Tuesday", "paid on Tuesday (2026-11-17)"),
        ("sign by Thursday", "sign by Thursday (2026-11-26)"),
        ("I need only until Thursday", "I need only until Thursday (2026-11-26)"),
        ("I will also come on Tuesday", "I will also come on Tuesday (2026-11-24)"),
        ("two days ago", "two days ago (2026-11-18)"),
        ("a year ago", "a year ago (about 2025)"),
        ("the rent goes up in two weeks", "the rent goes up in two weeks (about 2026-12-04)"),
        ("by the end of the month", "by the end of the month (2026-11-30)"),
        ("last week", "last week (2026-11-09 to 2026-11-15)"),
        ("until the 3rd", "until the 3rd (2026-12-03)"),
        ("last May", "last May (2026-05)"),
        ("下下周一之前", "下下周一（2026-11-30）之前"),
        ("明年三月", "明年三月（2027-03）"),
        ("下个月15号", "下个月15号（2026-12-15）"),
        ("三个月后复查", "三个月后（约 2027-02）复查"),
        ("Ship the crate on Thursday", "Ship the crate on Thursday (2026-11-26)"),
        ("the week after next", "the week after next (2026-11-30 to 2026-12-06)"),
        ("the month before last", "the month before last (2026-09)"),
        ("a week from Monday", "a week from Monday (2026-11-30)"),
        ("ten days from now", "ten days from now (2026-11-30)"),
        ("a fortnight ago", "a fortnight ago (about 2026-11-06)"),
        ("周五的评审改到周一", "周五的评审改到周一\uff082026-11-23\uff09"),
        ("大后天到", "大后天（2026-11-23）到"),
        ("上周末", "上周末（2026-11-14 至 2026-11-15）"),
    ],
)
def test_relative_words_get_their_date(text: str, dated: str) -> None:
    assert add_dates(text, FRIDAY) == dated
    assert add_dates(dated, FRIDAY) == dated
    assert without_dates(dated) == text


@pytest.mark.parametrize(
    "text",
    [
        "every Friday", "on Mondays", "Monday to Friday", "I teach on Wednesday", "Black Friday", "by Friday",
        "he painted it in two weeks", "next Friday, 27 November", "the first Monday of May",
        "I am working now also on Friday", "We are only open until Thursday",
        "I'm working only until Thursday, Friday is my free day", "They are always baking on Sunday",
        "I have a free day on Friday", "right now",
        "the festival is last weekend in June", "the last Friday of the month",
        "Friday's review got moved", "one Monday we left", "the following Monday she called", "on Fridays I'm off",
        "I'm off on Wednesday", "the next week he was fired", "there's no tomorrow", "next December", "逢周二吃素",
        "in May", "每周三打球", "30 天前的日志", "以后天天跑步", "聪明天真", "周三下午别找我", "周三休息",
        "周一到周五上班",
    ],
)  # fmt: skip
def test_open_and_habitual_words_get_none(text: str) -> None:
    assert add_dates(text, FRIDAY) == text


@given(st.dates(date(1200, 1, 1), date(9999, 12, 31)))
def test_no_day_is_too_early_or_too_late(said: date) -> None:
    text = "last year, next year, 99 years ago, in 99 years, 去年, 上上周一, until the 31st, tomorrow"
    assert without_dates(add_dates(text, said)) == text


@given(st.dates(date(2000, 1, 1), date(2050, 1, 1)), st.integers(0, 6))
def test_next_weekday_is_in_the_next_week(said: date, number: int) -> None:
    name = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")[number]
    monday = said - timedelta(said.weekday()) + timedelta(7)
    assert add_dates(f"next {name}", said) == f"next {name} ({monday + timedelta(number)})"


def test_the_dates_of_a_text_stand_at_its_own_words() -> None:
    text = "Friday (2026-11-27) I fly, the week after next I'm back"
    assert named_dates("tomorrow or 后天见", FRIDAY) == [(8, "2026-11-21"), (14, "2026-11-22")]
    assert without_dates(text)[:10] == "Friday I f"


@pytest.mark.parametrize("piece", ["on Monday ", "周一", "on the 3rd "])
def test_many_weekdays_cost_linear_time(piece: str) -> None:
    start = time.process_time()
    add_dates(piece * 2000, FRIDAY)
    assert time.process_time() - start < 2.0
