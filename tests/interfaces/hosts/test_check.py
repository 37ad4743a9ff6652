"""What the doctor says of hooks."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.hosts import queue
from interfaces.hosts.captured import OpenSession, write_open
from interfaces.hosts.check import hosts_check
from interfaces.hosts.event import HOSTS
from interfaces.hosts.install import install, settings_path


def ago(days: int) -> str:
    """Return the time so many days ago, as hooks write it."""
    return f"{datetime.now().astimezone() - timedelta(days=days):%Y-%m-%dT%H:%M:%S}"


def test_a_home_without_hooks_is_in_order(home: Home, tmp_path: Path) -> None:
    assert hosts_check(home, tmp_path) == ("ok", "hooks in no host, 0 sessions not closed yet")


def test_sessions_that_fail_are_named_from_the_third_failure_on(home: Home, tmp_path: Path, now: datetime) -> None:
    for failures, status in ((2, "ok"), (3, "warning")):
        item = OpenSession(
            host="codex", session="s", transcript="/t", cwd="/", at=now.timestamp(), failures=failures, problem="locked"
        )
        write_open(home.root, {"codex\0s": item}, now.timestamp())
        assert hosts_check(home, tmp_path)[0] == status
    assert "of codex could not be saved: locked" in hosts_check(home, tmp_path)[1]


def test_the_last_error_of_a_hook_is_named(home: Home, tmp_path: Path) -> None:
    queue.note_error(home.root, f"{ago(2)} OSError queue.py:10")
    queue.note_error(home.root, f"{ago(1)} ValueError event.py:60")
    status, detail = hosts_check(home, tmp_path)
    assert status == "warning"
    assert "ValueError event.py:60" in detail
    assert "OSError" not in detail


def test_an_error_of_a_hook_is_forgotten_after_a_week(home: Home, tmp_path: Path) -> None:
    queue.note_error(home.root, f"{ago(8)} ValueError event.py:60")
    assert hosts_check(home, tmp_path)[0] == "ok"
    queue.note_error(home.root, f"{ago(1)} ValueError event.py:60")
    assert hosts_check(home, tmp_path)[0] == "warning"


def test_the_hosts_that_have_hooks_for_this_home_are_named(home: Home, tmp_path: Path) -> None:
    install(home, "codex", settings_path("codex", "user", tmp_path / "user"), apply=True)
    install(home, "gemini", settings_path("gemini", "project", tmp_path / "project"), apply=True)
    detail = hosts_check(home, tmp_path / "user", tmp_path / "project")[1]
    assert detail.startswith("hooks in codex, gemini (project), 0 sessions")


@pytest.mark.parametrize("host", HOSTS)
def test_settings_that_name_a_home_that_is_gone_are_named(home: Home, tmp_path: Path, host: str) -> None:
    path = settings_path(host, "user", tmp_path)
    gone = tmp_path / "gone"
    install(home, host, path, apply=True)
    assert hosts_check(home, tmp_path)[0] == "ok"
    path.write_text(path.read_text().replace(str(home.root), str(gone)))
    status, detail = hosts_check(home, tmp_path)
    assert status == "warning"
    assert f"{path} name {gone}, and no home is there" in detail
    assert f"`memory install {host}`" in detail


@pytest.mark.parametrize("host", HOSTS)
def test_settings_that_are_a_link_to_themselves_are_named(home: Home, tmp_path: Path, host: str) -> None:
    path = settings_path(host, "user", tmp_path)
    path.parent.mkdir()
    path.symlink_to(path.name)
    status, detail = hosts_check(home, tmp_path)
    assert status == "warning"
    assert f"{path} is a link that leads to itself" in detail


@pytest.mark.parametrize("host", HOSTS)
def test_settings_of_the_project_at_hand_are_looked_at_as_well(home: Home, tmp_path: Path, host: str) -> None:
    user, project = tmp_path / "user", tmp_path / "project"
    path = settings_path(host, "project", project)
    install(home, host, path, apply=True)
    assert hosts_check(home, user, project)[0] == "ok"
    path.write_text(path.read_text().replace(str(home.root), str(tmp_path / "gone")))
    status, detail = hosts_check(home, user, project)
    assert status == "warning"
    assert f"`memory install {host} --scope project`" in detail
    assert hosts_check(home, user)[0] == "ok"
