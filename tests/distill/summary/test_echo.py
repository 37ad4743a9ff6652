"""The assistant repeats the user, or says something of its own."""

from __future__ import annotations

import pytest

from agent_home.store.transcript import Message
from distill.summary.echo import repeats


def said(text: str) -> Message:
    return Message(session="s", id="m1", ts="2026-11-20T14:00:00", role="user", content=text)


@pytest.mark.parametrize(
    ("user", "assistant"),
    [
        ("In the end we go with RabbitMQ for the queue.", "RabbitMQ for the queue."),
        ("Hi! Let's move the launch to Thursday.", "the launch moves to Thursday."),
        ("We changed the supplier, not Ara any more but Tex.", "the supplier is Tex instead of Ara."),
        ("我们把发布改到周四吧", "发布改到周四。"),
    ],
)
def test_a_line_without_another_word_repeats_the_turn(user: str, assistant: str) -> None:
    assert repeats(assistant, said(user))


@pytest.mark.parametrize(
    ("user", "assistant"),
    [
        ("Should we move the launch to Thursday?", "the launch moves to Thursday."),
        ("Let's not use Kafka.", "use Kafka."),
        ("Maybe Kafka for the queue.", "use Kafka for the queue."),
        ("The limit is 800.", "the limit is 5000."),
        ("We changed the supplier, not Tex any more but Ara.", "the supplier is Tex instead of Ara."),
        ("x " * 2000, "x"),
    ],
)
def test_another_word_sense_or_direction_is_the_assistants(user: str, assistant: str) -> None:
    assert not repeats(assistant, said(user))
