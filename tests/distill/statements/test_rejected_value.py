"""A newer statement that names the value of an older decision as one that is not taken."""

from __future__ import annotations

import time

import pytest

from distill.statements.rejected_value import rejects_value_of


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "Let's go with Kafka for the event bus, RabbitMQ can't replay.",
            "We decided against Kafka: we use NATS JetStream instead, ops already runs it.",
        ),
        ("We host the wiki on Hetzner.", "For cost reasons it will be OVH instead of Hetzner."),
        ("We take Terraform for the cluster.", "We voted against Terraform, Pulumi it is."),
        ("Wir nehmen Kafka für die Ereignisse.", "Wir haben uns gegen Kafka entschieden."),
        ("On utilise Kafka pour les événements.", "Finalement on part sur NATS au lieu de Kafka."),
        ("消息队列就用 Kafka。", "我们放弃 Kafka 了,用 NATS。"),
    ],
)
def test_a_sentence_against_the_value_of_a_decision_rejects_it(older: str, newer: str) -> None:
    assert rejects_value_of(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Let's go with Kafka for the event bus, RabbitMQ can't replay.", "We decided against RabbitMQ."),
        ("We use NATS instead of Kafka.", "We decided against Kafka."),
        ("We use Postgres for the orders.", "We decided against Kafka."),
        ("We use Kafka for the event bus.", "Kafka runs on three nodes."),
        ("The review is on Monday.", "The retro is on Friday instead of Monday."),
        ("We do not use Kafka.", "We decided against Kafka."),
    ],
)
def test_other_sentences_reject_nothing_of_it(older: str, newer: str) -> None:
    assert not rejects_value_of(older, newer)


@pytest.mark.parametrize("piece", ["against ", "not use ", "gegen ", "instead of "])
def test_time_is_linear(piece: str) -> None:
    started = time.process_time()
    rejects_value_of("We use Kafka.", (piece * 200)[:600])
    assert time.process_time() - started < 0.5
