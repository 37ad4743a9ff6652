"""Questions, answers and advice."""

from __future__ import annotations

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn


def said(content: str, role: str = "user") -> SaidTurn:
    return SaidTurn(role=role, name="Mara" if role == "user" else "Bot", ts="2026-11-20T09:00:00", content=content)


def test_a_question_is_no_statement() -> None:
    assert objections("The pool opens at 8.", [said("does the pool open at 8?")])


def test_a_refusal_is_no_assent() -> None:
    turns = [said("Is the kiln broken?", "assistant"), said("no, just dirty")]
    assert objections("The kiln is broken.", turns)


def test_advice_is_no_fact() -> None:
    turns = [said("my kiln is old"), said("You should replace the kiln.", "assistant")]
    assert objections("Mara should replace the kiln.", turns)


def test_the_answer_that_repeats_a_choice_is_an_assent() -> None:
    turns = [said("Should I book the early or the late train?", "assistant"), said("the late one")]
    assert objections("Book the late train.", turns) == ()
    assert objections("Book the early train.", turns)
