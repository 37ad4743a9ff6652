"""Test that PostgreSQL accepts the words of any text and question, and finds what the index of a home finds."""

from __future__ import annotations

from typing import LiteralString

from hypothesis import given, settings
from hypothesis import strategies as st

from recall.namespaces.words import all_words, query_terms, word_vector
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
                (word_vector(text), all_words(text), query_terms(text)),
            ).fetchone()
            assert row is not None
            assert row[0] or not word_vector(text)


def finds(url: str, text: str, question: str) -> int:
    """Return how many terms of *question* stand in *text*."""
    select: LiteralString = "SELECT count(*) FROM unnest(%s::tsquery[]) q WHERE %s::tsvector @@ q"
    ((found,),) = query(url, select, query_terms(question), word_vector(text))
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
