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
        (["剧本杀店这个月亏了四千多", "对了老k欠店里的钱还没还 一千二"], "老k欠剧本杀店的一千二还了。", "named later"),
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
