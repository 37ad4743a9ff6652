"""What the doctor says of hooks."""

from __future__ import annotations

from datetime import datetime

from agent_home.home import Home
from interfaces.hosts import queue
from interfaces.hosts.captured import OpenSession, write_open
from interfaces.hosts.check import hosts_check


def test_a_home_without_hooks_is_in_order(home: Home) -> None:
    assert hosts_check(home) == ("ok", "0 sessions of chat hosts not closed yet")


def test_sessions_that_fail_are_named_from_the_third_failure_on(home: Home, now: datetime) -> None:
    for failures, status in ((2, "ok"), (3, "warning")):
        item = OpenSession(
            host="codex", session="s", transcript="/t", cwd="/", at=now.timestamp(), failures=failures, problem="locked"
        )
        write_open(home.root, {"codex\0s": item}, now.timestamp())
        assert hosts_check(home)[0] == status
    assert "of codex could not be saved: locked" in hosts_check(home)[1]


def test_the_last_error_of_a_hook_is_named(home: Home) -> None:
    queue.note_error(home.root, "2026-11-27T10:00:00 OSError queue.py:10")
    queue.note_error(home.root, "2026-11-28T10:00:00 ValueError event.py:60")
    status, detail = hosts_check(home)
    assert status == "warning"
    assert "2026-11-28T10:00:00 ValueError event.py:60" in detail
