"""Words are stemmed alike inside and outside the index."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.text.stems import stem
from recall.text.term_hashes import Fts5Stemmer
from recall.text.word_tables import stop_words, word_table

#: Words that FTS5 stems by a later revision of the algorithm, and that a query finds in the index all the same.
DIFFERENT = {"technology", "apology", "possibly", "trekking"}
WORDS = """
    deployed deploying deployment policies policy running runs hopeful hopefulness nationality relational
    conditional rationally valency hesitancy digitizer conformable radically differently vilely analogous
    feudalism decisiveness formality sensitivity replication formalize electrical adjustable defensible irritant
    effective bowdlerize probation controlled rolling agreed plastered motoring sized happy sky caresses ponies
    cats
"""


@pytest.fixture(scope="module")
def index() -> Fts5Stemmer:
    return Fts5Stemmer(apsw.Connection(":memory:"))


def test_the_index_stems_like_the_library(index: Fts5Stemmer) -> None:
    tables = stop_words("topic") | stop_words("report") | word_table("instruction_openers")
    words = [
        word
        for word in (*WORDS.split(), *sorted(tables))
        if word.isalpha() and word not in word_table("irregular_forms")
    ]
    assert [word for word in words if index.stems(word) != [stem(word)]] == []


def test_the_known_differences_are_still_there(index: Fts5Stemmer) -> None:
    assert {word for word in DIFFERENT if index.stems(word) != [stem(word)]} == DIFFERENT


@given(st.text("abcdefghijklmnopqrstuvwxyzé數", max_size=12))
def test_case_does_not_matter_and_no_word_vanishes(word: str) -> None:
    assert stem(word.upper()) == stem(word.upper().casefold())
    assert bool(stem(word)) == bool(word)


def test_irregular_forms_have_one_stem() -> None:
    assert len({stem(form) for form in ("go", "Went", "gone", "goes")}) == 1


def test_threads_get_the_stems_of_their_own_words() -> None:
    words = [f"{letter}{word}" for letter in "abcdefghijklmnop" for word in WORDS.split()]
    stem.cache_clear()
    expected = [stem(word) for word in words]
    stem.cache_clear()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(stem, words)) == expected
    finally:
        sys.setswitchinterval(before)
