"""Persons and things that take the place of others are named."""

from __future__ import annotations

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn


def said(content: str, name: str = "Mara", ts: str = "2026-12-01T09:00:00") -> SaidTurn:
    return SaidTurn(role="user", name=name, ts=ts, content=content)


def test_a_pronoun_does_not_follow_the_name_of_another_speaker() -> None:
    turns = [said("who drives on monday?"), said("me and Tom. but i have a shift at 2", "Ada"), said("ok", "Tom")]
    assert objections("Tom drives on Monday, he has a shift at 2.", turns)


def test_words_that_were_taken_back_are_no_statement() -> None:
    turn = said("i have to return it before founders day... no wait that is past. before harvest day")
    assert "corrected 'founders'" in objections("Mara has to return it before founders day.", [turn])
    assert "corrected 'founders'" not in objections("Mara has to return it before harvest day.", [turn])


def test_the_year_of_a_month_is_the_nearest_one() -> None:
    turn = said("my daughter starts kindergarten in january")
    assert objections("Mara's daughter starts kindergarten in January 2027.", [turn]) == ()
    assert objections("Mara's daughter starts kindergarten in January 2026.", [turn])


def test_things_of_two_statements_are_not_joined() -> None:
    turn = said("i raised the limit on staging, production is untouched")
    assert objections("Mara raised the limit on staging and production.", [turn])


def test_a_subject_does_not_become_an_owner() -> None:
    turn = said("my brother has my bank card")
    assert objections("Mara's brother has her bank card.", [turn]) == ()
    assert objections("Mara has her brother's bank card.", [turn])


def test_a_value_that_a_later_turn_corrects_is_no_statement() -> None:
    turns = [said("the ferry leaves from pier 2 at noon", "Ada"), said("pier 3 actually, they switched")]
    assert "corrected '2'" in objections("The ferry leaves from pier 2.", turns)
    assert objections("The ferry leaves from pier 2.", turns[:1]) == ()


def test_a_value_that_was_taken_back_at_once_is_no_statement() -> None:
    assert "corrected '700'" in objections("Rent is 700.", [said("rent is 700, no sorry 750")])
    assert objections("Rent is 750.", [said("my rent was unclear. rent is 750")]) == ()
    assert objections("会议改三点。", [said("会议改三点,不对,四点")])
