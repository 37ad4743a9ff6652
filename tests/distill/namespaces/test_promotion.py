"""Test which memories are promoted, how many, for how long, and that the rules are those of a plain model of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import LiteralString

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distill.namespaces.scores import PromotionScores, common_entities, mention_count, passes, recency
from interfaces.api import AgentNamespace
from recall.namespaces.chat_log import RecentMentions
from recall.namespaces.memories import NewMemory, add_memory
from recall.namespaces.registry import ensure_namespace
from recall.namespaces.schema import database
from recall.namespaces.settings import NamespaceSettings
from tests.made_namespaces import NOW, made_namespace, query, talk

DEFAULT = NamespaceSettings()
_SHORT_TERM: LiteralString = (
    "SELECT m.summary, s.reason, s.expires_at, s.frequency_score FROM agent_memory.short_term_memory s "
    "JOIN agent_memory.long_term_memory m ON m.namespace = s.namespace AND m.id = s.memory "
    "JOIN agent_memory.namespaces n ON n.id = m.namespace WHERE n.name = %s ORDER BY m.id"
)


@pytest.mark.parametrize(
    ("importance", "frequency", "fresh", "promoted"),
    [
        (0.71, 4, 0.51, True),
        (1.0, 100, 1.0, True),
        (0.7, 4, 0.51, False),  # each threshold has to be passed, and not only reached
        (0.71, 3, 0.51, False),
        (0.71, 4, 0.5, False),
        (1.0, 0, 1.0, False),  # no two of the three are enough
        (1.0, 100, 0.0, False),
        (0.0, 100, 1.0, False),
    ],
)
def test_all_three_scores_must_be_above_their_thresholds(
    importance: float, frequency: int, fresh: float, promoted: bool
) -> None:
    assert passes(PromotionScores(importance=importance, recency=fresh, frequency=frequency), DEFAULT) is promoted


@pytest.mark.parametrize(
    ("days", "score"), [(0, 1.0), (3, 0.9), (15, 0.5), (29.7, 0.01), (30, 0.0), (400, 0.0), (-1, 1.0)]
)
def test_recency_falls_to_nothing_in_thirty_days(days: float, score: float) -> None:
    assert recency(NOW - timedelta(days=days), NOW, DEFAULT) == pytest.approx(score)


@pytest.mark.parametrize(
    ("entities", "own", "count"),
    [
        ({"flask"}, (), 2),  # two messages name it
        ({"flask", "django"}, (), 3),  # a message counts once
        ({"flask"}, (1, 9), 3),  # a message that states it counts, unless it is older (9)
        (set(), (1, 2), 2),
        ({"花生"}, (), 0),  # one pair of characters is no name
        ({"花生", "过敏"}, (), 1),
        ({"absent"}, (), 0),
    ],
)
def test_a_mention_is_a_name_two_pairs_of_characters_or_the_statement_itself(
    entities: set[str], own: tuple[int, ...], count: int
) -> None:
    named = {"flask": {2, 3}, "django": {3, 4}, "花生": {5, 6}, "过敏": {6}}
    assert mention_count(entities, own, RecentMentions(messages=frozenset(range(1, 8)), named=named)) == count


def test_an_entity_of_most_memories_is_no_mention_in_a_namespace_of_some_size() -> None:
    counts = {"user": 15, "flask": 10}
    assert common_entities(counts, 20, DEFAULT) == {"user"}
    assert common_entities(counts, 19, DEFAULT) == frozenset()


@dataclass(frozen=True)
class Told:
    """A memory as the model knows it: entities are numbers, and *ages* are hours since each exchange that says it."""

    importance: float
    age_h: float
    entities: frozenset[int]
    stated: frozenset[int]


def model(memories: list[Told], messages: Mapping[int, tuple[float, frozenset[int]]]) -> set[int]:
    """Return the places of the memories that the seed's thresholds promote: > .7, > 3 in 24 h, 1 - age / 30 > .5."""
    recent = {number for number, (age, _) in messages.items() if 0 <= age < 24}
    common = {e for e in range(9) if len(memories) >= 20 and sum(e in m.entities for m in memories) * 2 > len(memories)}
    promoted = set()
    for place, memory in enumerate(memories):
        mentions = {
            number for number in recent
            if number in memory.stated or (memory.entities - common) & messages[number][1]
        }  # fmt: skip
        if memory.importance > 0.7 and len(mentions) > 3 and 1 - memory.age_h / 24 / 30 > 0.5:
            promoted.add(place)
    return promoted


ENTITIES = st.frozensets(st.integers(0, 8), max_size=3)
MESSAGES = st.lists(st.tuples(st.sampled_from([1.0, 12.0, 23.0, 25.0, 300.0]), ENTITIES), min_size=1, max_size=14)
MEMORIES = st.lists(
    st.builds(
        Told,
        importance=st.sampled_from([0.2, 0.7, 0.71, 0.9]),
        age_h=st.sampled_from([1.0, 200.0, 359.0, 361.0, 900.0]),
        entities=ENTITIES,
        stated=st.frozensets(st.integers(0, 13), max_size=5),
    ),
    min_size=1, max_size=24,
)  # fmt: skip


def stored(
    url: str, namespace: AgentNamespace, memories: list[Told], messages: Mapping[int, tuple[float, frozenset[int]]]
) -> None:
    """Write memories and messages as rows, without reading any text."""
    with database(url) as conn:
        number = ensure_namespace(conn, namespace.name, NOW)
        ids = {}
        for place, (age, entities) in messages.items():
            row = conn.execute(
                "INSERT INTO agent_memory.chat_history SELECT %s, nextval('agent_memory.message_numbers'), 's', %s, "
                "'user', '', '', 'x', '', %s, 0, %s, 'd', %s, '' RETURNING id",
                (number, str(place), NOW - timedelta(hours=age), NOW, [f"entity {one}" for one in entities]),
            ).fetchone()
            assert row is not None
            ids[place] = row[0]
        for place, memory in enumerate(memories):
            new = NewMemory(
                session="s", category="fact", role="user", source="user", summary=f"{place}",
                importance=memory.importance, said=NOW - timedelta(hours=memory.age_h),
                messages=tuple(ids[one] for one in sorted(memory.stated) if one in ids),
                entities=tuple(f"entity {one}" for one in memory.entities),
            )  # fmt: skip
            add_memory(conn, number, new, model=None, now=NOW)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(memories=MEMORIES, said=MESSAGES)
def test_a_run_promotes_what_the_plain_model_promotes(
    database_url: str, memories: list[Told], said: list[tuple[float, frozenset[int]]]
) -> None:
    messages = dict(enumerate(said))
    namespace = made_namespace(database_url, short_term_share=1.0, fill=False)
    stored(database_url, namespace, memories, messages)
    done = namespace.promote(now=NOW)
    assert (done.reason, done.problem) == ("rule", "")
    assert {int(text) for text, *_ in query(database_url, _SHORT_TERM, namespace.name)} == model(memories, messages)


OFTEN = {number: (1.0, frozenset({1})) for number in range(5)}


def important(count: int) -> list[Told]:
    """Return memories that pass every threshold with :data:`OFTEN`, each more important than the one before it."""
    return [Told(0.8 + place / 1000, 1.0, frozenset({1}), frozenset()) for place in range(count)]


def test_more_than_the_cap_are_archived_and_not_promoted_again_before_they_are_said_again(database_url: str) -> None:
    namespace = made_namespace(database_url, short_term_cap=4, short_term_share=1.0, fill=False)
    stored(database_url, namespace, important(7), OFTEN)
    done = namespace.promote(now=NOW)
    assert (len(done.promoted), len(done.archived)) == (4, 3)
    kept = [text for text, *_ in query(database_url, _SHORT_TERM, namespace.name)]
    assert kept == ["3", "4", "5", "6"]  # the most important ones
    assert namespace.stats(now=NOW).archived == 3
    again = namespace.promote(now=NOW)
    assert (set(again.promoted), again.archived) == (set(done.promoted), ())
    found = {memory.summary for memory in namespace.retrieve("0 1 2", now=NOW).memories}
    assert found == {"0", "1", "2"}  # archived ones are found


def test_short_term_memory_has_room_for_a_twentieth_and_the_rest_is_promoted_when_there_is_room(
    database_url: str,
) -> None:
    namespace = made_namespace(database_url)
    stated = [Told(0.8 + place / 1000, 1.0, frozenset(), frozenset(OFTEN)) for place in range(60)]
    stored(database_url, namespace, stated, OFTEN)
    done = namespace.promote(now=NOW)
    kept = [text for text, *_ in query(database_url, _SHORT_TERM, namespace.name)]
    assert kept == ["57", "58", "59"]  # the most important ones
    assert (len(done.promoted), done.archived, namespace.stats(now=NOW).archived) == (3, (), 0)
    unheard = [Told(0.1, 1.0, frozenset(), frozenset()) for _ in range(60)]
    stored(database_url, namespace, unheard, {})
    assert len(namespace.promote(now=NOW).promoted) == 6


def test_a_short_term_memory_expires_unless_it_is_promoted_again(database_url: str) -> None:
    namespace = made_namespace(database_url, fill=False)
    stored(database_url, namespace, important(2), OFTEN)
    namespace.promote(now=NOW)
    ((_, reason, expires, mentions), _) = query(database_url, _SHORT_TERM, namespace.name)
    assert (reason, expires, mentions) == ("rule", NOW + timedelta(hours=24), 5)
    later = NOW + timedelta(hours=25)  # nobody mentioned it since
    assert namespace.stats(now=later).short_term == 0
    assert namespace.promote(now=later).expired == 2
    assert query(database_url, _SHORT_TERM, namespace.name) == []


def test_a_failing_analysis_promotes_by_recency_and_says_so(
    new_database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    namespace = made_namespace(new_database_url, short_term_share=0.3)
    ages = [
        Told(0.1, age, frozenset(), frozenset())
        for age in (100.0, 1.0, 50.0, 2.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0)
    ]
    stored(new_database_url, namespace, ages, OFTEN)
    query(new_database_url, "ALTER TABLE agent_memory.memory_relationships RENAME TO gone")
    with caplog.at_level(logging.WARNING, "agent_home.namespaces"):
        done = namespace.promote(now=NOW)
    assert (done.reason, done.problem) == ("recency", "DatabaseFailed")
    assert [(text, reason) for text, reason, *_ in query(new_database_url, _SHORT_TERM, namespace.name)] == [
        ("1", "recency"), ("2", "recency"), ("3", "recency"),
    ]  # fmt: skip
    (line,) = caplog.messages
    assert line == f"promotion of {namespace.name}: the analysis failed (DatabaseFailed). Promoted by recency"


def test_two_runs_at_once_promote_a_namespace_once(database_url: str) -> None:
    namespaces = [made_namespace(database_url, short_term_share=1.0) for _ in range(6)]
    for namespace in namespaces:
        stored(database_url, namespace, important(3), OFTEN)
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda one: one.promote(now=NOW, if_due=False), namespaces * 4))
    for place, namespace in enumerate(namespaces):
        mine = done[place :: len(namespaces)]
        assert sum(not one.busy for one in mine) >= 1
        assert len(query(database_url, _SHORT_TERM, namespace.name)) == 3


def test_a_promotion_is_due_six_hours_after_the_last_one_and_two_under_load(database_url: str) -> None:
    for messages, hours in ((3, 6), (4, 2)):
        namespace = made_namespace(database_url, load_messages=4)
        talk(namespace, "I prefer the harbour logo.")
        namespace.promote(now=NOW)
        assert namespace.stats().promote_after is None  # nothing is in short-term memory, and nothing new came
        talk(namespace, *(f"I walked {number} miles." for number in range(messages)))
        assert namespace.stats().promote_after == NOW + timedelta(hours=hours)
        assert not namespace.promote(if_due=True, now=NOW + timedelta(hours=hours, seconds=-1)).due
        assert namespace.promote(if_due=True, now=NOW + timedelta(hours=hours)).due


def test_messages_that_are_not_read_yet_count_as_load(database_url: str) -> None:
    namespace = made_namespace(database_url, load_messages=4)
    for number in range(5):
        namespace.record(f"I walked {number} miles.", now=NOW)
    namespace.process(most=1, now=NOW)
    assert namespace.stats().promote_after == NOW + timedelta(hours=2)
    assert namespace.stats().pending == 4
