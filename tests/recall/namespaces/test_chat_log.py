"""Test that the log keeps every exchange once, whoever appends it and however often."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from distill.namespaces.recording import SaidExchange
from tests.made_namespaces import NOW, made_name, made_namespace, query

_LOGGED = (
    "SELECT c.id, c.message_id, c.user_input FROM agent_memory.chat_history c "
    "JOIN agent_memory.namespaces n ON n.id = c.namespace WHERE n.name = %s ORDER BY c.id"
)


def test_an_exchange_that_is_sent_again_adds_nothing(database_url: str) -> None:
    namespace = made_namespace(database_url)
    first = namespace.record("We ship on Friday.", "Noted.", message_id="m1", now=NOW)
    again = namespace.record("We ship on Friday.", "Noted.", message_id="m1", now=NOW)
    assert (first.known, again.known, again.message_id) == (False, True, "m1")
    assert len(query(database_url, _LOGGED, namespace.name)) == 1
    assert namespace.stats().pending == 1


def test_the_same_id_with_other_words_is_a_revision_and_both_stay(database_url: str) -> None:
    namespace = made_namespace(database_url)
    namespace.record("We ship on Friday.", message_id="m1", now=NOW)
    revised = [namespace.record("We ship on Monday.", message_id="m1", now=NOW) for _ in range(2)]
    assert [one.known for one in revised] == [False, True]
    assert revised[0].message_id == revised[1].message_id
    assert revised[0].message_id.startswith("m1~")
    texts = [text for _, _, text in query(database_url, _LOGGED, namespace.name)]
    assert texts == ["We ship on Friday.", "We ship on Monday."]


def test_an_exchange_without_an_id_is_new_each_time(database_url: str) -> None:
    namespace = made_namespace(database_url)
    assert len({namespace.record("Hello.", now=NOW).message_id for _ in range(3)}) == 3


def test_the_exchanges_of_one_request_stand_in_its_order(database_url: str) -> None:
    namespace = made_namespace(database_url)
    said = [SaidExchange(user_input=f"line {number}", message_id=f"m{9 - number}") for number in range(9)]
    namespace.record_all([*said, said[0]], now=NOW)
    assert [text for _, _, text in query(database_url, _LOGGED, namespace.name)] == [one.user_input for one in said]


def test_eight_agents_that_append_the_same_exchanges_at_once_lose_and_double_nothing(database_url: str) -> None:
    name = made_name()
    said = [SaidExchange(user_input=f"fact number {number}", message_id=f"m{number}") for number in range(60)]

    def append(agent: int) -> list[bool]:
        namespace = made_namespace(database_url, name)
        mine = said[agent:] + said[:agent]  # another order for each of them
        done = [one for start in range(0, 60, 20) for one in namespace.record_all(mine[start : start + 20], now=NOW)]
        done += namespace.record_all([SaidExchange(user_input=f"agent {agent}", message_id=f"a{agent}")], now=NOW)
        return [one.known for one in done]

    with ThreadPoolExecutor(8) as pool:
        known = Counter(one for agent in pool.map(append, range(8)) for one in agent)
    rows = query(database_url, _LOGGED, name)
    assert Counter(message_id for _, message_id, _ in rows) == Counter(
        [*(f"m{number}" for number in range(60)), *(f"a{agent}" for agent in range(8))]
    )
    assert known == {False: 68, True: 8 * 61 - 68}
    assert made_namespace(database_url, name).stats().pending == 68


def test_two_namespaces_may_have_the_same_ids(database_url: str) -> None:
    one, other = made_namespace(database_url), made_namespace(database_url)
    assert not one.record("Hello.", message_id="m1", now=NOW).known
    assert not other.record("Hello.", message_id="m1", now=NOW).known
