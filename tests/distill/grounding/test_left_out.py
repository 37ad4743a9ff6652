"""What an entry leaves out of the clauses that it tells."""

from __future__ import annotations

import pytest

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("the pool is almost full", "The pool is full."),
        ("we leave unless it rains", "They leave."),
        ("除非周日好了，我们去爬山", "Mara他们去爬山。"),
        ("the job fails when the disk is full", "The job fails."),
        ("the red kiln and the small oven leak", "The red oven leaks."),
    ],
)
def test_a_limit_or_a_word_inside_may_not_be_left_out(content: str, text: str) -> None:
    assert objections(text, [SaidTurn(role="user", name="Mara", ts="2026-11-20T09:00:00", content=content)])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("the kiln leaks, and i told the shop", "The kiln leaks."),
        ("她脚崴了，除非周日好了，不然就是我去", "她脚崴了。"),
        ("我妈终于买了窑", "Mara的妈妈买了窑。"),
    ],
)
def test_another_clause_and_filler_may_be_left_out(content: str, text: str) -> None:
    assert objections(text, [SaidTurn(role="user", name="Mara", ts="2026-11-20T09:00:00", content=content)]) == ()


def test_the_condition_of_a_short_answer_may_not_be_left_out() -> None:
    turns = [
        SaidTurn(role="assistant", name="Assistant", ts="2026-11-20T09:00:00", content="Who fits the rope?"),
        SaidTurn(role="user", name="Mara", ts="2026-11-20T09:01:00", content="Gwil, if his back allows"),
    ]
    assert objections("Gwil fits the rope.", turns)
    assert objections("Gwil fits the rope, if his back allows.", turns) == ()


def test_a_sentence_that_limits_the_one_before_may_not_be_left_out() -> None:
    turn = SaidTurn(role="user", name="Mara", content="Sat 14 March. Pip blocks. Unless my knee swells again")
    assert objections("On Saturday 14 March Pip blocks.", [turn])
