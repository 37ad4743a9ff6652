"""Words and persons that the turns do not say."""

from __future__ import annotations

from distill.grounding.extract import objections
from distill.grounding.said_turn import SaidTurn


def said(content: str) -> list[SaidTurn]:
    return [SaidTurn(role="user", name="Mara", ts="2026-11-20T09:00:00", content=content)]


def test_a_word_a_value_and_a_qualifier_are_named() -> None:
    assert objections("Mara bought a cheap kiln.", said("i bought a kiln")) == ("word 'cheap'",)
    assert "value '3'" in objections("Mara bought 3 kilns.", said("i bought kilns"))
    assert objections("Mara maybe bought a kiln.", said("i bought a kiln")) == ("qualifier 'maybe'",)


def test_a_name_may_be_the_subject_of_a_clause_without_one() -> None:
    assert objections("Mara sold the kiln.", said("sold the kiln")) == ()


def test_a_name_does_not_take_the_place_of_another_subject() -> None:
    assert objections("Mara does week two.", said("my husband does week two"))


def test_the_name_of_a_topic_may_follow_about() -> None:
    turns = [*said("my neighbour plays the drums again"), *said("told my landlord yesterday")]
    assert objections("Mara told her landlord about the drums.", turns) == ()
    assert objections("Mara told her landlord about 20 times.", said("told my landlord 20 times"))


def test_two_names_may_answer_who() -> None:
    asked = SaidTurn(role="user", name="Bo", ts="2026-11-20T09:00:00", content="who's on truck duty?")
    assert objections("Mara and Tom are on truck duty.", [asked, *said("me and Tom"), SaidTurn(
        role="user", name="Tom", ts="2026-11-20T09:01:00", content="ok")]) == ()  # fmt: skip


def test_words_around_a_pronoun_that_is_left_out_are_no_noun() -> None:
    turn = SaidTurn(role="user", name="陈晨", ts="2026-11-18T09:00:00", content="小林让我帮她搬家,周日上午,我答应了")
    assert objections("小林答应周日上午帮陈晨搬家。", [turn])


def test_a_question_is_about_the_one_who_answers() -> None:
    asked = SaidTurn(role="assistant", name="Bot", ts="2026-11-20T09:00:00", content="How's the shoulder?")
    assert objections("Mara's shoulder is stiff.", [asked, *said("stiff, but it doesn't hurt")]) == ()
    assert objections("Bot's shoulder is stiff.", [asked, *said("stiff, but it doesn't hurt")])


def test_a_name_before_a_colon_says_what_follows() -> None:
    asked = SaidTurn(role="assistant", name="Bot", ts="2026-11-20T09:00:00", content="Shall I rename it?")
    assert objections("Mara: leave the image for now.", [asked, *said("yes, but leave the image for now")]) == ()
    assert objections("Bot: leave the image for now.", [asked, *said("yes, but leave the image for now")])


def test_a_verb_of_somebody_else_is_not_the_speakers() -> None:
    assert objections("Mara starts on Monday.", said("my sister got it. starts on monday"))
    assert objections("Mara starts on Monday.", said("got the job. start on monday")) == ()
