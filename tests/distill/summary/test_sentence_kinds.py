"""Kinds of sentences without a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from distill.reading.classifier import Act, SentenceReader, SentenceReading
from distill.summary.extraction import summarise
from distill.summary.sentence_kinds import stated_kind

if TYPE_CHECKING:
    from ..conftest import Talk


def test_fact_of_the_user_is_lasting_and_the_same_words_of_the_assistant_are_not(talk: Talk) -> None:
    (item,) = summarise(talk(("user", "My son has a severe peanut allergy."))).items
    assert (item.kind, item.lasting) == ("fact", True)
    assert summarise(talk(("assistant", "My son has a severe peanut allergy."))).items == ()


class TakesAllForCorrections(SentenceReader):
    """Reads every sentence behind a turn as a correction, and every other one as a fact."""

    def read(self, text: str, previous: str, role: str) -> SentenceReading:
        act: Act = "correction" if previous else "fact"
        return SentenceReading(act=act, likeliest=act, keep=0.99, enters=True)


def test_a_correction_is_about_something_that_the_turn_before_it_says() -> None:
    reader = TakesAllForCorrections()
    previous = "The river gauge reads 40 centimetres."
    assert stated_kind("The gauge reads 60 centimetres.", previous, reader) == "correction"
    assert stated_kind("No, not 40: the gauge is broken.", previous, reader) == "correction"
    assert stated_kind("My sister takes two tablets every morning.", previous, reader) == "fact"


def test_a_wish_for_the_moment_is_no_preference() -> None:
    class TakesAllForPreferences(SentenceReader):
        def read(self, text: str, previous: str, role: str) -> SentenceReading:
            return SentenceReading(act="preference", likeliest="preference", keep=0.99, enters=True)

    reader = TakesAllForPreferences()
    assert stated_kind("Keep your answers short.", "", reader) == "preference"
    assert stated_kind("For today only, keep your answers very long.", "", reader) is None
    assert stated_kind("今天先用英文回我。", "", reader) is None


def test_a_correction_that_denies_nothing_needs_a_turn_before_it() -> None:
    class TakesAll(SentenceReader):
        def read(self, text: str, previous: str, role: str) -> SentenceReading:
            return SentenceReading(act="correction", likeliest="correction", keep=0.99, enters=True)

    assert stated_kind("This is the input: 4, 8, 15.", "", TakesAll()) is None
    assert stated_kind("My daughter is seven, I wrote six by mistake.", "", TakesAll()) == "correction"


@pytest.mark.parametrize(
    "sentence",
    ["Please always answer in Chinese.", "Always answer in German.", "From now on, call me Sam.", "请总是用中文回答。"],
)
@pytest.mark.parametrize("previous", ["", "OK."])
def test_a_short_order_for_always_is_a_preference(sentence: str, previous: str) -> None:
    assert stated_kind(sentence, previous, SentenceReader()) == "preference"


@pytest.mark.parametrize(
    "sentence", ["Always the same story.", "Never mind the noise.", "Never heard of it.", "总是这样。"]
)
def test_a_word_of_always_alone_is_no_order(sentence: str) -> None:
    assert stated_kind(sentence, "", SentenceReader()) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "I'm allergic to nuts.",
        "My daughter Ema has a gluten allergy.",
        "My boss is Honza Dvořák.",
        "我对花生过敏。",
        "我是左撇子。",
    ],
)
@pytest.mark.parametrize("previous", ["", "OK.", "Hello! How can I help you today?"])
def test_a_plain_fact_enters_whatever_was_said_before(sentence: str, previous: str) -> None:
    assert stated_kind(sentence, previous, SentenceReader()) == "fact"


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Rust for the parser, and the rest can remain Python.", "decision"),
        ("I'm the treasurer of the rowing club.", "fact"),
        ("变量名用驼峰。", "preference"),
    ],
)
def test_what_judges_would_keep_enters_just_below_the_threshold(sentence: str, kind: str) -> None:
    assert not SentenceReader().read(sentence, "", "user").enters
    assert stated_kind(sentence, "", SentenceReader()) == kind


@pytest.mark.parametrize(
    "sentence",
    [
        "No, that's it for today.",
        "No, that's all for now, thanks.",
        "Nope, that's all I needed.",
        "No, it's fine as it is.",
        "Nein, das war's.",
        "Non merci, c'est tout.",
        "不用了,今天就到这吧。",
    ],
)
def test_a_farewell_or_a_refused_offer_is_no_correction(sentence: str) -> None:
    assert stated_kind(sentence, "Is there anything else that I can do for you?", SentenceReader()) is None


@pytest.mark.parametrize(
    "sentence",
    ["No, that's the old password.", "No, it's on port 5000.", "No, the last one is mine.", "不对,那是去年的价格。"],
)
def test_a_denial_with_another_value_is_a_correction_still(sentence: str) -> None:
    assert stated_kind(sentence, "So I use the password, the port and the price of 2025.", SentenceReader()) == (
        "correction"
    )
