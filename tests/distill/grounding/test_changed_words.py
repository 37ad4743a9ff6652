"""Words in another order, in a clause of somebody else, or in a form of another time."""

from __future__ import annotations

import pytest

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn


@pytest.mark.parametrize(
    ("content", "text", "reason"),
    [
        ("Tom lent Nils his van", "Nils lent Tom his van.", "order"),
        ("the roofer comes today", "The roofer came today.", "time of"),
        ("the small kiln leaks, Nils repaired the oven", "The small kiln repaired the oven.", "joined clauses"),
        ("the bilge pump leaks", "The bilge pumps.", "number of"),
    ],
)
def test_a_change_is_named(content: str, text: str, reason: str) -> None:
    found = objections(text, [SaidTurn(role="user", name="Mara", ts="2026-11-20T09:00:00", content=content)])
    assert any(line.startswith(reason) for line in found)


def test_a_past_form_stands_for_did_and_the_verb() -> None:
    asked = SaidTurn(role="assistant", name="Bot", ts="2026-11-20T09:00:00", content="How did the interview go?")
    answer = SaidTurn(role="user", name="Mara", ts="2026-11-20T09:01:00", content="badly, it was too short")
    assert objections("The interview went badly, it was too short.", [asked, answer]) == ()
    answer = SaidTurn(role="user", name="Mara", ts="2026-11-20T09:01:00", content="i did not go to the interview")
    assert objections("Mara went to the interview.", [answer])


def test_a_denial_of_something_else_denies_nothing() -> None:
    turn = SaidTurn(role="user", name="Mara", content="not mites anyway. gonna split the strongest hive on saturday")
    assert objections("Mara is going to split the strongest hive.", [turn]) == ()
    assert objections("Mara is not going to split the strongest hive.", [turn])
