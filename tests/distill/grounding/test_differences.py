"""The differences of an entry are reasons or counts."""

from __future__ import annotations

from distill.grounding.differences import SOFT
from distill.grounding.extract import compare
from distill.grounding.said_turn import SaidTurn


def test_a_soft_difference_is_counted_and_no_reason() -> None:
    turn = SaidTurn(role="user", name="Mara", ts="2026-11-20T09:00:00", content="sold the kiln at the market yesterday")
    found = compare("Mara sold the kiln.", [turn])
    assert found.reasons == []
    assert found.counts["name added"] == 1
    assert found.counts["left out behind"]
    assert set(found.counts) <= set(SOFT)
