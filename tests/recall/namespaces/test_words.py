"""Test that PostgreSQL accepts the words of any text and question, and finds what the index of a home finds."""

from __future__ import annotations

from typing import LiteralString

from hypothesis import given, settings
from hypothesis import strategies as st

from recall.namespaces.words import all_words, context_words, query_terms, word_vector
from recall.postgres.connections import connection
from tests.made_namespaces import query

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ["it's a 'q\\uote' \\\\ :*&|!()<->", "数据库迁移", "camelCase snake_case a/b.py KD-7F3A", "\x00 nul", '"open quote']
)


@settings(max_examples=60)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=5))
def test_any_text_is_a_vector_and_any_question_a_query(database_url: str, texts: list[str]) -> None:
    with connection(database_url) as conn:
        for text in texts:
            row = conn.execute(
                "SELECT %s::tsvector @@ coalesce(nullif(%s, ''), '''x''')::tsquery, cardinality(%s::tsquery[])",
                (word_vector(text), all_words(text), query_terms(text)[0]),
            ).fetchone()
            assert row is not None
            assert row[0] or not word_vector(text)


def finds(url: str, text: str, question: str) -> int:
    """Return how many terms of *question* stand in *text*."""
    return matches(url, word_vector(text), query_terms(question)[1])


def matches(url: str, vector: str, terms: list[str]) -> int:
    """Return how many of *terms* a vector of words matches."""
    select: LiteralString = "SELECT count(*) FROM unnest(%s::tsquery[]) q WHERE %s::tsvector @@ q"
    ((found,),) = query(url, select, terms, vector)
    return int(found)


def test_a_chinese_word_is_found_inside_a_run_of_characters(database_url: str) -> None:
    assert finds(database_url, "我们决定数据库迁移改到周五", "数据库") == 2
    assert finds(database_url, "我们决定数据库迁移改到周五", "天气") == 0


def test_endings_irregular_forms_and_parts_of_names_are_found(database_url: str) -> None:
    assert finds(database_url, "They deployed it", "deploying") == 1
    assert finds(database_url, "She chose blue", "choose") == 1
    assert finds(database_url, "call openIndex()", "index") == 1


def test_a_quoted_phrase_needs_its_words_side_by_side(database_url: str) -> None:
    assert finds(database_url, "the red big house", '"red house"') == 2
    assert finds(database_url, "the red house", '"red house"') == 3


def test_words_around_a_memory_are_told_from_its_own(database_url: str) -> None:
    vector = word_vector("It was blue.", context_words("Which colour had the boat?"))
    anywhere, own = query_terms("Was the boat blue?")
    assert len(anywhere) == len(own) == 2
    assert (matches(database_url, vector, anywhere), matches(database_url, vector, own)) == (2, 1)


def test_a_text_has_few_words_around_it_and_none_that_say_nothing() -> None:
    assert context_words("the of and it") == []
    assert len(context_words(" ".join(f"word{number}" for number in range(500)))) == 40
