"""Tests of sentences of the agent that restate what others said."""

from __future__ import annotations

import pytest

from agent_home.store.fingerprints import encode_fingerprints, fingerprint
from agent_home.store.transcript import Message
from distill.statements.restatement import WordsOfOthers, words_of_others

SALT = "0123456789abcdef"
PAGE = "Shipping to Norway takes nine working days since the Bergen depot closed. Parcels over 20 kg go by sea."


def session(*rows: tuple[str, str], heard: str = "") -> WordsOfOthers:
    messages = [Message(session="s", id=f"m{n}", role=role, content=content) for n, (role, content) in enumerate(rows)]
    messages.append(Message(session="s", id="now", role="assistant", content="said", heard=heard))
    return words_of_others(messages, SALT)


@pytest.mark.parametrize(
    "said",
    [
        "Shipping to Norway takes nine working days since the Bergen depot closed.",
        "The page says that shipping to Norway takes nine working days since the Bergen depot closed.",
        "Shipping to Norway currently takes nine working days since the Bergen depot closed.",
        "Since the Bergen depot closed, shipping to Norway takes nine working days.",
        "Shipping to Norway took nine working days after the Bergen depot had closed.",
        "Norway: nine working days of shipping, as the Bergen depot closed.",
    ],
)
def test_a_restated_sentence_is_its_sources(said: str) -> None:
    """Before, one other word made a tool's sentence the agent's."""
    assert session(("user", "How long is shipping?"), ("tool", PAGE)).origin_of(said, "s#now") == "tool"
    stored = encode_fingerprints([fingerprint(PAGE, SALT)])
    assert session(("user", "How long is shipping?"), heard=stored).origin_of(said, "s#now") == "tool"


@pytest.mark.parametrize(
    "said",
    [
        "I added a test for the empty basket and renamed the helper.",
        "Your order of three lamps can leave on Monday if you confirm the colour.",
        "The form rejects postcodes with a blank, so I trim them first.",
    ],
)
def test_the_agents_own_sentences_stay_its_own(said: str) -> None:
    rows = (("user", "I ordered three lamps. Can they leave on Monday?"), ("tool", PAGE))
    assert session(*rows).origin_of(said, "s#now") == ""


def test_what_the_owner_said_as_well_is_not_the_tools() -> None:
    said = "Shipping to Norway takes nine working days since the Bergen depot closed."
    assert session(("user", said), ("tool", PAGE)).origin_of(said, "s#now") == ""


def test_what_a_tool_says_later_is_not_its_source() -> None:
    heard = session(("assistant", "Shipping takes nine working days."), ("tool", PAGE))
    assert heard.origin_of("Shipping to Norway takes nine working days.", "s#m0") == ""


def test_words_of_a_participant_are_theirs() -> None:
    assert (
        session(("participant", PAGE)).origin_of("Shipping to Norway takes nine working days.", "s#now")
        == "participant"
    )


def test_what_the_owner_pastes_is_not_the_owners() -> None:
    pasted = "Look at this:\n> " + PAGE.replace(". ", ".\n> ")
    assert session(("user", pasted)).origin_of("Shipping to Norway takes nine working days.", "s#now") == "tool"
