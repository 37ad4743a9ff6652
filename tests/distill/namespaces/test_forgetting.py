"""Test that what was forgotten is in no table, and that what else was said stays."""

from __future__ import annotations

from typing import LiteralString

import pytest

from recall.namespaces.errors import NamespaceRefused, NoSuchMemory, NoSuchNamespace
from tests.distill.namespaces.test_merging import DISLIKES, LIKES, related
from tests.made_namespaces import NOW, made_namespace, query, summaries, talk

_TABLES: tuple[LiteralString, ...] = (
    "chat_history", "long_term_memory", "memory_entities", "memory_relationships", "pending_messages",
    "short_term_memory",
)  # fmt: skip


def everything(url: str, name: str) -> str:
    """Return all rows of a namespace in all tables, as one text."""
    ((number,),) = query(url, "SELECT id FROM agent_memory.namespaces WHERE name = %s", name)
    rows = []
    for table in _TABLES:
        select: LiteralString = "SELECT t::text FROM agent_memory." + table + " t WHERE namespace = %s"  # noqa: S608
        rows += [text for (text,) in query(url, select, number)]
    return "\n".join(rows)


@pytest.mark.parametrize("text", ["Project Heron", "PROJECT  heron", "Ｐroject Heron", "project\u00a0heron"])
def test_a_text_goes_from_every_table_however_it_is_spelled(database_url: str, text: str) -> None:
    namespace = made_namespace(database_url)
    talk(
        namespace, "I lead Project Heron in Oslo. My dog is called Rex.", "Project Heron ships in May.",
        session="project heron", message_id="", user_name="Ann",
    )  # fmt: skip
    counted = namespace.forget(text, dry_run=True)
    assert "Heron" in everything(database_url, namespace.name)
    done = namespace.forget(text)
    assert (done.messages, done.memories, done.remaining) == (2, counted.memories, 0)
    assert counted.messages == 2
    namespace.process(now=NOW)
    assert "heron" not in everything(database_url, namespace.name).casefold()
    assert any("Rex" in one for one in summaries(database_url, namespace))
    assert "Heron" not in namespace.retrieve("Heron Oslo Rex", now=NOW).text


def test_a_text_inside_a_merged_memory_goes_and_the_other_part_stays(database_url: str) -> None:
    namespace = related(database_url, LIKES, DISLIKES)
    namespace.promote(now=NOW)
    assert len(summaries(database_url, namespace)) == 1
    namespace.forget("FastAPI")
    namespace.process(now=NOW)
    assert "fastapi" not in everything(database_url, namespace.name).casefold()
    assert any(LIKES in text for text in summaries(database_url, namespace))


def test_sending_a_forgotten_exchange_again_does_not_bring_it_back(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "I lead Project Heron in Oslo.", message_id="m1")
    namespace.forget("Project Heron")
    assert namespace.record("I lead Project Heron in Oslo.", message_id="m1", now=NOW).known
    namespace.process(now=NOW)
    assert "Heron" not in everything(database_url, namespace.name)


def test_a_word_around_another_memory_goes_too(database_url: str) -> None:
    namespace = made_namespace(database_url)
    namespace.record("How is Project Heron?", "Project Heron ships in May.", session="s", now=NOW)
    talk(namespace, "Then I take my holidays in June.", session="s")
    assert "heron" in everything(database_url, namespace.name)
    namespace.forget("Project Heron")
    namespace.process(now=NOW)
    assert "heron" not in everything(database_url, namespace.name).casefold()
    assert any("June" in text for text in summaries(database_url, namespace))


def test_a_session_goes_whole_and_no_other_one(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "I lead Project Heron in Oslo.", session="s1", message_id="m1")
    talk(namespace, "My dog is called Rex.", session="s2")
    done = namespace.forget(session="s1")
    assert (done.messages, done.memories) == (1, 1)
    namespace.process(now=NOW)
    assert "Heron" not in everything(database_url, namespace.name)
    assert len(summaries(database_url, namespace)) == 1
    assert namespace.record("I lead Project Heron in Oslo.", session="s1", message_id="m1", now=NOW).known


def test_one_memory_goes_and_its_exchange_stays(database_url: str) -> None:
    namespace = related(database_url, LIKES, DISLIKES)
    (merged,) = namespace.promote(now=NOW).merged
    ((part,), *_) = query(
        database_url, "SELECT unnest(parts) FROM agent_memory.long_term_memory WHERE id = %s", merged
    )  # fmt: skip
    assert namespace.forget(memory=part, dry_run=True).memories == 1
    assert namespace.forget(memory=part).memories == 2  # the merged one goes with it
    namespace.process(now=NOW)
    assert len(summaries(database_url, namespace)) == 1
    assert namespace.stats().messages == 2


def test_a_memory_of_another_namespace_is_not_there(database_url: str) -> None:
    one, other = made_namespace(database_url), made_namespace(database_url)
    talk(one, LIKES)
    talk(other, DISLIKES)
    ((number,),) = query(
        database_url, "SELECT m.id FROM agent_memory.long_term_memory m JOIN agent_memory.namespaces n "
        "ON n.id = m.namespace WHERE n.name = %s", other.name,
    )  # fmt: skip
    for forget in (lambda: one.forget(memory=number), lambda: one.split(number)):
        with pytest.raises(NoSuchMemory):
            forget()
    assert len(summaries(database_url, other)) == 1


def test_forgetting_changes_no_other_namespace(database_url: str) -> None:
    one, other = made_namespace(database_url), made_namespace(database_url)
    for namespace in (one, other):
        talk(namespace, "I lead Project Heron in Oslo.")
    before = everything(database_url, other.name)
    one.forget("Project Heron")
    assert everything(database_url, other.name) == before


def test_a_chinese_name_of_two_characters_can_be_forgotten(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "数据库迁移改到周五，由王芳负责。")
    assert namespace.forget("王芳").messages == 1
    namespace.process(now=NOW)
    assert "王芳" not in everything(database_url, namespace.name)


@pytest.mark.parametrize(
    "given", [{}, {"text": "abc"}, {"text": "  "}, {"text": "王"}, {"text": "heron", "session": "s"}, {"session": ""}]
)
def test_a_wrong_target_is_refused(database_url: str, given: dict[str, str]) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, LIKES)
    with pytest.raises(NamespaceRefused):
        namespace.forget(**given)  # type: ignore[arg-type]


def test_a_merged_memory_goes_with_its_parts(database_url: str) -> None:
    namespace = related(database_url, LIKES, DISLIKES)
    namespace.promote(now=NOW)
    (merged,) = [memory.id for memory in namespace.retrieve("Flask or FastAPI?", now=NOW).memories]
    assert namespace.forget(memory=merged, dry_run=True).memories == 3
    assert namespace.forget(memory=merged).memories == 3
    assert summaries(database_url, namespace, live=False) == []


def test_a_text_that_only_a_memory_says_does_not_come_back(database_url: str) -> None:
    """The speaker and the day are in no exchange, and who reads the exchange again would write them again."""
    namespace = made_namespace(database_url)
    talk(namespace, "I bought a red bicycle in Oslo yesterday.", session="s1", user_name="Anna Lind")
    talk(namespace, "My dog is called Rex.", session="s2")
    (memory, _) = summaries(database_url, namespace)
    assert "2026-11-28" in memory
    assert namespace.forget(memory).memories == 1
    namespace.process(now=NOW)
    assert all("Rex" in text for text in summaries(database_url, namespace))
    assert namespace.forget("2026-11-28", dry_run=True).memories == 0


def test_a_session_whose_name_may_not_be_stored_is_forgotten_by_it(database_url: str) -> None:
    namespace = made_namespace(database_url)
    session = "about the harbour " * 20
    talk(namespace, "My dog is called Rex.", session=session)
    assert namespace.forget(session=session).messages == 1
    assert summaries(database_url, namespace) == []


@pytest.mark.parametrize("name", ["a\x00b", "\ud800"])
def test_names_that_the_database_cannot_hold_name_nothing(database_url: str, name: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "My dog is called Rex.")
    assert namespace.forget(session=name).messages == 0
    for ask in (namespace.share_with, namespace.stop_sharing_with):
        with pytest.raises(NoSuchNamespace):
            ask(name)
