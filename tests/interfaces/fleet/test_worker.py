"""Nightly runs from the queue: each home once, on the host that holds it, and again where one failed or died."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from agent_home.home import MEMORY, Home
from interfaces.api import AgentHome
from interfaces.fleet.moves import move
from interfaces.fleet.queue import QueueState, defer_nightly, prepare_queue, queue_state
from interfaces.fleet.worker import NightlyFailed, WorkerOptions, run_worker
from recall.index.migration import index_counts
from tests.fleet import on_remote
from tests.recall.hashing_embedder import HashingEmbedder

from .conftest import Fleet, RunningHost, until


def once(host: RunningHost, **options: float) -> list[str]:
    """Let a worker of *host* run what waits for its homes, and return the homes."""
    done: list[str] = []
    given = WorkerOptions(once=True, poll_s=0.1, environ={}, done=done.append, **options)  # type: ignore[arg-type]
    run_worker(host.folder, host.url, threading.Event(), given)
    return done


@contextmanager
def working(host: RunningHost) -> Iterator[list[str]]:
    done, stop = list[str](), threading.Event()
    given = WorkerOptions(poll_s=0.1, stalled_s=1.0, environ={}, done=done.append)
    thread = threading.Thread(target=run_worker, args=(host.folder, host.url, stop, given))
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


def said(home: Home, text: str = "Remember that we review on Mondays.") -> None:
    AgentHome(home).append("s1", [{"role": "user", "content": text}])


@pytest.fixture
def one(fleet: Fleet, home: Home) -> RunningHost:
    host = fleet.host("one")
    fleet.add("ada", home, host)
    fleet.await_holder("ada", "one")
    return host


def test_a_home_has_at_most_one_run_in_the_queue(fleet: Fleet, one: RunningHost) -> None:
    assert queue_state(fleet.url) == QueueState()
    assert defer_nightly(fleet.url, ["ada", "bob"]) == (["ada", "bob"], [])
    assert defer_nightly(fleet.url, ["ada", "bob"]) == ([], ["ada", "bob"])
    prepare_queue(fleet.url)
    assert queue_state(fleet.url).todo == 2
    assert one.home("ada").root.exists()


def test_a_run_closes_sessions_and_is_published(fleet: Fleet, one: RunningHost) -> None:
    held = one.home("ada")
    said(held)
    defer_nightly(fleet.url, ["ada"])
    assert once(one) == ["ada"]
    state = queue_state(fleet.url)
    assert (state.todo, state.doing, state.succeeded, state.failed) == (0, 0, 1, 0)
    assert "Mondays" in on_remote(str(fleet.place / "ada.git"), MEMORY)
    assert defer_nightly(fleet.url, ["ada"]) == (["ada"], [])


def test_a_run_makes_the_vectors_that_a_home_arrived_without(
    fleet: Fleet, one: RunningHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interfaces.indexing.home_embedder", lambda *_, **__: HashingEmbedder())
    held = one.home("ada")
    (held.root / "Knowledge").mkdir(exist_ok=True)
    (held.root / "Knowledge" / "towers.md").write_text("# Towers\n\nThe falcon lives in the old tower.\n", "utf-8")
    defer_nightly(fleet.url, ["ada"])
    assert once(one) == ["ada"]
    counts = index_counts(held)
    assert counts is not None
    assert counts.passages == counts.vectors > 0


def test_a_worker_runs_the_homes_of_its_host_alone(fleet: Fleet, one: RunningHost) -> None:
    two = fleet.host("two")
    defer_nightly(fleet.url, ["ada"])
    assert once(two) == []
    assert queue_state(fleet.url).todo == 1
    move(fleet.registry, "ada", "two")
    fleet.await_holder("ada", "two")
    assert once(one) == []
    assert once(two) == ["ada"]


def test_a_home_that_comes_while_a_worker_works_is_run(fleet: Fleet, one: RunningHost) -> None:
    two = fleet.host("two")
    with working(two) as done:
        defer_nightly(fleet.url, ["ada"])
        move(fleet.registry, "ada", "two")
        until(lambda: done == ["ada"], "the home was run where it came to")
    assert one.looked.is_set()


def test_a_run_of_a_dead_worker_begins_again_with_the_next_holder(fleet: Fleet, one: RunningHost) -> None:
    held = one.home("ada")
    said(held)
    defer_nightly(fleet.url, ["ada"])
    with psycopg.connect(fleet.url, autocommit=True) as conn:  # as a worker does that is killed in the middle of a run
        worker = conn.execute("SELECT worker_id FROM procrastinate_register_worker_v1()").fetchone()
        conn.execute("SELECT id FROM procrastinate_fetch_job_v2(ARRAY['home:ada'], %s)", worker)
    assert queue_state(fleet.url).doing == 1
    assert once(one) == []
    one.end()
    two = fleet.host("two")
    moved = fleet.await_holder("ada", "two")
    with working(two) as done:
        until(lambda: done == ["ada"], "the run began again")
    assert "Mondays" in (moved.root / MEMORY).read_text()
    assert queue_state(fleet.url).succeeded == 1


def test_a_run_that_fails_is_tried_again_later_and_named_at_last(
    fleet: Fleet, one: RunningHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interfaces.fleet.worker._FIRST_S", 0)
    monkeypatch.setattr("interfaces.fleet.worker._MOST_TRIES", 3)
    monkeypatch.setattr("interfaces.fleet.worker._LONGEST_S", 0)
    held = one.home("ada")
    said(held)
    (held.root / MEMORY).write_bytes(b"\xff\xfe broken")
    defer_nightly(fleet.url, ["ada"])
    for _ in range(3):
        assert once(one) == []
    state = queue_state(fleet.url)
    assert (state.todo, state.doing, state.failed) == (0, 0, 1)
    assert [row["home"] for row in state.failures] == ["ada"]
    assert state.failures[0]["attempts"] == 3


def test_a_stalled_run_gives_way_to_the_next_one_that_waits(fleet: Fleet, one: RunningHost) -> None:
    defer_nightly(fleet.url, ["ada"])
    with psycopg.connect(fleet.url, autocommit=True) as conn:
        worker = conn.execute("SELECT worker_id FROM procrastinate_register_worker_v1()").fetchone()
        conn.execute("SELECT id FROM procrastinate_fetch_job_v2(ARRAY['home:ada'], %s)", worker)
        conn.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
    assert defer_nightly(fleet.url, ["ada"]) == (["ada"], [])
    assert once(one) == ["ada"]
    state = queue_state(fleet.url)
    assert (state.todo, state.doing, state.succeeded, state.failed) == (0, 0, 1, 0)


def test_a_run_of_a_home_that_left_meanwhile_is_not_tried_again(
    fleet: Fleet, one: RunningHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object, **_more: object) -> None:
        fleet.registry.remove_home("ada")
        raise NightlyFailed("it failed")

    monkeypatch.setattr("interfaces.fleet.worker.maintain", fail)
    defer_nightly(fleet.url, ["ada"])
    assert once(one) == []
    assert queue_state(fleet.url).todo == 0
