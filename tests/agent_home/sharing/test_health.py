"""What keeps a shared folder from being used is named, with the command that ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.documents.check import problems
from agent_home.home import Home
from agent_home.sharing.health import sharing_problems
from tests.sharing import FORMS, IMPROVEMENT, ORION, put, run_git


@pytest.mark.parametrize("form", FORMS)
def test_a_shared_folder_in_order_has_no_problem(home: Home, tmp_path: Path, form: str) -> None:
    put(home, form, tmp_path / "elsewhere")
    assert sharing_problems(home) == []


@pytest.mark.parametrize("target", ["home", "home/DailyActivity", ".", "other"])
def test_a_link_to_memory_is_named_and_cannot_be_agreed_to(home: Home, tmp_path: Path, target: str) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "agent.toml").touch()
    (home.root / ORION).symlink_to(tmp_path / target)
    (problem,) = sharing_problems(home)
    assert "never shared" in problem.message


def test_memory_md_that_is_a_link_out_of_the_home_is_a_problem_as_ever(home: Home, tmp_path: Path) -> None:
    (home.root / "MEMORY.md").rename(tmp_path / "MEMORY.md")
    (home.root / "MEMORY.md").symlink_to(tmp_path / "MEMORY.md")
    assert [(problem.file, problem.rule) for problem in problems(home)] == [("MEMORY.md", "outside-home")]


def test_links_inside_a_shared_folder_are_named(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    (project / "out.md").symlink_to("/etc/passwd")
    (problem,) = sharing_problems(home)
    assert "out.md is a link inside a shared folder" in problem.message


def test_files_that_the_home_tracks_in_a_clone_are_named(home: Home, tmp_path: Path) -> None:
    (home.root / ORION).mkdir()
    (home.root / IMPROVEMENT).write_text("# Notes\n")
    run_git(home.root, "add", ORION)
    run_git(home.root, "commit", "-q", "--no-verify", "-m", "Notes")
    run_git(home.root, "init", "-q", "-b", "main", ORION)
    (problem,) = sharing_problems(home)
    command = problem.message.split("`")[1]
    assert command == f"git -C {home.root} rm -r -q --cached {ORION}"
    run_git(home.root, *command.split()[3:])
    assert sharing_problems(home) == []
    assert (home.root / IMPROVEMENT).exists()
