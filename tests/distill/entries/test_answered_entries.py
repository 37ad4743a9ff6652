"""A person is asked about entries that an answer to the assistant may end."""

from __future__ import annotations

import pytest

from agent_home.documents.entry import Entry
from agent_home.store.transcript import Message
from distill.entries.answered_entries import ask_about_answered

WHISKY = Entry(id="RC-0001", date="2026-11-01", title="User: I really like a peaty whisky of an evening.")
NURSE = Entry(id="RC-0002", date="2026-11-01", title="User: I work as a nurse at St Mary's, mostly nights.")
KAFKA = Entry(id="KD-0003", date="2026-11-01", title="We've decided: Kafka for the order events.")


def asked(told: str, answer: str, *, named: tuple[str, ...] = ()) -> dict[str, str]:
    rows = (("user", "Help me with Dan's party."), ("assistant", told), ("user", answer))
    turns = [
        Message(session="s", id=f"m{place}", ts="2026-11-20T10:00:00Z", role=role, name="", content=text)
        for place, (role, text) in enumerate(rows)
    ]
    found = ask_about_answered([WHISKY, NURSE, KAFKA], turns, named)
    assert all(operation.unsure and operation.kind == "supersede" for operation in found)
    return {operation.target: operation.text for operation in found}


@pytest.mark.parametrize(
    ("told", "answer", "entry"),
    [
        ("Perhaps a bottle of whisky to share?", "I don't drink any more, not since the spring.", "RC-0001"),
        ("Shall I mention that you are a nurse at St Mary's?", "I quit nursing in August.", "RC-0002"),
        ("That is tight for Kafka. RabbitMQ would run on one.", "Undo that, RabbitMQ it is.", "KD-0003"),
    ],
)
def test_an_answer_that_may_end_an_entry_is_a_question(told: str, answer: str, entry: str) -> None:
    assert asked(told, answer) == {entry: answer}


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ("Perhaps a bottle of whisky to share?", "Dan doesn't drink any more, not since the spring."),
        ("Perhaps a bottle of whisky to share?", "Yes, good idea."),
        ("Perhaps a cake?", "I don't drink any more, not since the spring."),
        ("Shall I mention that you are a nurse at St Mary's?", "Should I quit nursing?"),
        ("Shall I mention that you are a nurse at St Mary's?", "no, the 14th"),
    ],
)
def test_an_answer_about_somebody_or_something_else_is_none(told: str, answer: str) -> None:
    assert asked(told, answer) == {}


def test_an_entry_with_another_ending_is_not_asked_about_again() -> None:
    said = ("Perhaps a bottle of whisky to share?", "I don't drink any more, not since the spring.")
    assert asked(*said, named=("RC-0001",)) == {}
