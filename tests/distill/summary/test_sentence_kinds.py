"""Kinds of sentences without a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
