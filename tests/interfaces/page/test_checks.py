"""Checks run beside the requests, once a minute, and one that fails stops neither the page nor the next one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from agent_home.home import Home
from interfaces.doctor.health import Check
from interfaces.page import checks
from interfaces.page.checks import CheckRun, forget_checks, latest_checks


class Examination:
    """Stands for the checks, which a test lets end."""

    def __init__(self) -> None:
        self.calls = 0
        self.may_end = threading.Event()
        self.problem: Exception | None = None

    def __call__(self, _home: Home, _now: datetime) -> list[Check]:
        self.calls += 1
        self.may_end.wait(10)
        if self.problem is not None:
            raise self.problem
        return [Check(name=f"check-{self.calls}", status="ok", detail="")]


@pytest.fixture
def examination(monkeypatch: pytest.MonkeyPatch) -> Iterator[Examination]:
    made = Examination()
    monkeypatch.setattr("interfaces.page.checks.examine", made)
    monkeypatch.setattr("interfaces.page.checks._known", {})
    yield made
    made.may_end.set()


def finished(home: Home, now: datetime) -> CheckRun:
    """Return the checks when none runs any more."""
    for _ in range(1000):
        run = latest_checks(home, now)
        if not run.running:
            return run
        time.sleep(0.01)
    raise AssertionError


def test_a_request_does_not_wait_for_the_checks(examination: Examination, home: Home, now: datetime) -> None:
    begun = time.monotonic()
    run = latest_checks(home, now)
    assert time.monotonic() - begun < 5
    assert (run.running, list(run.checks), run.at) == (True, [], None)
    examination.may_end.set()
    run = finished(home, now)
    assert ([check.name for check in run.checks], run.at) == (["check-1"], now)


def test_many_requests_run_the_checks_once(examination: Examination, home: Home, now: datetime) -> None:
    threads = [threading.Thread(target=latest_checks, args=(home, now)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    examination.may_end.set()
    finished(home, now)
    assert examination.calls == 1


def test_checks_of_a_minute_ago_run_again_and_the_old_ones_are_shown(
    examination: Examination, home: Home, now: datetime
) -> None:
    examination.may_end.set()
    finished(home, now)
    finished(home, now + timedelta(seconds=59))
    assert examination.calls == 1
    examination.may_end.clear()
    run = latest_checks(home, now + timedelta(seconds=61))
    assert run.running
    assert [check.name for check in run.checks] == ["check-1"]
    examination.may_end.set()
    assert [check.name for check in finished(home, now + timedelta(seconds=61)).checks] == ["check-2"]


def test_forgotten_checks_run_again_at_once(examination: Examination, home: Home, now: datetime) -> None:
    forget_checks(home)
    examination.may_end.set()
    finished(home, now)
    forget_checks(home)
    finished(home, now)
    assert examination.calls == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_checks_that_fail_are_said_to_have_failed(examination: Examination, home: Home, now: datetime) -> None:
    examination.problem = RuntimeError("a defect")
    examination.may_end.set()
    run = finished(home, now)
    assert [(check.name, check.status) for check in run.checks] == [("checks", "failed")]
    assert "RuntimeError" in run.checks[0].detail
    assert examination.calls == 1  # not again with every look
    examination.problem = None
    later = finished(home, now + timedelta(minutes=2))
    assert [check.name for check in later.checks] == ["check-2"]


def test_homes_have_checks_of_their_own(
    examination: Examination, home: Home, now: datetime, make_other: object
) -> None:
    examination.may_end.set()
    other: Home = make_other()  # type: ignore[operator]
    assert finished(home, now).checks != finished(other, now).checks
    assert set(checks._known) == {home.root, other.root}
