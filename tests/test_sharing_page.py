"""The set-ups of docs/sharing.md work as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.backup.making import backup
from agent_home.backup.restoring import restore_home
from agent_home.creation import create
from agent_home.home import Home
from agent_home.sharing.health import sharing_problems
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from tests.sharing import IMPROVEMENT, ORION, run_git

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "sharing.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"<!-- example: ([\w ]+) -->\n```sh\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def user(tmp_path: Path, now: datetime, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with the homes of two agents, and a team's repository behind the address of the page."""
    for name in ("ada", "ben"):
        create(tmp_path / name, name=name, now=now)
    run_git(tmp_path, "init", "-q", "-b", "main", "team/orion.git")
    team = tmp_path / "team/orion.git"
    (team / ".gitattributes").write_text("*.md merge=union\n")
    run_git(team, "add", ".")
    run_git(team, "commit", "-q", "-m", "Start")
    run_git(team, "config", "core.bare", "true")
    configuration = tmp_path / "gitconfig"
    configuration.write_text(
        '[user]\n\tname = Ada\n\temail = ada@example.org\n[protocol "file"]\n\tallow = always\n'
        f'[url "{tmp_path}/team/"]\n\tinsteadOf = https://git.example/team/\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def run(example: str) -> None:
    done = subprocess.run(["bash", "-ec", EXAMPLES[example]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def close_about_orion(root: Path, session: str, now: datetime) -> None:
    home = Home(root)
    said = (
        ("user", f"Let us go on with {ORION} today."), ("assistant", f"I read {ORION}/TECH.md."),
        ("assistant", f"Lesson: measure {session} before caching it."),
    )  # fmt: skip
    messages = [
        Message(session=session, id=f"m{n}", ts=f"2026-11-20T10:{n:02d}:00", role=role, content=content)
        for n, (role, content) in enumerate(said, 1)
    ]
    transcript.append(home, session, messages, actor="import", now=now)
    closed = close(home, session, now=now)
    assert (closed.projects, closed.degraded) == ((IMPROVEMENT,), ())
    assert f"measure {session} before" in (root / IMPROVEMENT).read_text()
    assert sharing_problems(home) == []


@pytest.mark.parametrize("example", ["submodule", "clone"])
def test_a_repository_of_a_team_is_a_shared_project(user: Path, now: datetime, example: str) -> None:
    run(example)
    close_about_orion(user / "ada", "s-1", now)
    assert run_git(user / "ada", "status", "--porcelain") == ""
    assert "before caching" in run_git(user / "ada" / ORION, "show", "HEAD:IMPROVEMENT.md")


def test_a_clone_of_a_home_with_a_submodule_is_set_up_by_two_commands(user: Path, now: datetime) -> None:
    run("submodule")
    run_git(user, "clone", "-q", "ada", "ada-laptop")
    run("submodule in a clone")
    close_about_orion(user / "ada-laptop", "s-1", now)


def test_two_agents_write_behind_their_links(user: Path, now: datetime) -> None:
    run("link")
    close_about_orion(user / "ada", "s-1", now)
    close_about_orion(user / "ben", "s-2", now)
    text = (user / "shared" / "orion" / "IMPROVEMENT.md").read_text()
    assert ("s-1#m3" in text, "s-2#m3" in text) == (True, True)


def test_notes_of_two_machines_are_exchanged(user: Path, now: datetime) -> None:
    run("submodule")
    subprocess.run(["bash", "-ec", EXAMPLES["submodule"].replace("~/ada", "~/ben")], check=True, capture_output=True)
    close_about_orion(user / "ada", "s-1", now)
    close_about_orion(user / "ben", "s-2", now)
    for name in ("ada", "ben", "ada"):
        subprocess.run(["bash", "-ec", EXAMPLES["exchange"].replace("~/ada", f"~/{name}")], check=True)
    for name in ("ada", "ben"):
        text = (user / name / IMPROVEMENT).read_text()
        assert (text.count("s-1#m3"), text.count("s-2#m3"), text.count("## Lessons")) == (1, 1, 1)
        close_about_orion(user / name, f"s-3-{name}", now)
        assert run_git(user / name, "status", "--porcelain") == ""


def test_a_restored_home_goes_on_and_exchanges_notes_again(user: Path, now: datetime) -> None:
    run("submodule")
    close_about_orion(user / "ada", "s-1", now)
    backup(Home(user / "ada"), user / "backup", now=now)
    restored = restore_home(user / "backup", user / "ada-restored")
    close_about_orion(restored.root, "s-2", now)
    address = "https://git.example/team/orion.git"
    repository = restored.manifest.repositories[ORION]
    assert (repository.name, repository.url, [*repository.remotes]) == (ORION, address, ["origin"])
    run("after a restore")
    subprocess.run(["bash", "-ec", EXAMPLES["exchange"].replace("~/ada", "~/ada-restored")], check=True)
    assert "s-2#m3" in run_git(user / "team/orion.git", "show", "main:IMPROVEMENT.md")
    assert run_git(restored.root, "submodule", "status").startswith(run_git(restored.root / ORION, "rev-parse", "HEAD"))
    close_about_orion(restored.root, "s-3", now)
    assert run_git(restored.root, "status", "--porcelain") == ""
