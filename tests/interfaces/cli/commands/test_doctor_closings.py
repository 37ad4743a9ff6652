"""Test how ``memory doctor`` reports that memory is elsewhere, or that a closing is no more in it."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime

from click.testing import CliRunner

from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill import close
from interfaces.cli import cli


def check(home: Home, name: str) -> dict[str, str]:
    result = CliRunner().invoke(cli, ["doctor", "--json", "--home", str(home.root)])
    found: list[dict[str, str]] = json.loads(result.stdout)["checks"]
    return next(one for one in found if one["name"] == name)


def git(home: Home, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(home.root), *arguments], check=True, capture_output=True)


def test_doctor_names_a_closing_that_a_reset_took_away(home: Home, now: datetime) -> None:
    said = Message(session="s-1", id="m1", ts=now.isoformat(), content="Decision: we ship on Monday.")
    transcript.append(home, "s-1", [said], actor="test", now=now)
    close(home, "s-1", now=now)
    assert check(home, "closings")["status"] == "ok"
    git(home, "reset", "--quiet", "--hard", "HEAD~1")
    found = check(home, "closings")
    assert found["status"] == "warning"
    assert "s-1" in found["detail"]
    assert "memory close --all" in found["detail"]
    close(home, "s-1", now=now)
    assert check(home, "closings")["status"] == "ok"


def test_doctor_fails_on_another_branch(home: Home) -> None:
    git(home, "switch", "--quiet", "--create", "other")
    found = check(home, "git")
    assert found["status"] == "failed"
    assert "git switch main" in found["detail"]


def test_doctor_names_what_was_set_aside(home: Home) -> None:
    (home.machine / "recovered").mkdir()
    (home.machine / "recovered" / "1-0-MEMORY.md").write_text("text")
    found = check(home, "closings")
    assert found["status"] == "warning"
    assert "1-0-MEMORY.md" in found["detail"]


def test_doctor_says_how_a_deleted_memory_comes_back(home: Home) -> None:
    (home.root / "MEMORY.md").unlink()
    found = check(home, "manifest")
    assert found["status"] == "failed"
    assert "git checkout HEAD -- MEMORY.md" in found["detail"]
    git(home, "checkout", "HEAD", "--", "MEMORY.md")
    assert check(home, "manifest")["status"] == "ok"
