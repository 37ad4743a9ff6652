"""Consent of the user to what the assistant proposed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from distill.summary.acceptance import accepts, proposed_words
from distill.summary.extraction import summarise

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


@pytest.mark.parametrize("text", ["Yes, let's do that. Can you also write to Jo?", "好,就这么定了。你再发个邮件?"])
def test_clear_consent_accepts_with_more_behind_it(text: str) -> None:
    assert accepts(text)


@pytest.mark.parametrize("text", ["Great. What about the mail?", "Yes. But not on Monday.", "Okay, and the weather?"])
def test_polite_words_before_another_matter_accept_nothing(text: str) -> None:
    assert not accepts(text)


def test_clear_consent_takes_on_the_one_proposal_of_a_long_turn(talk: Talk) -> None:
    long = "Both have merits. The first is cheap. The second is safe. I suggest we keep the backups for 90 days."
    (item,) = summarise(talk(("assistant", long), ("user", "Yes, let's do that. Anything else?"))).items
    assert (item.kind, item.text, item.accepted) == ("decision", "keep the backups for 90 days.", True)
    assert summarise(talk(("assistant", long), ("user", "thanks, interesting"))).items == ()


def test_question_of_the_assistant_becomes_the_decision_that_the_user_takes(talk: Talk) -> None:
    (item,) = summarise(talk(("assistant", "Shall we keep the backups for 90 days?"), ("user", "Agreed."))).items
    assert (item.kind, item.text) == ("decision", "keep the backups for 90 days")


def test_advice_without_a_proposal_yields_no_words() -> None:
    assert proposed_words("Regular backups are important.") == ""
    assert proposed_words("Should I send it?") == ""


@pytest.mark.parametrize(
    ("proposal", "reply"),
    [
        ("Shall I use British spelling in every letter from now on?", "yes please"),
        ("Should we use the green carpet?", "Go ahead"),
        ("要不把聚会改到八月?", "行,就这么办"),
        ("I suggest we move the workshop to 3 March. Okay?", "Sure, do that."),
    ],
)
def test_the_last_proposal_is_accepted_in_any_wording(talk: Talk, proposal: str, reply: str) -> None:
    (item,) = summarise(talk(("assistant", proposal), ("user", reply))).items
    assert (item.kind, item.consented, item.sources) == ("decision", True, ("fc-1#m1", "fc-1#m2"))


@pytest.mark.parametrize(
    ("proposal", "reply"),
    [
        ("Shall I explain how it works?", "yes please"),
        ("要我再讲一遍吗?", "好的"),
        ("Shall I book the room with the sea view?", "Not yet."),
        ("Shall I book the room with the sea view?", "yes, if it is free"),
        ("要不把聚会改到八月?", "再说吧"),
    ],
)
def test_offers_of_help_refusals_and_conditions_settle_nothing(talk: Talk, proposal: str, reply: str) -> None:
    assert summarise(talk(("assistant", proposal), ("user", reply))).items == ()


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Shall I drop the staging database?", "Yes, do it."),
        ("Shall I delete the old backups?", "Sure, go ahead."),
        ("Should I scale the cluster down to one node?", "go ahead"),
        ("Shall I wire 400 euros to Ben?", "Yes please."),
        ("Do you want me to shred the contracts?", "yes please"),
        ("Shall I book the room with the sea view?", "yes please"),
        ("I'll wipe the disk then.", "ok, go ahead"),
        ("Soll ich die Staging-Datenbank löschen?", "ok"),
        ("要不要我强制推送主分支?", "好的"),
        ("要我把钱退给他吗?", "可以"),
    ],
)
def test_leave_for_one_act_is_used_up_and_settles_nothing(talk: Talk, question: str, reply: str) -> None:
    assert summarise(talk(("assistant", question), ("user", reply))).items == ()


@pytest.mark.parametrize("text", ["continue", "please continue", "Continue writing please", "继续"])
def test_a_wish_to_read_on_accepts_nothing(text: str) -> None:
    assert not accepts(text)


def test_a_choice_by_place_names_the_option(talk: Talk) -> None:
    asked = "There are two ways to clean: 1. hire a cleaner, 2. share the chores. Which one shall we take from now on?"
    (item,) = summarise(talk(("assistant", asked), ("user", "the second one"))).items
    assert (item.kind, item.text) == ("decision", "share the chores")


def test_a_sentence_of_a_drafted_mail_is_no_proposal(talk: Talk) -> None:
    draft = '"Let\'s move the workshop to 3 March."'
    assert summarise(talk(("assistant", draft), ("user", "sounds good"))).items == ()
