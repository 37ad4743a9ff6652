"""Lexemes keep generations apart, and PostgreSQL's rank tells how often a word stands in a row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recall.index.postgresql.lexemes import generation_prefix, phrase_query, times_of, words_vector
from recall.postgres.connections import connection
from recall.text.term_hashes import TermHashes

codes = st.integers(0, 2**32 - 1)


def hashes(*values: int) -> TermHashes:
    return np.array(values, np.uint32)


@given(st.integers(0, 2**63), st.integers(0, 2**63), codes, codes)
def test_two_generations_never_share_a_lexeme(one: int, other: int, first: int, second: int) -> None:
    same = phrase_query(generation_prefix(one), [[first]]) == phrase_query(generation_prefix(other), [[second]])
    assert same == ((one, first) == (other, second))


def test_the_rank_tells_how_often_a_word_stands(database_url: str) -> None:
    with connection(database_url) as conn:
        ranks = [
            conn.execute(
                "SELECT ts_rank('{1,1,1,1}', %s::tsvector, %s::tsquery)",
                (words_vector("1.", hashes(*[7] * times, 8), hashes()), phrase_query("1.", [[7]])),
            ).fetchall()[0][0]
            for times in (1, 2, 3, 7, 40)
        ]
    assert times_of(np.array(ranks, np.float32)).tolist() == [1, 2, 3, 7, 40]


def test_no_phrase_spans_text_and_heading(database_url: str) -> None:
    vector = words_vector("1.", hashes(1, 2), hashes(3, 4))
    with connection(database_url) as conn:
        found = [
            conn.execute("SELECT %s::tsvector @@ %s::tsquery", (vector, phrase_query("1.", [phrase]))).fetchall()[0][0]
            for phrase in ([1, 2], [3, 4], [2, 3], [2, 1])
        ]
    assert found == [True, True, False, False]
