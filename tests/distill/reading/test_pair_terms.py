"""Terms of statements."""

from __future__ import annotations

from distill.reading.pair_terms import is_related, statement_terms, term_of


def test_words_of_grammar_and_marks_are_no_terms() -> None:
    assert [term_of(token) for token in ("the", "!", "的", "decks", "42")] == [None, None, None, "deck", "42"]


def test_names_and_numbers_weigh_more_than_words() -> None:
    assert statement_terms("Send Ana 42 decks") == {"send": 1.0, "ana": 1.3, "42": 1.3, "deck": 1.0}
    assert statement_terms("交房租")["房租"] == 0.7


def test_texts_are_related_by_a_common_term() -> None:
    assert is_related("Send the deck to Ana", "the deck is out")
    assert not is_related("Send the deck to Ana", "the cat is out")
