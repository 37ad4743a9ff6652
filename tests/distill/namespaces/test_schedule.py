"""Test that what is due is done once, by however many processes, and that one failing namespace stops no other."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from distill.namespaces.schedule import DueRun, run_due
from distill.namespaces.screening import NamespaceGuard
from distill.namespaces.statements import read_statements
from guard import GuardSettings
from recall.namespaces.chat_log import LoggedExchange
from recall.namespaces.settings import NamespaceSettings
from tests.made_namespaces import NOW, made_namespace
from tests.recall.hashing_embedder import HashingEmbedder


def run(url: str, hours: float = 0, guard: NamespaceGuard | None = None, **settings: Any) -> DueRun:
    return run_due(
        url, settings=NamespaceSettings(**settings), embedder=HashingEmbedder(dimension=384),
        guard=guard or NamespaceGuard(), clock=lambda: NOW + timedelta(hours=hours),
    )  # fmt: skip


def test_unread_messages_are_read_and_promotions_wait_for_their_time(new_database_url: str) -> None:
    namespaces = [made_namespace(new_database_url) for _ in range(3)]
    for namespace in namespaces:
        for what in ("shop", "blog", "gateway", "dashboard", "forum"):
            namespace.record(f"Please remember that our {what} was written with Flask.", session=what, now=NOW)
    first = run(new_database_url)
    assert (first.namespaces, first.messages, first.promoted) == (3, 15, 0)
    assert run(new_database_url) == DueRun()
    late = run(new_database_url, 6)
    stored = [namespace.stats(now=NOW + timedelta(hours=6)).short_term for namespace in namespaces]
    assert (late.namespaces, late.promoted) == (3, sum(stored))
    assert min(stored) > 0
    assert run(new_database_url, 6) == DueRun()


def test_several_processes_do_all_of_it_once(new_database_url: str) -> None:
    namespaces = [made_namespace(new_database_url) for _ in range(8)]
    for namespace in namespaces:
        for number in range(4):
            namespace.record(f"I prefer wine number {number}.", session=f"s{number}", now=NOW)
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda _: run(new_database_url, batch_messages=2), range(6)))
    done.append(run(new_database_url))
    assert sum(one.messages for one in done) == 32
    assert not any(one.failed for one in done)
    assert all(namespace.stats().pending == 0 for namespace in namespaces)


def test_a_guard_that_cannot_run_leaves_the_messages_and_names_the_namespace(new_database_url: str) -> None:
    namespace = made_namespace(new_database_url)
    namespace.record("I prefer the harbour logo.", now=NOW)
    broken = NamespaceGuard(GuardSettings(rules=("absent.toml",)))
    assert run(new_database_url, guard=broken).failed == (namespace.name,)
    assert namespace.stats().pending == 1
    assert run(new_database_url).messages == 1


def test_a_message_that_a_reader_fails_on_stops_no_other_namespace(
    new_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that waits longest comes first, so nothing would ever be done behind it."""
    namespaces = [made_namespace(new_database_url) for _ in range(2)]
    for place, namespace in enumerate(namespaces):
        namespace.record("I prefer the harbour logo.", session=f"s{place}", now=NOW)

    def fails(exchanges: Sequence[LoggedExchange], *given: Any, **named: Any) -> Any:
        if exchanges[0].session == "s0":
            raise OverflowError
        return read_statements(exchanges, *given, **named)

    monkeypatch.setattr("distill.namespaces.processing.read_statements", fails)
    done = run(new_database_url)
    assert (done.failed, done.messages) == ((namespaces[0].name,), 1)
    assert namespaces[0].stats().pending == 1
