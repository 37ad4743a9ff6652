"""A turn that corrects itself says the last value."""

from __future__ import annotations

import pytest

from agent_home.store.transcript import Message
from distill.reading.self_corrections import settle_self_corrections, with_settled_values


@pytest.mark.parametrize(
    ("said", "settled"),
    [
        ("The meeting is Tuesday at 10. Sorry, Wednesday.", "The meeting is Wednesday at 10."),
        ("The rent is 780 a month, sorry, 870.", "The rent is 870 a month."),
        ("My brother works in Aarhus. Wait, Odense. He likes it.", "My brother works in Odense. He likes it."),
        ("I'm allergic to amoxicillin. Correction: to ampicillin.", "I'm allergic to ampicillin."),
        ("周二十点开会。哦不,周三", "周三十点开会。"),
        ("我姐在青岛工作。说错了,在烟台。", "我姐在烟台工作。"),
    ],
)
def test_the_last_value_stands_in_the_place_of_the_first(said: str, settled: str) -> None:
    assert with_settled_values(said) == settled


def test_a_correction_without_a_clear_place_stays_with_its_sentence() -> None:
    assert with_settled_values("我对青霉素过敏。不,是头孢。") == "我对青霉素过敏,不,是头孢。"


@pytest.mark.parametrize(
    "said",
    [
        "The meeting is on Monday. Sorry, I can't come.",
        "I like tea. No, thanks.",
        "Is it on Monday? No, Tuesday.",
        "Call me at 5. No problem.",
        "- one\n- two\n\n周二开会。不用了,谢谢。",
        "no, " * 3000,
    ],
)
def test_everything_else_stays_as_it_was_said(said: str) -> None:
    assert with_settled_values(said) == said


def test_only_turns_of_the_user_are_settled() -> None:
    text = "The meeting is Tuesday at 10. Sorry, Wednesday."
    turns = [Message(session="s", id="m1", role=role, content=text) for role in ("user", "assistant")]
    assert [settle_self_corrections(turn).content == text for turn in turns] == [False, True]
