"""Word tables are readable data: no word twice, none that can never match."""

from __future__ import annotations

from importlib.resources import files
from typing import get_args

import pytest

from recall.text.word_tables import Purpose, phrase_pattern, stop_words, table_lines, word_table

TABLES = sorted(
    path.name.removesuffix(".txt") for path in files("recall.text").joinpath("data").iterdir() if path.is_file()
)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_says_what_it_is_for_and_names_each_word_once(name: str) -> None:
    text = files("recall.text").joinpath("data", f"{name}.txt").read_text(encoding="utf-8")
    assert text.startswith("# ")
    words = [word for line in table_lines(name) for word in line.split()]
    assert len(words) == len(set(words))
    assert [word for word in words if word != word.casefold()] == []


@pytest.mark.parametrize("purpose", get_args(Purpose))
def test_every_list_of_stop_words_contains_the_function_words(purpose: Purpose) -> None:
    assert word_table("function_words") < stop_words(purpose)


def test_statements_keep_the_words_that_turn_them_round() -> None:
    assert not stop_words("statement") & word_table("negations")
    assert not stop_words("statement") & {"before", "after", "until"}


def test_the_longest_phrase_is_matched() -> None:
    match = phrase_pattern("query_stop_phrases").match("为什么不")
    assert match is not None
    assert match[0] == "为什么"
