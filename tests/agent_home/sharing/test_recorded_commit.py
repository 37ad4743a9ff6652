"""The home names the commit of a submodule that its own write made, and no commit that a person has to decide about."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from agent_home.home import Home
from agent_home.sharing.health import sharing_problems
from agent_home.sharing.recorded_commit import recorded
from agent_home.store import gateway
from agent_home.store.moved_head import head_moved
from tests.sharing import IMPROVEMENT, ORION, put, run_git


def write(home: Home, now: datetime, line: str) -> tuple[str, ...]:
    with gateway.transaction(home, actor="test", message="m", now=now) as edits:
        edits.write(IMPROVEMENT, edits.text(IMPROVEMENT) + f"- {line}\n")
    return edits.outcome.waiting


def test_the_commit_of_a_write_is_recorded_and_seen(home: Home, now: datetime, tmp_path: Path) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    assert write(home, now, "one") == ()
    assert recorded(home, ORION) == run_git(project, "rev-parse", "HEAD")
    assert head_moved(home) == ""
    assert run_git(home.root, "fsck", "--strict") == ""


def test_a_submodule_that_is_not_committed_yet_is_left_to_the_person(home: Home, now: datetime, tmp_path: Path) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    run_git(home.root, "reset", "-q", "--soft", "HEAD^")
    assert write(home, now, "one") == ()
    assert recorded(home, ORION) == ""
    assert run_git(project, "status", "--porcelain") == ""


def test_a_submodule_that_went_on_elsewhere_is_named_and_written(home: Home, now: datetime, tmp_path: Path) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    write(home, now, "one")
    held = recorded(home, ORION)
    run_git(project, "reset", "-q", "--hard", "HEAD^")
    (problem,) = sharing_problems(home)
    assert "submodule update --merge" in problem.message
    assert "submodule update --merge" in write(home, now, "two")[0]
    assert recorded(home, ORION) == held
    assert "- two" in run_git(project, "show", "HEAD:IMPROVEMENT.md")
    run_git(project, "merge", "-q", "-X", "ours", "-m", "Merge", held)
    assert write(home, now, "three") == ()
    assert recorded(home, ORION) == run_git(project, "rev-parse", "HEAD")
    assert sharing_problems(home) == []


def test_a_staged_commit_of_a_person_stays_staged(home: Home, now: datetime, tmp_path: Path) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    run_git(project, "commit", "-q", "--allow-empty", "-m", "Mine")
    run_git(home.root, "add", ORION)
    assert "is staged" in write(home, now, "one")[0]
    run_git(home.root, "commit", "-q", "--no-verify", "-m", "Mine")
    assert write(home, now, "two") == ()
    assert run_git(home.root, "status", "--porcelain") == ""
