"""Kinds of sentences without a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from distill.summary.extraction import summarise
from distill.summary.sentence_kinds import accepts

if TYPE_CHECKING:
    from ..conftest import Talk

PROPOSAL = "Then it's settled: releases are cut on the first Monday of the month."


@pytest.mark.parametrize("text", ["ok", "Yes, go ahead", "好的", "就这样", "可以,谢谢", "sounds good!"])
def test_short_consent_accepts(text: str) -> None:
    assert accepts(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok, but not on Monday",
        "ok?",
        "好久不见",
        "不行",
        "No.",
        "right after the party we all went home again and then so on and on",
    ],
)
def test_other_answers_do_not_accept(text: str) -> None:
    assert not accepts(text)


def test_proposal_of_the_assistant_counts_once_the_user_accepts_it(talk: Talk) -> None:
    rows = (("user", "When do we cut releases?"), ("assistant", PROPOSAL))
    assert summarise(talk(*rows)).items == ()
    (item,) = summarise(talk(*rows, ("user", "ok, go ahead"))).items
    assert (item.kind, item.text, item.sources) == ("decision", PROPOSAL, ("fc-1#m2", "fc-1#m3"))


def test_acceptance_in_a_later_part_cites_the_proposal_of_the_earlier_one(talk: Talk) -> None:
    turns = talk(("user", "When do we cut releases?"), ("assistant", PROPOSAL), ("user", "ok, go ahead"))
    assert summarise(turns[2:], turns[:2]).items == summarise(turns).items


def test_short_consent_does_not_accept_a_long_turn(talk: Talk) -> None:
    long = f"{PROPOSAL} You could also think about a newsletter. It helps. Many teams have one. Tell me more."
    assert summarise(talk(("assistant", long), ("user", "ok"))).items == ()


def test_fact_of_the_user_is_lasting_and_the_same_words_of_the_assistant_are_not(talk: Talk) -> None:
    (item,) = summarise(talk(("user", "My son has a severe peanut allergy."))).items
    assert (item.kind, item.lasting) == ("fact", True)
    assert summarise(talk(("assistant", "My son has a severe peanut allergy."))).items == ()
