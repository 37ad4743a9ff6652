"""Tests of creating a home, once and again."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.creation import create, template_files
from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.errors import NotCreatable, SettingsInvalid
from agent_home.home import Home


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def test_a_new_home_is_one_commit_without_problems(tmp_path: Path, now: datetime) -> None:
    made = create(tmp_path / "a" / "home", name="Test", now=now)
    root = made.home.root
    assert git(root, "log", "--format=%H").split() == [made.commit]
    assert git(root, "status", "--porcelain") == ""
    assert problems(made.home) == []
    assert set(made.files) == {path for path, _ in template_files()}
    assert git(root, "branch", "--show-current").strip() == "main"


def test_creating_again_adds_missing_files_alone(tmp_path: Path, now: datetime) -> None:
    root = create(tmp_path / "home", now=now).home.root
    (root / "SOUL.md").write_text("# My own soul\n")
    again = create(root, now=now)
    assert (again.commit, again.files) == (None, ())
    (root / "TOOLS.md").unlink()
    third = create(root, now=now)
    assert third.files == ("TOOLS.md",)
    assert (root / "SOUL.md").read_text() == "# My own soul\n"


def test_an_alias_counts_as_the_file(tmp_path: Path, now: datetime) -> None:
    (tmp_path / "AGENTS.md").write_text("# Mine\n")
    create(tmp_path, now=now)
    assert not (tmp_path / "AGENT.md").exists()


@pytest.mark.parametrize("name", ["Ann", 'a "quoted" \\ name', "名前", "tab\tand\nline", "'''", "a\x7fb"])
def test_any_name_gives_a_manifest_that_can_be_read(tmp_path: Path, now: datetime, name: str) -> None:
    home = create(tmp_path / "home", name=name, now=now).home
    assert Home(home.root).manifest.name == " ".join(name.replace("\x7f", "").split())


@pytest.mark.parametrize(
    "seed", ["Answer in 中文.", "Use **bold** sparingly*", "write to someone@example.org", "- [x] a\nb"]
)
def test_a_seed_is_a_standing_preference_once(tmp_path: Path, now: datetime, seed: str) -> None:
    home = create(tmp_path / "home", seeds=[seed], now=now).home
    assert create(home.root, seeds=[seed, f" {seed} "], now=now).commit is None
    found = parse((home.root / "MEMORY.md").read_text()).section_entries("Standing Preferences")
    assert [entry.fields["Origin"] for entry in found] == ["user"]
    assert problems(home) == []


def test_a_home_inside_another_repository_has_its_own_history(tmp_path: Path, now: datetime) -> None:
    git(tmp_path, "init", "--quiet")
    made = create(tmp_path / "home", now=now)
    assert git(made.home.root, "log", "--format=%H").strip() == made.commit
    assert git(tmp_path, "rev-list", "--all") == ""


def test_an_empty_repository_is_completed(tmp_path: Path, now: datetime) -> None:
    (tmp_path / "home" / ".git").mkdir(parents=True)
    assert create(tmp_path / "home", now=now).commit


def test_an_invalid_manifest_stops_before_anything_is_written(tmp_path: Path, now: datetime) -> None:
    (tmp_path / "agent.toml").write_text("version = 99\n")
    with pytest.raises(SettingsInvalid):
        create(tmp_path, now=now)
    assert not (tmp_path / "MEMORY.md").exists()


def test_a_folder_whose_name_is_not_utf8_is_refused(tmp_path: Path, now: datetime) -> None:
    with pytest.raises(NotCreatable, match="not UTF-8"):
        create(tmp_path / "l\udce9tin", name="Test", now=now)
    assert not list(tmp_path.iterdir())
