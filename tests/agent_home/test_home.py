"""Tests of finding a home, and of paths that lead out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.errors import DocumentInvalid, NoHome
from agent_home.home import Home, find_home


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
