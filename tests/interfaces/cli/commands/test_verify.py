"""Test ``memory verify``."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from interfaces.cli import cli


def run(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["verify", "--home", str(home.root), "--now", "2026-11-21T09:00:00", *arguments])


def git(repo: Path, *arguments: str) -> None:
    command = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "work"
    (repo / "src").mkdir(parents=True)
    git(repo, "init", "--quiet", "--initial-branch=main")
    (repo / "src" / "cache.py").write_text("CACHE = 1\n", encoding="utf-8")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "Cache responses")
    return repo


@pytest.fixture
def closed(home: Home, repo: Path, now: datetime) -> Home:
    said = "Conclusion: Added src/cache.py for responses."
    message = Message(
        session="a", id="m1", ts="2026-11-20T10:00:00", role="assistant", content=said, cwd=str(repo)
    )  # fmt: skip
    transcript.append(home, "a", [message], actor="test", now=now)
    close(home, "a", now=now)
    return home


def test_stale_evidence_is_shown_then_written_with_apply_and_exits_with_1(closed: Home, repo: Path) -> None:
    first = run(closed, "--json")
    assert first.exit_code == 0, first.output
    assert [row["now"] for row in json.loads(first.stdout)["entries"]] == ["verified"]
    git(repo, "rm", "--quiet", "src/cache.py")
    git(repo, "commit", "--quiet", "-m", "Drop it")
    shown = run(closed)
    assert shown.exit_code == 1
    assert "verified -> stale" in shown.stdout
    assert "Run `memory verify --apply` to write it" in shown.stdout
    data = json.loads(run(closed, "--apply", "--json").stdout)
    assert {"entries", "checked", "unmoved", "applied", "commit"} <= set(data)
    assert (data["entries"][0]["was"], data["entries"][0]["now"], bool(data["commit"])) == ("verified", "stale", True)
    again = run(closed, "--apply", "--json")
    assert again.exit_code == 0
    assert (json.loads(again.stdout)["unmoved"], json.loads(again.stdout)["commit"]) == (1, None)


def test_the_prompt_shows_the_stale_line(closed: Home, repo: Path) -> None:
    git(repo, "rm", "--quiet", "src/cache.py")
    git(repo, "commit", "--quiet", "-m", "Drop it")
    run(closed, "--apply")
    prompt = CliRunner().invoke(cli, ["prompt", "--home", str(closed.root), "--now", "2026-11-21T09:00:00"])
    assert "Evidence: stale, commit" in prompt.stdout, prompt.output


def test_an_unknown_id_is_wrong_usage(closed: Home) -> None:
    result = run(closed, "kd-0000")
    assert result.exit_code == 2
    assert "no entry KD-0000" in result.stderr
