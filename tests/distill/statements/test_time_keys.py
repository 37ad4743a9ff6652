"""Keys of days, dates and times."""

from __future__ import annotations

import pytest

from distill.statements.statement_parser import parse_statement
from distill.statements.time_keys import time_key


@pytest.mark.parametrize(
    ("kind", "spellings", "key"),
    [
        ("date", ("3 October", "Oct. 3rd", "3rd of October", "10月3日", "10月3号", "十月三日"), "-10-3"),
        ("date", ("2026-10-03", "October 3, 2026", "2026年10月3日"), "2026-10-3"),
        ("date", ("30th", "30号", "三十号"), "--30"),
        ("day", ("Sunday", "Sundays", "周日", "星期天", "礼拜日"), "7"),
        ("time", ("4:30 PM", "16:30", "4:30pm"), "16:30"),
        ("time", ("四点半", "4:30", "4点半"), "4:30"),
        ("time", ("9:15", "九点一刻", "9点一刻"), "9:15"),
        ("time", ("12am", "0:00"), "0:00"),
    ],
)
def test_all_spellings_have_one_key(kind: str, spellings: tuple[str, ...], key: str) -> None:
    assert {time_key(kind, spelling) for spelling in spellings} == {key}


def test_a_chinese_time_after_noon_is_one() -> None:
    assert "time:16:30" in parse_statement("下午四点半接孩子").keys


def test_years_keep_dates_apart() -> None:
    assert time_key("date", "3 May 2025") != time_key("date", "3 May 2026")


def test_other_words_have_no_key() -> None:
    assert time_key("time", "十一点过") == ""
