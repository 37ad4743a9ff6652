"""Facts about the user's person do not age out, and facts about work do."""

from __future__ import annotations

import time

import numpy as np
import pytest

from agent_home.documents.entry import Entry
from bench.training.lasting import labelled_statements, train
from distill.entries.lasting import is_lasting, lasting_chance, lasting_signs


def fact(text: str, **fields: str) -> Entry:
    return Entry(id="RC-0001", date="2026-01-01", title=text, fields={"Origin": "user", **fields})


@pytest.mark.parametrize(
    "text",
    [
        "User: I am Pavel, I work since three years as backend engineer by a small bank in Brno.",
        "I'm Žofie.",
        "I am an electrician.",
        "I work in shifts.",
        "My daughter Ema has a gluten allergy.",
        "我叫林夕。",
        "Maya: I'm off on Wednesdays.",
        "I take a ferry to work every day.",
        "Ibuprofen gives me a rash.",
        "我每天坐轮渡上班。",
        "我左膝盖有旧伤。",
    ],
)
def test_what_the_user_tells_about_themselves_lasts(text: str) -> None:
    assert is_lasting(fact(text))


@pytest.mark.parametrize(
    "text",
    [
        "I work on the importer.",
        "I am sure that it is faster.",
        "The VPN changes in December.",
        "The parcel came today and it is the wrong size.",
        "水龙头修好了。",
    ],
)
def test_other_facts_do_not_last(text: str) -> None:
    assert not is_lasting(fact(text))


def test_a_fact_of_the_agent_or_with_an_end_does_not_last() -> None:
    assert not is_lasting(fact("I am Pavel.", Origin="agent"))
    assert not is_lasting(fact("I am Pavel.", Until="2026-02-01"))


def test_half_of_the_statements_teach_the_other_half() -> None:
    rows = labelled_statements()
    weights = train(rows[::2])
    right = [(sum(weights.get(sign, 0.0) for sign in lasting_signs(row.text)) > 0) == row.lasting for row in rows[1::2]]
    assert np.mean(right) > 0.75


@pytest.mark.parametrize("piece", ["a", "my sister ", "我住", "I'm ", "("])
def test_any_text_has_a_chance_in_linear_time(piece: str) -> None:
    start = time.process_time()
    assert 0 <= lasting_chance(piece * 20_000) <= 1
    assert time.process_time() - start < 1.0
