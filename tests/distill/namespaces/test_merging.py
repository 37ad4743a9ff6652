"""Test that related memories become one, that it says all that its parts say, and that it can be taken apart."""

from __future__ import annotations

from typing import LiteralString

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.namespaces.merging import merged_text
from interfaces.api import AgentNamespace
from recall.namespaces.errors import NoSuchMemory
from tests.made_namespaces import NOW, made_namespace, query, summaries, talk

_RELATE: LiteralString = """
INSERT INTO agent_memory.memory_relationships
SELECT a.namespace, a.id, b.id, %s FROM agent_memory.long_term_memory a
JOIN agent_memory.long_term_memory b ON b.namespace = a.namespace AND b.id > a.id
JOIN agent_memory.namespaces n ON n.id = a.namespace
WHERE n.name = %s AND a.parts IS NULL AND b.parts IS NULL
ON CONFLICT (namespace, memory, other) DO UPDATE SET strength = excluded.strength RETURNING memory
"""
_MESSAGES: LiteralString = (
    "SELECT m.id, m.messages FROM agent_memory.long_term_memory m JOIN agent_memory.namespaces n ON n.id = m.namespace "
    "WHERE n.name = %s ORDER BY m.id"
)


def related(url: str, *texts: str, strength: float = 0.61, **given: str) -> AgentNamespace:
    """Return a namespace that knows *texts*, all of them related so strongly."""
    namespace = made_namespace(url)
    for place, text in enumerate(texts):
        talk(namespace, text, session=f"s{place}", **given)
    query(url, _RELATE, strength, namespace.name)
    return namespace


LIKES, DISLIKES, OTHER = (
    "I prefer Flask for small services.",
    "FastAPI has too many parts for me.",
    "My dog Rex likes bones.",
)


def test_two_related_memories_become_one_with_the_provenance_of_both(database_url: str) -> None:
    namespace = related(database_url, LIKES, DISLIKES)
    parts = query(database_url, _MESSAGES, namespace.name)
    (merged,) = namespace.promote(now=NOW).merged
    (text,) = summaries(database_url, namespace)
    assert LIKES in text
    assert DISLIKES in text
    assert text.count("User:") == 1
    (found,) = namespace.retrieve("Flask or FastAPI?", now=NOW).memories
    assert (found.id, found.summary) == (merged, text)
    assert {source.partition("#")[0] for source in found.sources} == {"s0", "s1"}
    assert set(dict(query(database_url, _MESSAGES, namespace.name))[merged]) == {
        one for _, found in parts for one in found
    }
    assert namespace.stats().merged == 1


def test_a_relationship_that_only_reaches_the_threshold_merges_nothing(database_url: str) -> None:
    namespace = related(database_url, LIKES, DISLIKES, strength=0.6)
    assert namespace.promote(now=NOW).merged == ()


def test_a_merged_memory_can_be_taken_apart_and_stays_so(database_url: str) -> None:
    namespace = related(database_url, LIKES, DISLIKES)
    before = summaries(database_url, namespace)
    (merged,) = namespace.promote(now=NOW).merged
    assert len(namespace.split(merged)) == 2
    assert summaries(database_url, namespace) == before
    assert namespace.promote(now=NOW).merged == ()
    with pytest.raises(NoSuchMemory):
        namespace.split(merged)


def test_statements_of_two_speakers_stay_apart(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, LIKES, user_name="Ann", session="a")
    talk(namespace, DISLIKES, user_name="Ben", session="b")
    query(database_url, _RELATE, 0.9, namespace.name)
    assert namespace.promote(now=NOW).merged == ()


def test_a_third_memory_joins_and_no_merged_memory_grows_without_end(database_url: str) -> None:
    namespace = related(database_url, LIKES, DISLIKES, OTHER, strength=0.95)
    for _ in range(3):
        namespace.promote(now=NOW)
    (text,) = summaries(database_url, namespace)
    assert all(part in text for part in (LIKES, DISLIKES, OTHER))
    ((parts,),) = query(
        database_url, "SELECT m.parts FROM agent_memory.long_term_memory m JOIN agent_memory.namespaces n "
        "ON n.id = m.namespace WHERE n.name = %s AND m.parts IS NOT NULL", namespace.name,
    )  # fmt: skip
    assert len(parts) == 3  # the parts themselves, and no merged memory between them
    few = related(database_url, LIKES, DISLIKES, OTHER, "My boat is blue.", "My hat is red.", strength=0.95)
    for _ in range(5):
        few.promote(now=NOW)
    assert max(map(len, summaries(database_url, few))) <= few.settings.summary_chars
    assert len(summaries(database_url, few)) == 2


def test_a_merged_memory_with_a_superseded_part_falls_apart(database_url: str) -> None:
    namespace = related(database_url, "We deploy billing on Mondays.", OTHER)
    namespace.promote(now=NOW)
    talk(namespace, "We deploy billing on Fridays now, not on Mondays.", session="later")
    live = summaries(database_url, namespace)
    assert len(live) == 2
    assert any(OTHER in text for text in live)
    assert not any("Mondays." in text and "Fridays" not in text for text in live)


def test_saying_a_part_again_is_another_source_of_the_whole(database_url: str) -> None:
    namespace = related(database_url, LIKES, DISLIKES)
    (merged,) = namespace.promote(now=NOW).merged
    talk(namespace, LIKES, session="again")
    assert len(summaries(database_url, namespace)) == 1
    assert len(dict(query(database_url, _MESSAGES, namespace.name))[merged]) == 3


SENTENCES = st.lists(st.sampled_from(["I like tea.", "Tea is hot!", "我喜欢茶。", "No sugar"]), min_size=1, max_size=4)


@given(older=SENTENCES, newer=SENTENCES)
def test_a_merged_text_says_everything_once(older: list[str], newer: list[str]) -> None:
    text = merged_text(f"Ann: {' '.join(dict.fromkeys(older))}", f"Ann: {' '.join(newer)}")
    assert text.count("Ann:") == 1
    for sentence in {*older, *newer}:
        assert sentence.rstrip(".") in text
