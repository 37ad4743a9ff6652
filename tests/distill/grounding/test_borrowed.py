"""Nouns have a place in the clause into which an entry puts them."""

from __future__ import annotations

import pytest

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn


@pytest.mark.parametrize(
    ("contents", "text", "reason"),
    [
        (["the talk was 12 min, supposed to be 10."], "The talk was 10 min, supposed to be 12.", "crossed"),
        (["表要盖社区医院的章 区医院的不认"], "表要盖区医院的章，社区医院的不认。", "moved"),
        (["the mill contract came through. gotta buy a gate"], "The mill gate contract came through.", "inserted"),
        (["the manual says 65 metres. the front axle is different"], "The manual says 65 metres for the front axle.",
         "named later"),
    ],
)  # fmt: skip
def test_a_noun_without_a_place_is_refused(contents: list[str], text: str, reason: str) -> None:
    turns = [SaidTurn(role="user", name="Mara", ts="2026-11-20T09:00:00", content=content) for content in contents]
    assert any(found.startswith(reason) for found in objections(text, turns))


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        (["the mill is for sale", "the contract came. it costs 700"], "The mill contract came, it costs 700."),
        (["the pump is due before Monday... no wait, before Friday"], "The pump is due before Friday."),
        (["the medical I can't book"], "Mara can't book the medical."),
    ],
)
def test_a_noun_with_a_place_is_accepted(contents: list[str], text: str) -> None:
    turns = [SaidTurn(role="user", name="Mara", ts="2026-11-20T09:00:00", content=content) for content in contents]
    assert objections(text, turns) == ()


def test_a_clause_of_a_later_turn_is_no_noun() -> None:
    turns = [
        SaidTurn(role="user", name="Mara", content="which was it, the boat with two stops or the one via Ghent"),
        SaidTurn(role="assistant", name="Bot", content="The Ghent one is 64, the Lille one is 51."),
        SaidTurn(
            role="user", name="Mara", content="take lille. my cousin Nell lives there she can come get me for lunch"
        ),
    ]
    assert any(reason.startswith("named later") for reason in objections("Mara's cousin Nell lives in Ghent.", turns))
    assert objections("Mara takes the boat via Ghent.", turns)
