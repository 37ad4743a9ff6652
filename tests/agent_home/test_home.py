"""Tests of finding a home, and of paths that lead out of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_home.documents.check import entry_files
from agent_home.documents.daily_log import daily_files
from agent_home.errors import DocumentInvalid, NoHome
from agent_home.home import Home, find_home
from agent_home.store import catalogue
from agent_home.store.transcript import sessions


def test_a_named_home_precedes_the_environment_and_the_folder(tmp_path: Path) -> None:
    for name in ("named", "environment", "folder"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.toml").touch()
    environment = {"AGENT_HOME": str(tmp_path / "environment")}
    start = tmp_path / "folder" / "deep" / "er"
    start.mkdir(parents=True)
    assert find_home(str(tmp_path / "named"), environment, start).root == tmp_path / "named"
    assert find_home(None, environment, start).root == tmp_path / "environment"
    assert find_home(None, {"AGENT_HOME": ""}, start).root == tmp_path / "folder"


def test_the_nearest_home_above_is_taken(tmp_path: Path) -> None:
    (tmp_path / "agent.toml").touch()
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "agent.toml").touch()
    assert find_home(None, {}, inner).root == tmp_path / "a"


@pytest.mark.parametrize("named", [True, False])
def test_no_home_is_an_error_with_the_command_that_makes_one(tmp_path: Path, named: bool) -> None:
    with pytest.raises(NoHome, match="memory init"):
        find_home(str(tmp_path) if named else None, {}, tmp_path)


@pytest.mark.parametrize("relative", ["../x.md", "a/../../x.md", "/etc/passwd"])
def test_a_path_does_not_lead_out_of_the_home(tmp_path: Path, relative: str) -> None:
    with pytest.raises(DocumentInvalid, match="leads out"):
        Home(tmp_path).path(relative)


def test_a_link_does_not_lead_out_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "home" / "link.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(DocumentInvalid, match="leads out"):
        Home(tmp_path / "home").path("link.md")


def test_a_context_file_lies_under_its_alias_only_where_the_alias_alone_exists(home: Home) -> None:
    assert home.context_path("AGENT.md") == "AGENT.md"
    (home.root / "AGENT.md").rename(home.root / "AGENTS.md")
    assert home.context_path("AGENT.md") == "AGENTS.md"
    (home.root / "AGENT.md").touch()
    assert home.context_path("AGENT.md") == "AGENT.md"
    assert home.context_path("USER.md") == "USER.md"


# --- links -------------------------------------------------------------------------------------------------------


def test_a_link_to_git_s_folder_is_no_memory(home: Home) -> None:
    (home.root / "x.md").symlink_to(".git/config")
    with pytest.raises(DocumentInvalid, match="outside-home"):
        home.path("x.md")


@pytest.mark.parametrize("link", ["Knowledge", "Knowledge/deep", "Knowledge/x.md"])
def test_files_are_listed_without_following_a_link(home: Home, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("# Private\n")
    place = home.root / link
    if place.is_dir():
        shutil.rmtree(place)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside / "a.md" if link.endswith(".md") else outside)
    assert home.files("Knowledge", "**/*.md") == []
    assert "Private" not in catalogue.render(home, "KNOWLEDGE.md")


@pytest.mark.parametrize("folder", ["DailyActivity", "Archive", "ledger", "sessions"])
def test_a_folder_that_is_a_link_holds_nothing(home: Home, tmp_path: Path, folder: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("2026-11-20.md", "MEMORY-2026-10.md", "references-2026-11.jsonl", "closings-2026-11-20.jsonl"):
        (outside / name).write_text("private\n")
    shutil.rmtree(home.root / folder, ignore_errors=True)
    (home.root / folder).symlink_to(outside)
    assert daily_files(home) == []
    assert [file for file in entry_files(home) if file.startswith("Archive/")] == []
    assert home.files("ledger", "*.jsonl") == []
    assert sessions(home) == []


def test_a_public_name_of_a_private_file_is_not_readable(home: Home) -> None:
    assert not home.may_read("USER.md", "group")
    public = next(file.file for file in home.manifest.context if home.may_read(file.file, "group"))
    (home.root / public).unlink()
    (home.root / public).symlink_to("USER.md")
    assert not home.may_read(public, "group")
    assert home.may_read(public, "owner")
