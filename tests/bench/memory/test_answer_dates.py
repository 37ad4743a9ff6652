"""Answers that name a day by another day."""

from __future__ import annotations

from datetime import date

import pytest

from bench.memory.answer_dates import named_days, written_days


@pytest.mark.parametrize(
    ("answer", "first", "last"),
    [
        ("The Friday before 15 July 2023", "2023-07-14", "2023-07-14"),
        ("the week before 9 June 2023", "2023-05-29", "2023-06-08"),
        ("The weekend after 3June, 2022.", "2022-06-04", "2022-06-05"),
        ("the day before May 1, 2022", "2022-04-30", "2022-04-30"),
    ],
)
def test_a_day_is_named_by_another_one(answer: str, first: str, last: str) -> None:
    assert named_days(answer) == (date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize("answer", ["", "15 July 2023", "before lunch", "the day before 31 February 2023"])
def test_other_answers_name_none(answer: str) -> None:
    assert named_days(answer) is None


def test_days_and_spans_of_a_line_are_read() -> None:
    days = written_days("last week (2023-05-29 to 2023-06-04) and yesterday (2023-06-08), not 2023-13-01")
    assert days == [(date(2023, 5, 29), date(2023, 6, 4)), (date(2023, 6, 8), date(2023, 6, 8))]
