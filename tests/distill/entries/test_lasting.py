"""Facts about the user's person do not age out, and facts about work do."""

from __future__ import annotations

import pytest

from agent_home.documents.entry import Entry
from distill.entries.lasting import is_lasting


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
    ],
)
def test_what_the_user_tells_about_themselves_lasts(text: str) -> None:
    assert is_lasting(fact(text))


@pytest.mark.parametrize(
    "text", ["I work on the importer.", "I am sure that it is faster.", "The VPN changes in December."]
)
def test_other_facts_do_not_last(text: str) -> None:
    assert not is_lasting(fact(text))


def test_a_fact_of_the_agent_or_with_an_end_does_not_last() -> None:
    assert not is_lasting(fact("I am Pavel.", Origin="agent"))
    assert not is_lasting(fact("I am Pavel.", Until="2026-02-01"))
