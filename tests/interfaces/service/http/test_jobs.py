"""Test work behind requests: its states, who may ask about it, and how long it is remembered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agent_home.errors import NoSuchEntry
from interfaces.service.http import jobs as jobs_module
from interfaces.service.http.jobs import Jobs
from tests.interfaces.service.running_service import PATIENCE_S


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


def failing() -> dict[str, Any]:
    raise NoSuchEntry("KD-0000", [])


def defective() -> dict[str, Any]:
    raise RuntimeError("zanzibarite")


def test_a_job_that_is_done_has_the_result_of_its_work(jobs: Jobs) -> None:
    ended = threading.Event()
    job = jobs.start("close", "me", lambda: {"session": "s"}, ended.set)
    assert ended.wait(PATIENCE_S)
    assert job.as_dict() == {"job": job.id, "kind": "close", "state": "done", "result": {"session": "s"}}
    assert (job.status, jobs.waiting("me")) == (200, 0)


def test_a_job_that_failed_has_the_status_and_the_message_of_its_error(jobs: Jobs) -> None:
    ended = threading.Event()
    job = jobs.start("close", "me", failing, ended.set)
    assert ended.wait(PATIENCE_S)
    assert (job.state, job.status) == ("failed", 404)
    assert job.answer is not None
    assert "KD-0000" in job.answer["error"]


def test_a_defect_in_a_job_says_only_its_kind_and_its_place_stands_in_the_log(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr("interfaces.service.http.problem.LOGGER.error", lambda _form, line: logged.append(line))
    ended = threading.Event()
    job = jobs.start("close", "me", defective, ended.set)
    assert ended.wait(PATIENCE_S)
    assert job.status == 500
    assert "zanzibarite" not in str(job.as_dict())
    assert job.id in logged[0]
    assert "test_jobs.py:" in logged[0]
    assert "zanzibarite" not in logged[0]


def test_jobs_wait_until_a_worker_is_free_and_are_counted() -> None:
    jobs = Jobs(workers=1)
    go, begun = threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        begun.set()
        assert go.wait(PATIENCE_S)
        return {}

    first = jobs.start("close", "me", slow)
    second = jobs.start("close", "me", dict)
    assert begun.wait(PATIENCE_S)
    assert (first.state, second.state, jobs.waiting("me")) == ("running", "queued", 2)
    go.set()
    jobs._pool.shutdown(wait=True)
    assert (first.state, second.state, jobs.waiting("me")) == ("done", "done", 0)


def test_closing_waits_for_the_work_that_runs_and_starts_no_other() -> None:
    jobs = Jobs(workers=1)
    begun, go = threading.Event(), threading.Event()

    def slow() -> dict[str, Any]:
        begun.set()
        assert go.wait(PATIENCE_S)
        return {}

    first, second = jobs.start("close", "me", slow), jobs.start("close", "me", dict)
    assert begun.wait(PATIENCE_S)
    threading.Timer(0.05, go.set).start()
    jobs.close()
    assert (first.state, second.state) == ("done", "queued")


def test_only_its_owner_finds_a_job(jobs: Jobs) -> None:
    job = jobs.start("close", "me", dict)
    assert jobs.find(job.id, "me") is job
    assert jobs.find(job.id, "you") is None
    assert jobs.find("nope", "me") is None


def test_the_oldest_ended_jobs_are_forgotten_and_none_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_MOST_KEPT", 3)
    jobs = Jobs(workers=1)
    ended = [threading.Event() for _ in range(3)]
    old = [jobs.start("close", "me", dict, event.set) for event in ended]
    assert all(event.wait(PATIENCE_S) for event in ended)
    go = threading.Event()

    def slow() -> dict[str, Any]:
        assert go.wait(PATIENCE_S)
        return {}

    waiting = [jobs.start("close", "me", slow) for _ in range(4)]
    assert [jobs.find(job.id, "me") for job in old] == [None, None, None]
    assert [jobs.find(job.id, "me") for job in waiting] == waiting
    go.set()
    jobs.close()
