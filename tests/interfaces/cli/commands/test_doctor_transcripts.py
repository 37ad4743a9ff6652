"""Test how ``memory doctor`` reports transcripts that lost messages, and locks that a killed git left."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from interfaces.cli import cli


def checks(home: Home) -> list[dict[str, str]]:
    result = CliRunner().invoke(cli, ["doctor", "--json", "--home", str(home.root)])
    found: list[dict[str, str]] = json.loads(result.stdout)["checks"]
    return found


def check(home: Home, name: str) -> dict[str, str]:
    return next(one for one in checks(home) if one["name"] == name)


def close_one(home: Home, now: datetime) -> None:
    said = Message(session="s-1", id="m1", ts=now.isoformat(), content="Decision: we ship on Monday.")
    transcript.append(home, "s-1", [said], actor="test", now=now)
    close(home, "s-1", now=now)


def transcript_of(home: Home) -> Path:
    (one,) = transcript.sessions(home)
    return one.path


@pytest.mark.parametrize("change", ["deleted", "cut"])
def test_doctor_names_a_transcript_that_lost_messages(home: Home, now: datetime, change: str) -> None:
    said = Message(session="s-1", id="m1", ts=now.isoformat(), content="Decision: we ship on Monday.")
    transcript.append(home, "s-1", [said], actor="test", now=now)
    assert check(home, "transcripts")["status"] == "ok"
    path = transcript_of(home)
    if change == "deleted":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20])
    found = check(home, "transcripts")
    assert found["status"] == "warning"
    assert home.relative(path) in found["detail"]
    assert "not closed" in found["detail"]
    transcript.append(home, "s-1", [said], actor="test", now=now)
    assert check(home, "transcripts")["status"] == "ok"


def test_doctor_says_that_a_closed_part_of_a_lost_transcript_stays(home: Home, now: datetime) -> None:
    close_one(home, now)
    close_two = Message(session="s-2", id="m1", ts=now.isoformat(), content="x")
    transcript.append(home, "s-2", [close_two], actor="test", now=now)  # else all transcripts are gone, another check
    next(one for one in transcript.sessions(home) if one.session == "s-1").path.unlink()
    found = check(home, "transcripts")
    assert found["status"] == "info"
    assert "stays in memory" in found["detail"]


def test_doctor_names_all_locks_that_a_killed_git_left(home: Home, now: datetime) -> None:
    """The doctor cannot know whose they are, and says that it mended nothing."""
    git_folder = home.root / ".git"
    names = ("HEAD.lock", "index.lock", "refs/heads/main.lock")
    for name in names:
        (git_folder / name).touch()
        os.utime(git_folder / name, (now.timestamp(), now.timestamp()))
    found = next(one for one in checks(home) if one["name"] == "git")
    assert found["status"] == "warning"
    assert all(name in found["detail"] for name in names)


def test_doctor_names_no_lock_that_the_next_write_removes(home: Home, now: datetime) -> None:
    """Before, a writer that was killed while git changed the staging area left a warning, with the same lock twice."""
    git_folder = home.root / ".git"
    for path in (git_folder / "next-index-12.lock", home.machine / "committing"):
        path.touch()
        os.utime(path, (now.timestamp(), now.timestamp()))
    assert not [one for one in checks(home) if one["name"] == "git" and "locks" in one["detail"]]
    (home.machine / "committing").unlink()
    found = next(one for one in checks(home) if one["name"] == "git" and one["status"] == "warning")
    assert found["detail"].count("next-index-12.lock") == 1


def test_doctor_says_what_it_could_not_fix(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(home: Home) -> None:
        raise OSError("read-only")

    monkeypatch.setattr("interfaces.doctor.repair.driver_state", refuse)
    result = CliRunner().invoke(cli, ["doctor", "--fix", "--home", str(home.root)])
    assert "not fixed read-only" in result.stdout
    assert "not fixed" not in json.dumps([line for line in result.stdout.splitlines() if line.startswith("fixed")])
    assert result.exit_code == 1
    data = json.loads(CliRunner().invoke(cli, ["doctor", "--fix", "--json", "--home", str(home.root)]).stdout)
    assert data["not_fixed"] == ["read-only"]
