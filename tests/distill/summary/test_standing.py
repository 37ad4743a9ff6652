"""The chance that a reader of memory keeps an entry."""

from __future__ import annotations

import time
from math import isfinite

import pytest

from distill.reading.labels import ItemKind
from distill.summary.standing import LEAST_CHANCE, kind_of_entry, standing_chance, standing_signs


@pytest.mark.parametrize(
    ("told", "content", "previous"),
    [
        ('Ida (asked: "Was it?"): that was it, he said so', "that was it, he said so", "Was it?"),
        ("阿岚（问“它吃了吗?”）：吃了两口", "吃了两口", "它吃了吗?"),
    ],
)
def test_a_bare_answer_does_not_stand(told: str, content: str, previous: str) -> None:
    assert kind_of_entry(told, "correction", content, previous) is None
    assert standing_chance("alone", told, "correction", content, previous) < 0.6


@pytest.mark.parametrize(
    ("told", "content"),
    [
        ("Ida: I've had asthma since class 4 and carry a blue inhaler.", "I've had asthma since class 4 and carry it."),
        ("阿岚：我妈有糖尿病,吃二甲双胍,每年三月去华西复查", "我妈有糖尿病,吃二甲双胍,每年三月去华西复查"),
    ],
)
def test_a_fact_with_its_nouns_stands(told: str, content: str) -> None:
    assert standing_chance("kept", told, "fact", content, "") > LEAST_CHANCE + 0.1
    assert standing_chance("alone", told, "fact", content, "") >= 0.6


@pytest.mark.parametrize(
    ("said", "kind", "entered"),
    [
        ("I've got a van with a bed in it and two folding bikes from my uncle Odd.", "preference", "fact"),
        ("Always answer me in short paragraphs, please, never in lists.", "preference", "preference"),
    ],
)
def test_what_stands_in_the_wrong_section_is_a_fact(said: str, kind: ItemKind, entered: ItemKind) -> None:
    assert kind_of_entry(f"Ida: {said}", kind, said, "") == entered


def test_every_sign_is_a_number_and_the_kind_is_one() -> None:
    signs = standing_signs('Ida (asked: "Which?"): the blue one', "next_step", "the blue one", "Which?")
    assert all(isfinite(value) for value in signs.values())
    assert signs["bias"] == signs["kind thread"] == signs["asked"] == signs["after a question"] == 1.0


@pytest.mark.parametrize(("piece", "count"), [("", 1), ("他", 20_000), ("it, ", 20_000), ("“", 20_000), ("a", 20_000)])
def test_any_text_has_a_chance_in_linear_time(piece: str, count: int) -> None:
    text, start = piece * count, time.process_time()
    assert 0 <= standing_chance("kept", text, "fact", text, text) <= 1
    assert time.process_time() - start < 1.0
