"""The record of sessions that are not closed yet: read back as it was, and no damage in it stops anybody."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_home.home import Home
from interfaces.hosts.captured import OpenSession, capture_problem, read_open, write_open
from interfaces.hosts.queue import folder

DAY_S = timedelta(days=1).total_seconds()


def item(session: str, at: float, **changes: Any) -> OpenSession:
    return OpenSession(**{"host": "codex", "session": session, "transcript": "/t", "cwd": "/", "at": at, **changes})


def write(home: Home, text: str | bytes) -> Path:
    path = folder(home.root) / "open.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_sessions_come_back_as_they_were(home: Home, now: datetime) -> None:
    at = now.timestamp()
    sessions = {
        "codex\0s1": item("s1", at, ended=True, last_message="港口\n\0 \ud800", failures=2, problem="the disk is full"),
        "codex\0s2": item("s2", at - 5),
    }
    write_open(home.root, sessions, at)
    assert read_open(home.root) == sessions
    assert (folder(home.root) / "open.json").stat().st_mode & 0o077 == 0


def test_a_session_is_given_up_after_thirty_days_and_no_day_before(home: Home, now: datetime) -> None:
    at = now.timestamp()
    sessions = {name: item(name, at - days * DAY_S) for name, days in (("old", 30.1), ("young", 29.9))}
    write_open(home.root, sessions, at)
    assert list(read_open(home.root)) == ["young"]


def test_there_is_a_problem_from_the_third_failure_on(home: Home, now: datetime) -> None:
    at = now.timestamp()
    for failures in range(5):
        failing = {"k": item("s", at, failures=failures, problem="no room"), "other": item("o", at)}
        write_open(home.root, failing, at)
        problem = capture_problem(home)
        assert bool(problem) == (failures >= 3)
    assert "1 earlier session" in problem
    assert "no room" in problem
    assert "\n" not in problem


def test_a_session_that_works_again_is_no_problem(home: Home, now: datetime) -> None:
    at = now.timestamp()
    write_open(home.root, {"k": item("s", at, failures=7, problem="no room")}, at)
    write_open(home.root, {"k": item("s", at)}, at)
    assert capture_problem(home) == ""


DAMAGED = ["", "{", "[]", "null", "7", '{"k": 1}', '{"k": {}}', '{"k": {"host": "codex"}}', b"\xff\xfe", b"\0" * 100]


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_record_has_no_session(home: Home, now: datetime, text: str | bytes) -> None:
    write(home, text)
    assert read_open(home.root) == {}
    assert capture_problem(home) == ""
    sessions = {"k": item("s", now.timestamp())}
    write_open(home.root, sessions, now.timestamp())
    assert read_open(home.root) == sessions


def test_a_deep_record_has_no_session(home: Home) -> None:
    write(home, "[" * 100_000)
    assert read_open(home.root) == {}


@pytest.mark.parametrize(
    "changes", [{"at": "soon"}, {"failures": "many"}, {"transcript": 5}, {"host": None}, {"ended": "no"}]
)
def test_a_record_with_a_value_of_a_wrong_type_has_no_session(home: Home, changes: dict[str, Any]) -> None:
    row = {"host": "codex", "session": "s", "transcript": "/t", "cwd": "/", "at": 1.0, "failures": 0, **changes}
    write(home, json.dumps({"k": row}))
    assert read_open(home.root) == {}


def test_a_link_is_neither_read_nor_written_through(home: Home, now: datetime, tmp_path: Path) -> None:
    at = now.timestamp()
    write_open(home.root, {"k": item("planted", at)}, at)
    path, elsewhere = folder(home.root) / "open.json", tmp_path / "elsewhere.json"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert read_open(home.root) == {}
    before = elsewhere.read_bytes()
    write_open(home.root, {"k": item("mine", at)}, at)
    assert elsewhere.read_bytes() == before
    assert [found.session for found in read_open(home.root).values()] == ["mine"]


def test_a_home_without_hooks_has_no_session_and_gets_no_folder(home: Home) -> None:
    assert read_open(home.root) == {}
    assert capture_problem(home) == ""
    assert not folder(home.root).exists()
