"""The chances of a short reply."""

from __future__ import annotations

import time

import numpy as np
import pytest

from distill.summary.replies import (
    BUCKETS,
    HEADS,
    Head,
    acceptance_chance,
    answer_worth,
    leaving_chance,
    proposal_worth,
    reply_row,
)


@pytest.mark.parametrize("reply", ["yes please", "Agreed.", "let's do that", "那就这么办", "行,谢谢"])
def test_consent_is_likelier_than_a_refusal_or_a_condition(reply: str) -> None:
    others = ("No.", "only if it is free", "let me think about it", "再说吧", "得问问老板", "Antwerp.")
    assert acceptance_chance(reply) > 0.5 > max(map(acceptance_chance, others))


@pytest.mark.parametrize("offer", ["Shall I explain that?", "Would you like an example?", "要我再讲一遍吗?"])
def test_an_offer_of_help_is_worth_less_than_a_proposal(offer: str) -> None:
    proposals = ("I suggest we close the shop on Mondays.", "Should we sell the boat?", "要不把聚会改到八月?")
    assert proposal_worth(offer) < 0.5 < min(map(proposal_worth, proposals))


def test_an_answer_is_worth_what_its_question_asks_for() -> None:
    assert (
        answer_worth("Do you have any allergies?", "Strawberries.")
        > 0.6
        > answer_worth("Any dessert?", "Strawberries.")
    )
    assert answer_worth("你在哪个城市住?", "苏州") > 0.6 > answer_worth("周末过得怎么样?", "还行")


@pytest.mark.parametrize("head", list(HEADS))
def test_a_row_names_the_numbers_first_and_then_the_buckets(head: Head) -> None:
    parts, shape = HEADS[head]("", "")
    columns, values = reply_row(head, "Any pets?", "Two.")
    assert len(columns) == len(values)
    assert int(columns.max()) < len(shape) + len(parts) * BUCKETS
    assert np.isfinite(values).all()


@pytest.mark.parametrize(("piece", "count"), [("", 1), (" ", 1), ("?", 1), ("他", 1), ("a", 50_000), ("it, ", 20_000)])
def test_any_text_has_a_chance_in_linear_time(piece: str, count: int) -> None:
    text, start = piece * count, time.process_time()
    for chance in (acceptance_chance(text), proposal_worth(text), answer_worth(text, text)):
        assert 0 <= chance <= 1
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(
    "reply", ["No, that's all.", "Nein danke, das reicht mir.", "不用了,谢谢。", "Nope, all good."]
)
def test_taking_leave_is_likelier_than_a_correction(reply: str) -> None:
    corrections = ("No, that's my uncle.", "Nein, es sind 30 Tage.", "不对,是周四。", "No, it closes at six.")
    assert leaving_chance(reply) > 0.5 > max(map(leaving_chance, corrections))
