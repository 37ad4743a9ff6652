"""Test names, shares and deletion of namespaces."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import LiteralString

import pytest

from recall.namespaces.errors import NamespaceRefused, NoSuchNamespace
from recall.namespaces.registry import due_namespaces, namespace_names
from recall.namespaces.schema import database
from tests.made_namespaces import NOW, made_name, made_namespace, query, talk

_TABLES: tuple[LiteralString, ...] = (
    "chat_history", "pending_messages", "long_term_memory", "short_term_memory", "memory_entities",
    "memory_relationships",
)  # fmt: skip


def test_a_name_in_look_alike_letters_is_refused_where_the_plain_one_is_there(database_url: str) -> None:
    name = made_name("prod")
    made_namespace(database_url, name).record("Hello.", now=NOW)
    with pytest.raises(NamespaceRefused, match="looks like"):
        made_namespace(database_url, name.replace("o", "\u043e", 1)).record("Hello.", now=NOW)


def test_several_first_writers_make_one_namespace(database_url: str) -> None:
    name = made_name()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: made_namespace(database_url, name).record("Hello.", now=NOW), range(8)))
    with database(database_url) as conn:
        assert namespace_names(conn, prefix=name) == [name]
    assert made_namespace(database_url, name).stats().messages == 8


def test_a_share_has_one_direction_and_does_not_go_on(database_url: str) -> None:
    a, b, c = (made_namespace(database_url) for _ in range(3))
    for one, word in ((a, "aardvark"), (b, "badger"), (c, "cormorant")):
        talk(one, f"I prefer the {word} logo.")
    assert a.share_with(b.name)
    assert not a.share_with(b.name)
    assert b.share_with(c.name)
    read = {
        one.name: {memory.namespace for memory in one.retrieve("logo aardvark badger cormorant", now=NOW).memories}
        for one in (a, b, c)
    }
    assert read == {a.name: {a.name}, b.name: {a.name, b.name}, c.name: {b.name, c.name}}
    assert (b.stats().reads, b.stats().read_by) == ((a.name,), (c.name,))
    assert a.stop_sharing_with(b.name)
    assert not a.stop_sharing_with(b.name)
    assert {memory.namespace for memory in b.retrieve("logo aardvark badger", now=NOW).memories} == {b.name}


def test_a_namespace_shares_neither_with_itself_nor_with_one_that_is_not_there(database_url: str) -> None:
    namespace = made_namespace(database_url)
    namespace.record("Hello.", now=NOW)
    with pytest.raises(NamespaceRefused):
        namespace.share_with(namespace.name)
    with pytest.raises(NoSuchNamespace, match="memory namespaces list"):
        namespace.share_with(made_name())


def test_deleting_a_namespace_leaves_no_row_of_it_in_any_table(database_url: str) -> None:
    kept, gone = made_namespace(database_url), made_namespace(database_url)
    for one in (kept, gone):
        for number in range(5):
            talk(one, f"I prefer Flask for service number {number}.", session=f"s{number}")
        one.promote(now=NOW)
    gone.share_with(kept.name)
    ((number,),) = query(database_url, "SELECT id FROM agent_memory.namespaces WHERE name = %s", gone.name)
    gone.delete()
    for table in _TABLES:
        count: LiteralString = "SELECT count(*) FROM agent_memory." + table + " WHERE namespace = %s"  # noqa: S608 - constants
        assert query(database_url, count, number) == [(0,)], table
    assert query(database_url, "SELECT count(*) FROM agent_memory.shares WHERE owner = %s", number) == [(0,)]
    assert kept.stats().messages == 5
    assert gone.retrieve("Flask", now=NOW).memories == ()
    with pytest.raises(NoSuchNamespace):
        gone.delete()


def test_a_namespace_that_is_deleted_while_agents_write_is_made_anew_or_gone(database_url: str) -> None:
    name = made_name()
    writer = made_namespace(database_url, name)
    with ThreadPoolExecutor(5) as pool:
        writes = [pool.submit(writer.record, f"fact {number}", now=NOW) for number in range(80)]
        for _ in range(8):
            try:
                made_namespace(database_url, name).delete()
            except NoSuchNamespace:
                continue
        assert not any(write.result().known for write in writes)
    writer.record("the last one", now=NOW)
    assert writer.stats().messages == writer.stats().pending >= 1


def test_due_namespaces_are_those_with_unread_messages_or_a_late_promotion(new_database_url: str) -> None:
    unread, late, idle = (made_namespace(new_database_url) for _ in range(3))
    unread.record("Hello.", now=NOW)
    talk(late, "I prefer Flask.")
    talk(idle, "I prefer FastAPI.")
    idle.promote(now=NOW)
    with database(new_database_url) as conn:
        now = {one.name: (one.unread, one.promotion) for one in due_namespaces(conn, NOW, most=10)}
        later = {one.name for one in due_namespaces(conn, NOW.replace(hour=19), most=10)}
    assert now == {unread.name: (True, False)}
    assert later == {unread.name, late.name}
