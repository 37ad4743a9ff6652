"""Test what fills the room that promoted memories leave in short-term memory, and what it costs an answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import LiteralString

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distill.namespaces.filling import different_memories
from interfaces.api import AgentNamespace
from recall.namespaces.memories import NewMemory, add_memory, model_number, vectors_of
from recall.namespaces.registry import ensure_namespace
from recall.namespaces.schema import database
from recall.namespaces.short_term import PromotionCandidateRow, likely_memories
from tests.made_namespaces import NOW, made_namespace, query, talk
from tests.recall.hashing_embedder import HashingEmbedder

_SHORT_TERM: LiteralString = (
    "SELECT m.summary, s.reason, s.expires_at FROM agent_memory.short_term_memory s "
    "JOIN agent_memory.long_term_memory m ON m.namespace = s.namespace AND m.id = s.memory "
    "JOIN agent_memory.namespaces n ON n.id = m.namespace WHERE n.name = %s ORDER BY m.said DESC, m.id DESC"
)


def short_term(url: str, namespace: AgentNamespace) -> list[str]:
    return [text for text, *_ in query(url, _SHORT_TERM, namespace.name)]


def add(
    url: str, namespace: AgentNamespace, text: str, *, days: float = 0, importance: float = 0.5, model: str = "hashing"
) -> None:
    """Write a memory as a row, without reading any text."""
    embedder = HashingEmbedder(model, dimension=384)
    new = NewMemory(
        session="s", category="fact", role="user", source="user", summary=text, importance=importance,
        said=NOW - timedelta(days=days), messages=(), vector=embedder.embed([text])[0],
    )  # fmt: skip
    with database(url) as conn:
        number = ensure_namespace(conn, namespace.name, NOW)
        add_memory(conn, number, new, model=model_number(conn, embedder), now=NOW)


def test_what_was_said_last_is_in_short_term_memory_as_soon_as_it_is_read(database_url: str) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "I prefer the harbour logo.")
    assert short_term(database_url, namespace) == ["User: I prefer the harbour logo."]
    assert namespace.retrieve("", now=NOW).memories[0].essential
    talk(namespace, "I lead Project Heron in Oslo.", "I am allergic to peanuts.", session="s2")
    assert len(short_term(database_url, namespace)) == 2  # the room of a young namespace
    assert "User: I am allergic to peanuts." in short_term(database_url, namespace)


def test_half_of_the_room_is_for_the_latest_and_half_for_what_matters(database_url: str) -> None:
    namespace = made_namespace(database_url, short_term_share=0.1)
    add(database_url, namespace, "The release of Heron to all harbours in Norway is on the third of May.", days=4)
    add(database_url, namespace, "Ann owns every decision about the budget of the harbour project.", days=3)
    for number in range(38):
        add(database_url, namespace, f"It is {number}.", days=2 - number / 100, importance=0.05)
    namespace.promote(now=NOW)
    assert [text.split(" ")[0] for text in short_term(database_url, namespace)] == ["It", "It", "Ann", "The"]


def test_no_two_that_say_nearly_the_same_fill_the_room(database_url: str) -> None:
    namespace = made_namespace(database_url, short_term_share=0.1)
    for number in range(4):
        add(
            database_url,
            namespace,
            f"Ann owns every decision about the budget of the project, version {number}.",
            days=3,
        )
    add(database_url, namespace, "Rex likes bones.", days=5)
    for number in range(35):
        add(database_url, namespace, f"It {number}.", days=2, importance=0.01)
    namespace.promote(now=NOW)
    found = short_term(database_url, namespace)
    assert sum("budget" in text for text in found) == 1
    assert "Rex likes bones." in found


def test_what_nobody_spoke_of_for_thirty_days_leaves(database_url: str) -> None:
    namespace = made_namespace(database_url)
    add(database_url, namespace, "Rex likes bones.", days=29)
    namespace.promote(now=NOW)
    ((_, reason, expires),) = query(database_url, _SHORT_TERM, namespace.name)
    assert (reason, expires) == ("room", NOW + timedelta(days=1))
    assert namespace.retrieve("", now=NOW + timedelta(hours=23)).memories
    assert not namespace.retrieve("", now=NOW + timedelta(hours=25)).memories
    namespace.promote(now=NOW + timedelta(hours=25))
    assert short_term(database_url, namespace) == []


def test_promoted_memories_come_first_and_are_not_counted_twice(database_url: str) -> None:
    namespace = made_namespace(database_url)
    for number in range(60):
        add(database_url, namespace, f"Fact {number} of the archive.", days=number / 10)
    namespace.promote(now=NOW)
    query(
        database_url,
        "UPDATE agent_memory.short_term_memory s SET reason = 'rule', expires_at = %s FROM agent_memory.namespaces n "
        "WHERE n.id = s.namespace AND n.name = %s RETURNING s.memory",
        NOW + timedelta(hours=24), namespace.name,
    )  # fmt: skip
    before = short_term(database_url, namespace)
    assert len(before) == 3
    talk(namespace, "I prefer the harbour logo.", session="later")
    assert short_term(database_url, namespace) == before  # no room is left
    namespace.process(now=NOW)
    talk_a_day_later = NOW + timedelta(hours=25)
    namespace.record("I prefer the mountain logo.", session="later", now=talk_a_day_later)
    namespace.process(now=talk_a_day_later)
    assert "User: I prefer the mountain logo." in short_term(database_url, namespace)


def test_the_room_may_be_left_empty(database_url: str) -> None:
    namespace = made_namespace(database_url, fill=False)
    talk(namespace, "I prefer the harbour logo.")
    assert short_term(database_url, namespace) == []


def test_a_second_run_with_nothing_new_writes_no_row(database_url: str) -> None:
    namespace = made_namespace(database_url)
    for number in range(60):
        add(database_url, namespace, f"Fact {number} of the archive.", days=number / 10)
    namespace.promote(now=NOW)
    rows: LiteralString = (
        "SELECT s.memory, s.xmin::text FROM agent_memory.short_term_memory s JOIN agent_memory.namespaces n "
        "ON n.id = s.namespace WHERE n.name = %s ORDER BY 1"
    )
    before = query(database_url, rows, namespace.name)
    namespace.promote(now=NOW)
    assert query(database_url, rows, namespace.name) == before


def test_vectors_come_back_as_they_were_stored(database_url: str) -> None:
    namespace = made_namespace(database_url)
    add(database_url, namespace, "Rex likes bones.")
    with database(database_url) as conn:
        number = ensure_namespace(conn, namespace.name, NOW)
        ids = [
            one
            for (one,) in query(
                database_url, "SELECT id FROM agent_memory.long_term_memory WHERE namespace = %s", number
            )
        ]
        found = vectors_of(conn, number, ids)
    assert found[ids[0]] == pytest.approx(HashingEmbedder(dimension=384).embed(["Rex likes bones."])[0], abs=1e-3)


def rows(count: int) -> list[PromotionCandidateRow]:
    return [PromotionCandidateRow(id=number, importance=0.5, said=NOW, messages=()) for number in range(count)]


@given(
    angles=st.lists(st.floats(0, 6.28), max_size=12), first=st.integers(0, 3), most=st.integers(0, 12),
    likeness=st.floats(0, 1), without=st.sets(st.integers(0, 11)),
)  # fmt: skip
def test_like_memories_come_last_and_none_comes_twice(
    angles: Sequence[float], first: int, most: int, likeness: float, without: set[int]
) -> None:
    memories = rows(len(angles))
    vectors = {
        number: np.array([np.cos(angle), np.sin(angle)], np.float32)
        for number, angle in enumerate(angles) if number not in without
    }  # fmt: skip
    chosen = different_memories(memories[:first], memories[first:], vectors, most, likeness)
    assert len(chosen) == min(most, len(memories[first:]))
    assert len({one.id for one in chosen}) == len(chosen)
    assert not {one.id for one in memories[:first]} & {one.id for one in chosen}
    kept = list(memories[:first])
    expected = list[PromotionCandidateRow]()
    for one in memories[first:]:
        nearest = max(
            (float(vectors[one.id] @ vectors[o.id]) for o in kept if {one.id, o.id} <= vectors.keys()), default=-1
        )
        if abs(nearest - likeness) < 1e-4:
            return  # too near to the border for another order of the same sum
        if nearest <= likeness and len(expected) < most:
            expected.append(one)
            kept.append(one)
    assert chosen[: len(expected)] == expected


def test_an_empty_question_gets_what_matters_at_present_however_much_there_is(database_url: str) -> None:
    namespace = made_namespace(database_url, short_term_share=1.0)
    for number in range(40):
        add(database_url, namespace, f"Fact {number} of the archive.", days=1)
    add(database_url, namespace, "The deploy key of Heron is in vault nine.", importance=1.0)
    namespace.promote(now=NOW)
    assert "vault nine" in namespace.retrieve("", now=NOW).memories[0].summary


def test_a_clock_that_is_ahead_keeps_no_room(database_url: str) -> None:
    namespace = made_namespace(database_url)
    for number in range(2):
        add(database_url, namespace, f"The harbour logo is number {number}.", days=-400)
    add(database_url, namespace, "It 1.", importance=0.01)
    namespace.promote(now=NOW)
    assert {expires for *_, expires in query(database_url, _SHORT_TERM, namespace.name)} == {NOW + timedelta(days=30)}
    add(database_url, namespace, "Ann owns every decision about the budget of the project.")
    namespace.promote(now=NOW)
    assert "Ann owns every decision about the budget of the project." in short_term(database_url, namespace)


def test_a_chinese_memory_is_as_likely_as_an_english_one(database_url: str) -> None:
    namespace = made_namespace(database_url)
    add(database_url, namespace, "数据库在周五迁移，所有服务在周四晚上停止接受新的写入。", days=1)
    add(database_url, namespace, "The database moves on Friday, and all services stop.", days=5)
    with database(database_url) as conn:
        number = ensure_namespace(conn, namespace.name, NOW)
        found = likely_memories(
            conn, number, 2, start=NOW - timedelta(days=30), now=NOW, half_life_days=7.0
        )  # fmt: skip
    assert [one.said for one in found] == [NOW - timedelta(days=1), NOW - timedelta(days=5)]


def test_forgetting_leaves_short_term_memory_with_its_room(database_url: str) -> None:
    namespace = made_namespace(database_url, short_term_share=0.1, short_term_least=1)
    for number in range(20):
        talk(namespace, f"I keep heron {number} in the archive of the harbour.", session=f"s{number}")
    assert len(short_term(database_url, namespace)) == 2
    for text in short_term(database_url, namespace):
        ((memory,),) = query(
            database_url, "SELECT id FROM agent_memory.long_term_memory WHERE summary = %s AND id > 0 "
            "ORDER BY id DESC LIMIT 1", text,
        )  # fmt: skip
        namespace.forget(memory=memory, now=NOW)
    assert len(short_term(database_url, namespace)) == 1  # of 18, and others than before


@pytest.mark.parametrize("broken", ["newest_memories", "vectors_of", "promote_memories"])
def test_a_failure_of_the_filling_keeps_no_message_unread(
    database_url: str, broken: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    namespace = made_namespace(database_url)
    talk(namespace, "I prefer the harbour logo.")

    def fail(*_given: object, **_named: object) -> None:
        raise OverflowError("it is the year 9999")

    monkeypatch.setattr(f"distill.namespaces.filling.{broken}", fail)
    with caplog.at_level(logging.WARNING, "agent_home.namespaces"):
        talk(namespace, "I lead Project Heron in Oslo.", session="s2")
        assert namespace.promote(now=NOW).filled == ()
    assert (namespace.stats(now=NOW).pending, namespace.stats(now=NOW).memories) == (0, 2)
    assert short_term(database_url, namespace) == ["User: I prefer the harbour logo."]
    assert caplog.messages[0] == "short-term memory was not filled (OverflowError)"


def test_after_a_failed_analysis_the_next_message_fills_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = made_namespace(database_url)
    for number in range(60):
        add(database_url, namespace, f"Fact {number} of the archive.", days=number / 10)
    with monkeypatch.context() as patch:
        patch.setattr("distill.namespaces.promotion.promotable_memories", lambda *_, **__: 1 / 0)
        assert namespace.promote(now=NOW).reason == "recency"
    assert {reason for _, reason, _ in query(database_url, _SHORT_TERM, namespace.name)} == {"recency"}
    assert namespace.stats(now=NOW).promote_after == NOW + timedelta(hours=6)
    talk(namespace, "I prefer the harbour logo.")
    assert "User: I prefer the harbour logo." in short_term(database_url, namespace)
    assert len(short_term(database_url, namespace)) == 3


def test_vectors_of_an_earlier_model_are_not_compared(database_url: str) -> None:
    namespace = made_namespace(database_url)
    add(database_url, namespace, "Rex likes bones.")
    add(database_url, namespace, "Ann leads Heron.", model="a later model")
    with database(database_url) as conn:
        number = ensure_namespace(conn, namespace.name, NOW)
        ids = query(
            database_url, "SELECT id FROM agent_memory.long_term_memory WHERE namespace = %s ORDER BY id", number
        )
        assert list(vectors_of(conn, number, [one for (one,) in ids])) == [ids[1][0]]
