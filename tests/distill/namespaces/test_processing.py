"""Test that messages become memories once, with what the readers of a home find in them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import LiteralString

import pytest

from recall.namespaces.settings import NamespaceSettings
from tests.made_namespaces import NOW, made_name, made_namespace, query, summaries, talk
from tests.recall.hashing_embedder import HashingEmbedder

_ROWS = (
    "SELECT m.summary, m.category, m.importance, m.retention_type, cardinality(m.messages), m.model IS NOT NULL "
    "FROM agent_memory.long_term_memory m JOIN agent_memory.namespaces n ON n.id = m.namespace "
    "WHERE n.name = %s AND m.superseded_by IS NULL AND m.merged_into IS NULL ORDER BY m.id"
)


def test_a_message_is_read_once(database_url: str) -> None:
    namespace = made_namespace(database_url)
    namespace.record("I prefer Flask to FastAPI for small services.", now=NOW)
    assert (namespace.process(now=NOW).added, namespace.process(now=NOW).messages) == (1, 0)
    assert len(summaries(database_url, namespace)) == 1


def test_the_kind_and_the_importance_are_the_readers(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(
        namespace, "From now on, always answer in bullet points.", "We decided to use PostgreSQL for billing.",
        "I had toast this morning at the station.",
    )  # fmt: skip
    rows = {
        text: (category, importance) for text, category, importance, *_ in query(database_url, _ROWS, namespace.name)
    }
    wish, choice, passing = (
        next(rows[text] for text in rows if word in text) for word in ("bullet", "Postgre", "toast")
    )
    assert (wish[0], choice[0], passing[0]) == ("preference", "decision", "fact")
    assert min(wish[1], choice[1]) > 0.7 > passing[1]


def test_what_somebody_asks_to_remember_has_importance_one(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "Please remember that the wifi password of the cabin is on the fridge.")
    assert max(row[2] for row in query(database_url, _ROWS, namespace.name)) == 1.0


def test_the_same_statement_again_is_another_source_of_one_memory(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "We deploy billing on Mondays.", session="s1")
    archive: LiteralString = (
        "UPDATE agent_memory.long_term_memory m SET retention_type = 'archived' FROM agent_memory.namespaces n "
        "WHERE n.id = m.namespace AND n.name = %s RETURNING m.id"
    )
    query(database_url, archive, namespace.name)
    talk(namespace, "We deploy billing on Mondays.", session="s2")
    ((text, _, _, retention, messages, _),) = query(database_url, _ROWS, namespace.name)
    assert ("Mondays" in text, retention, messages) == (True, "long_term", 2)


def test_a_changed_value_supersedes_the_older_memory(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "We deploy billing on Mondays.", session="s1")
    talk(namespace, "We deploy billing on Fridays now, not on Mondays.", session="s2")
    assert ["Fridays" in text for text in summaries(database_url, namespace)] == [True]
    assert len(summaries(database_url, namespace, live=False)) == 2
    assert namespace.stats().superseded == 1
    assert "Fridays" in namespace.retrieve("When do we deploy billing?", now=NOW).memories[0].summary


def test_an_agents_words_supersede_no_users(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "We deploy billing on Mondays.", session="s1")
    namespace.record("", "We deploy billing on Fridays now, not on Mondays.", session="s2", now=NOW)
    namespace.process(now=NOW)
    assert any("Mondays" in text and "Fridays" not in text for text in summaries(database_url, namespace))


def test_without_a_model_vectors_come_with_a_later_run(database_url: str) -> None:
    name = made_name()
    talk(made_namespace(database_url, name, embedder=None), "I prefer the harbour logo.")
    assert [row[5] for row in query(database_url, _ROWS, name)] == [False]
    assert made_namespace(database_url, name).stats().without_vector == 1
    made_namespace(database_url, name).process(now=NOW)
    assert [row[5] for row in query(database_url, _ROWS, name)] == [True]


def test_a_model_that_fails_loses_no_memory(database_url: str) -> None:
    namespace = made_namespace(database_url, embedder=HashingEmbedder(dimension=384, refused=["harbour"]))
    namespace.record("I prefer the harbour logo.", now=NOW)
    done = namespace.process(now=NOW)
    assert (done.added, len(done.degraded)) == (1, 1)
    assert [row[5] for row in query(database_url, _ROWS, namespace.name)] == [False]


def test_several_processes_read_each_message_once(database_url: str) -> None:
    name = made_name()
    facts = [f"My colleague {who} works in {where}." for who in ("Ann", "Ben", "Cai", "Dan", "Eve", "Fay")
             for where in ("Rome", "Oslo", "Bern", "Kyiv")]  # fmt: skip
    for number, fact in enumerate(facts):
        made_namespace(database_url, name).record(fact, session=f"s{number}", now=NOW)

    def read(_: int) -> int:
        return made_namespace(database_url, name, batch_messages=3).process(now=NOW).messages

    with ThreadPoolExecutor(6) as pool:
        read_by = list(pool.map(read, range(6)))
    left = made_namespace(database_url, name).process(now=NOW).messages
    assert sum(read_by) + left == len(facts)
    counts = made_namespace(database_url, name).stats()
    assert counts.pending == 0
    messages = query(database_url, _ROWS, name)
    assert len({text for text, *_ in messages}) == len(messages)


def test_an_answer_is_understood_with_an_exchange_of_an_earlier_batch(database_url: str) -> None:
    namespace = made_namespace(database_url)
    namespace.record("I need a car.", "Which colour should the car have?", session="s", now=NOW)
    namespace.process(now=NOW)
    talk(namespace, "Dark green.", session="s")
    assert any("colour" in text and "green" in text for text in summaries(database_url, namespace))


def test_a_long_report_has_its_most_important_statements(database_url: str) -> None:
    namespace = made_namespace(database_url, side_statements=3)
    report = " ".join(
        f"Colleague {who} likes {what}." for who in ("Ann", "Ben", "Cai") for what in ("tea", "rice", "jam")
    )
    talk(namespace, f"{report} Please remember that the wifi password is on the fridge.")
    kept = summaries(database_url, namespace)
    assert len(kept) == 3
    assert any("fridge" in text for text in kept)


def test_a_chinese_message_becomes_a_memory_with_entities(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "数据库迁移改到周五，由王芳负责。")
    assert len(summaries(database_url, namespace)) == 1
    assert namespace.stats().entities > 1


@pytest.mark.parametrize("change", [{"importance": 1.5}, {"limit": 0}, {"essential": 9}, {"recency_days": 0}])
def test_a_setting_out_of_range_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        NamespaceSettings(**change)  # type: ignore[arg-type]


def test_what_was_said_later_stands_whichever_is_read_first(database_url: str) -> None:
    """A program may send an old conversation after a newer one."""
    namespace = made_namespace(database_url)
    for text, days in (("I live in Berlin now.", 3), ("I live in Paris.", 30)):
        namespace.record(text, session=f"s{days}", said=NOW - timedelta(days=days), now=NOW)
        namespace.process(now=NOW)
    assert summaries(database_url, namespace) == ["User: I live in Berlin now."]
    assert len(summaries(database_url, namespace, live=False)) == 2
