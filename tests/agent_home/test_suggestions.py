"""Test which names are suggested for a mistyped one."""

from __future__ import annotations

from agent_home.suggestions import near_names


def test_names_that_begin_with_the_word_are_suggested_first() -> None:
    assert near_names("q-7c2", ["q-7c2ab91f00", "q-7d00000000"]) == ("q-7c2ab91f00",)


def test_a_similar_spelling_is_suggested_in_its_own_letter_case() -> None:
    assert near_names("DESGIN", ["design", "Memory"]) == ("design",)


def test_unlike_names_are_not_suggested() -> None:
    assert near_names("zzz", ["design", "memory"]) == ()
    assert near_names("", ["design"]) == ()
