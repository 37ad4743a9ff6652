"""Topics are whole words of any script, and Chinese phrases."""

from __future__ import annotations

import unicodedata

import pytest

from distill.statements.topics import content_terms, find_topics


@pytest.mark.parametrize("name", ["Müller", "Zürich", "Kovář", "Łódź", "Москва", "Αθήνα", "서울시청"])
def test_a_word_with_letters_of_any_script_is_one_term(name: str) -> None:
    for form in ("NFC", "NFD"):
        assert name in content_terms(unicodedata.normalize(form, f"We meet {name} on Monday."))


def test_words_beside_chinese_characters_end_there() -> None:
    terms = content_terms("和Müller讨论预算冻结")
    assert "Müller" in terms
    assert "预算冻结" in terms


def test_topics_are_whole_names_and_do_not_exclude_each_other() -> None:
    messages = ["Müller lives in Zürich.", "Is Müller in Zürich today?", "Zürich is where Müller works."]
    assert set(find_topics(messages, 4)) >= {"Müller", "Zürich"}
    # two names with two letters in common are two topics
    assert set(find_topics(["Žofie a Sofie", "Žofie a Sofie"], 4)) == {"Žofie", "Sofie"}
