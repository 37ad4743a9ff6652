"""Irregular forms find each other."""

from __future__ import annotations

import pytest

from recall.text.irregular_forms import forms_of
from recall.text.terms import parse_query


@pytest.mark.parametrize(("word", "form"), [("go", "went"), ("Went", "go"), ("children", "child"), ("bought", "buy")])
def test_irregular_forms_are_looked_for_beside_the_word(word: str, form: str) -> None:
    assert form in forms_of(word)
    assert f'"{form}"' in parse_query(f"where {word}").match.split(" OR ")


def test_a_word_is_no_form_of_itself_and_most_words_have_none() -> None:
    assert "go" not in forms_of("go")
    assert forms_of("painting") == forms_of("") == ()


def test_forms_count_as_one_term() -> None:
    asked = parse_query("when did she go to Rome")
    assert asked.terms == ('"go"', '"Rome"')
    assert asked.spellings == (('"go"', '"went"', '"gone"', '"goes"'), ('"Rome"',))


def test_a_phrase_and_a_prefix_have_no_forms() -> None:
    assert parse_query('"go home" 税').spellings[0] == ('"go home"',)
