"""Kinds of sentences without a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distill.summary.extraction import summarise

if TYPE_CHECKING:
    from ..conftest import Talk


def test_fact_of_the_user_is_lasting_and_the_same_words_of_the_assistant_are_not(talk: Talk) -> None:
    (item,) = summarise(talk(("user", "My son has a severe peanut allergy."))).items
    assert (item.kind, item.lasting) == ("fact", True)
    assert summarise(talk(("assistant", "My son has a severe peanut allergy."))).items == ()
