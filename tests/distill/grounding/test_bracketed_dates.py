"""Dates in brackets are what the words before them mean."""

from __future__ import annotations

import pytest

from distill.grounding.bracketed_dates import glosses
from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn


def said(content: str, role: str = "user") -> SaidTurn:
    return SaidTurn(role=role, name="Mara" if role == "user" else "Bot", ts="2026-11-20T09:00:00", content=content)


def test_a_date_in_brackets_is_blanked_without_dividing_the_text() -> None:
    plain, found = glosses("周三(2026-11-25)来")
    assert [gloss.text for gloss in found] == ["2026-11-25"]
    assert len(plain) == len("周三(2026-11-25)来")
    assert not any(char.isspace() for char in plain)


@pytest.mark.parametrize(
    ("gloss", "known"), [("2026-11-26", True), ("2026-11-27", False), ("2027-11-26", False), ("2026", False)]
)
def test_a_weekday_means_one_day(gloss: str, known: bool) -> None:
    found = objections(f"The roofer comes on Thursday ({gloss}).", [said("the roofer comes on thursday")])
    assert (found == ()) is known or gloss == "2026"


def test_another_turn_may_date_a_day_by_its_name() -> None:
    turns = [said("the kiln goes back before founders day"), said("Founders day is the 27th of November.", "assistant")]
    assert objections("The kiln goes back before founders day (2026-11-27).", turns) == ()
    assert objections("The kiln goes back before founders day (2026-11-28).", turns)


@pytest.mark.parametrize(("gloss", "known"), [("2026-12-25", True), ("2026-12-24", False), ("2029-12-25", False)])
def test_a_holiday_with_a_fixed_date_means_that_day(gloss: str, known: bool) -> None:
    assert (
        objections(f"The roof is due before Christmas ({gloss}).", [said("roof is due before christmas")]) == ()
    ) is known


def test_an_ordinal_word_dates_a_month() -> None:
    turn = said("we get the keys on the first of december")
    assert objections("They get the keys on the first of December (2026-12-01).", [turn]) == ()
    assert objections("They get the keys on the first of December (2026-12-02).", [turn])


def test_a_feast_without_a_fixed_date_needs_a_date_from_the_turns() -> None:
    assert objections("They fly on Easter Sunday (2026-11-22).", [said("we fly on easter sunday")])
    assert objections("They fly on Easter Sunday.", [said("we fly on easter sunday")]) == ()
    assert objections("Mara元宵节(2026-11-20)回家。", [said("元宵节回家")])
