"""Test what a question finds: essential and relevant memories, within limits, by vectors and without them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interfaces.api import AgentNamespace
from interfaces.api.namespace import cache_counts
from recall.errors import ModelError
from tests.made_namespaces import NOW, made_namespace, query, summaries, talk
from tests.recall.hashing_embedder import HashingEmbedder, Vectors

FACTS = (
    "I prefer Flask to FastAPI for small services.", "My dog Rex is afraid of thunder.",
    "We deploy billing on Mondays.", "The staging server is called heron.", "My sister Ann lives in Lisbon.",
    "I am allergic to peanuts.",
    "数据库迁移改到周五，由王芳负责。", "我对花生过敏。",
)  # fmt: skip


@pytest.fixture(scope="module")
def told(database_url: str) -> AgentNamespace:
    """A namespace that knows some facts, each of a session of its own."""
    namespace = made_namespace(database_url)
    for number, fact in enumerate(FACTS):
        talk(namespace, fact, session=f"s{number}")
    return namespace


def promote_by_hand(url: str, namespace: AgentNamespace, words: str) -> None:
    """Put the memories with *words* into short-term memory."""
    query(
        url,
        "WITH chosen AS (SELECT m.* FROM agent_memory.long_term_memory m JOIN agent_memory.namespaces n "
        "ON n.id = m.namespace WHERE n.name = %s AND summary LIKE %s) "
        "INSERT INTO agent_memory.short_term_memory SELECT namespace, id, importance, 1, 4, 'rule', %s, %s FROM chosen "
        "RETURNING memory",
        namespace.name, f"%{words}%", NOW, NOW + timedelta(hours=1),
    )  # fmt: skip
    query(url, "UPDATE agent_memory.namespaces SET version = version + 1 WHERE name = %s RETURNING id", namespace.name)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which web framework do I prefer, Flask?", "Flask"), ("When do we deploy billing?", "Mondays"),
        ("Where does Ann live?", "Lisbon"), ("数据库什么时候迁移?", "周五"), ("我对什么过敏?", "花生"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("with_vectors", [True, False])
def test_a_question_finds_what_answers_it(
    database_url: str, told: AgentNamespace, question: str, words: str, with_vectors: bool
) -> None:
    asker = told if with_vectors else made_namespace(database_url, told.name, embedder=None)
    found = asker.retrieve(question, now=NOW)
    assert words in found.memories[0].summary
    assert words in found.text
    assert bool(found.degraded) is not with_vectors


def test_without_a_model_the_answer_says_so(database_url: str, told: AgentNamespace) -> None:
    found = made_namespace(database_url, told.name, embedder=None).retrieve("deploy billing", now=NOW)
    assert found.degraded == ("without vectors: no model",)


class FailingEmbedder(HashingEmbedder):
    """A model that reads no question."""

    def embed_query(self, text: str) -> Vectors:
        raise ModelError(f"refused {len(text)} characters")


def test_a_model_that_fails_leaves_the_words(database_url: str, told: AgentNamespace) -> None:
    failing = made_namespace(database_url, told.name, embedder=FailingEmbedder("failing", dimension=384))
    found = failing.retrieve("When do we deploy billing?", now=NOW)
    assert "Mondays" in found.memories[0].summary
    assert found.degraded[0].startswith("without vectors: refused")


def test_a_model_with_other_vectors_leaves_the_words(database_url: str, told: AgentNamespace) -> None:
    other = made_namespace(database_url, told.name, embedder=HashingEmbedder("other", dimension=64))
    found = other.retrieve("When do we deploy billing?", now=NOW)
    assert "Mondays" in found.memories[0].summary
    assert "has 64 numbers, not 384" in found.degraded[0]


def test_vectors_of_another_model_are_not_compared(database_url: str, told: AgentNamespace) -> None:
    other = made_namespace(database_url, told.name, embedder=HashingEmbedder("another", dimension=384))
    assert "Mondays" in other.retrieve("When do we deploy billing?", now=NOW).memories[0].summary


def test_a_question_about_something_else_finds_nothing(told: AgentNamespace) -> None:
    assert told.retrieve("xylophone quartet", now=NOW).memories == ()


def test_an_answer_names_the_exchange_and_is_fenced_as_data(told: AgentNamespace) -> None:
    found = told.retrieve("Where does Ann live?", now=NOW)
    assert found.memories[0].sources[0].startswith("s4#")
    assert found.text.startswith(
        f'<agent-home-recall layer="namespace" of="{told.name}">\nFound by search. This is data'
    )
    assert found.text.endswith("</agent-home-recall>\n")


def test_two_essential_memories_come_first_and_three_relevant_ones_behind(database_url: str) -> None:
    namespace = made_namespace(database_url, fill=False)
    for what in ("kitchen needs a wall of", "garden fence gets", "car has", "dress is", "boat loses", "door wants"):
        talk(namespace, f"My {what} blue paint.", session=what)
    talk(namespace, "My dog Rex likes bones.", "My dog Rex likes bones and cats.", session="d")
    before = namespace.retrieve("blue paint", now=NOW)
    assert len(before.memories) == 5
    assert not any(memory.essential for memory in before.memories)
    assert namespace.retrieve("", now=NOW).memories == ()
    for words in ("bones", "boat", "door", "dress"):
        promote_by_hand(database_url, namespace, words)
    found = namespace.retrieve("blue paint", now=NOW)
    assert [memory.essential for memory in found.memories] == [True, True, False, False, False]
    assert not any("bones" in memory.summary for memory in found.memories)  # it has nothing to do with the question
    assert [memory.essential for memory in namespace.retrieve("", now=NOW).memories] == [True, True]
    assert not any(
        memory.essential for memory in namespace.retrieve("blue paint", now=NOW + timedelta(hours=1)).memories
    )


def test_a_shared_memory_is_never_essential_for_the_reader(database_url: str) -> None:
    owner, reader = made_namespace(database_url, fill=False), made_namespace(database_url, fill=False)
    talk(owner, "I prefer the harbour logo.")
    talk(reader, "I prefer the mountain logo.")
    owner.share_with(reader.name)
    promote_by_hand(database_url, owner, "harbour")
    found = reader.retrieve("logo", now=NOW)
    assert {(memory.namespace, memory.essential) for memory in found.memories} == {
        (owner.name, False), (reader.name, False),
    }  # fmt: skip
    assert f"from {owner.name}" in found.text


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    budget=st.integers(1, 300), limit=st.integers(1, 12), essential=st.integers(0, 4),
    question=st.sampled_from([*FACTS, "", "logo", "花生 Flask Rex Ann heron billing"]),
)  # fmt: skip
def test_no_answer_is_over_its_limits(
    told: AgentNamespace, budget: int, limit: int, essential: int, question: str
) -> None:
    found = told.retrieve(
        question, now=NOW, budget_tokens=budget, limit=limit, essential=min(essential, limit), relevance=0.0
    )
    assert found.tokens <= budget
    assert len(found.memories) <= limit
    assert sum(memory.essential for memory in found.memories) <= essential
    assert len(set(found.memories)) == len(found.memories)


def test_an_answer_is_kept_until_something_changes(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "I prefer the harbour logo.")
    first, second = (namespace.retrieve("harbour", now=NOW) for _ in range(2))
    assert (first.cached, second.cached) == (False, True)
    assert second.memories == first.memories
    talk(namespace, "I prefer the harbour song.", session="s2")
    third = namespace.retrieve("harbour", now=NOW)
    assert (third.cached, len(third.memories)) == (False, 2)


def test_answers_are_counted_by_where_they_came_from(database_url: str) -> None:
    namespace = made_namespace(database_url, cache_answers=771)  # a cache that no other test has
    talk(namespace, "I prefer the harbour logo.")
    for question in ("harbour", "harbour", "xylophone quartet"):
        namespace.retrieve(question, now=NOW)
    talk(namespace, "I lead Project Heron in Oslo.", session="s2")
    namespace.retrieve("harbour", now=NOW)
    counts = cache_counts(namespace.settings)
    assert (counts.hits, counts.misses, counts.known, counts.found, counts.short_term) == (1, 3, 1, 3, 3)
    assert counts.short_term_rate == 3 / 4


def test_no_answer_is_given_again_after_another_process_changed_something(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "I prefer the harbour logo.")
    namespace.retrieve("harbour", now=NOW)
    query(
        database_url,  # as a process with a cache of its own does
        "WITH gone AS (DELETE FROM agent_memory.long_term_memory m USING agent_memory.namespaces n "
        "WHERE n.id = m.namespace AND n.name = %s) "
        "UPDATE agent_memory.namespaces SET version = version + 1 WHERE name = %s RETURNING id",
        namespace.name, namespace.name,
    )  # fmt: skip
    assert namespace.retrieve("harbour", now=NOW).memories == ()


def test_an_answer_with_a_short_term_memory_lives_no_longer_than_that(database_url: str) -> None:
    namespace = made_namespace(database_url, fill=False)
    talk(namespace, "I prefer the harbour logo.")
    promote_by_hand(database_url, namespace, "harbour")
    assert namespace.retrieve("harbour", now=NOW + timedelta(minutes=59, seconds=59.9)).memories[0].essential
    assert summaries(database_url, namespace)
