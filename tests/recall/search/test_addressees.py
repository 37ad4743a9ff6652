"""A person who is addressed by another name is found by that name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recall.index.sync import SyncReport

Say = Callable[..., Path]
Sources = Callable[..., list[str]]


@pytest.fixture
def talk(say: Say, update: Callable[[], SyncReport]) -> None:
    """Elise calls Emi Kate, and often talks of Rome."""
    for number in range(5):
        say(
            f"s{number}",
            "Hey Kate, did you see the news about Rome in the paper?",
            "I bought a new cream in the shop around the corner",
            "That cream sounds lovely, Kate",
            "Nobody else in town sells it",
            names=("Elise", "Emi"),
        )
    update()


@pytest.mark.usefixtures("talk")
class TestAddressees:
    def test_a_question_about_her_finds_her_turns(self, sources: Sources) -> None:
        found = sources("Which cream does Kate use?", mode="lexical", k=5)
        assert {source.partition("#")[2] for source in found} == {"m2"}

    def test_a_word_in_small_letters_is_no_name(self, sources: Sources) -> None:
        assert sources("which cream does kate use?", mode="lexical", k=1)[0].endswith("#m3")

    def test_a_topic_of_one_person_is_no_name(self, sources: Sources) -> None:
        assert sources("What about Rome?", mode="lexical", k=1)[0].endswith("#m1")
