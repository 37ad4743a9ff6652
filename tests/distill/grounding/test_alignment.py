"""Each word of an entry finds the word of the turns that it repeats."""

from __future__ import annotations

from distill.grounding.alignment import Alignment, Said, align
from distill.grounding.tokens import tokenise

NAMES = {"mara": "mara"}


def aligned(entry: str, said: str) -> Alignment:
    turns = Said(tokens=tokenise(said, None, NAMES), names=["mara"], roles=["user"])
    return align(tokenise(entry, None, NAMES, expand=False), turns)


def pairs(entry: str, said: str) -> dict[str, str]:
    found = aligned(entry, said)
    return {found.entry[at].key: found.said.tokens[place].key for at, place in found.places.items()}


def test_a_name_takes_the_place_of_the_speakers_pronoun() -> None:
    assert pairs("Mara bought a kiln", "i bought a kiln")["mara"] == "i"


def test_a_typo_and_a_short_form_are_mended() -> None:
    found = pairs("the receipt is for the holiday, keep it", "the reciept is for the hols, keep it")
    assert (found["receipt"], found["holiday"]) == ("reciept", "hols")


def test_a_word_that_nobody_said_is_missing() -> None:
    found = aligned("Mara bought a wheel", "i bought a kiln")
    assert [found.entry[at].key for at in found.missing] == ["wheel"]


def test_a_name_before_words_without_a_subject_is_not_taken_from_another_clause() -> None:
    found = aligned("Mara sold the kiln", "remind me what is left. sold the kiln")
    assert [found.entry[at].key for at in found.missing] == ["mara"]
