"""A link is followed where a person agreed to it, to the very folder that it led to then, and never to memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_home.consent.agreed_links import agreed_links, agreed_targets, is_place, keep_links, target_problem
from agent_home.errors import DocumentInvalid
from agent_home.home import Home
from tests.sharing import ORION, agree, put


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Projects", True), ("Projects/orion", True), ("Projects/Blue Moon", True), ("Projects/a/b", False),
        ("Projects/", False), ("Projects/..", False), ("Projects/.git", False), ("MEMORY.md", False),
        ("Knowledge", False), ("Archive", False), ("sessions", False), ("", False),
    ],
)  # fmt: skip
def test_only_projects_can_be_shared(path: str, expected: bool) -> None:
    assert is_place(path) == expected


def test_an_agreed_link_is_followed(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere", agreed=False)
    assert agreed_links(home.root, home.machine) == {}
    agree(home)
    assert home.links == {ORION: project}
    assert home.path(f"{ORION}/PRODUCT.md").read_text().startswith("# orion")
    assert home.files("Projects", "*") == [home.root / ORION]
    assert home.files("", "**/PRODUCT.md") == home.files("Projects", "**/*.md") == [home.root / ORION / "PRODUCT.md"]


def test_a_link_that_leads_elsewhere_now_is_not_followed(home: Home, tmp_path: Path) -> None:
    put(home, "link", tmp_path / "elsewhere")
    (tmp_path / "private").mkdir()
    (home.root / ORION).unlink()
    (home.root / ORION).symlink_to(tmp_path / "private")
    assert home.links == {}
    with pytest.raises(DocumentInvalid, match="leads out"):
        home.path(f"{ORION}/PRODUCT.md")


def test_a_target_that_was_exchanged_for_a_link_is_not_followed(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    (tmp_path / "private").mkdir()
    project.rename(tmp_path / "moved")
    project.symlink_to(tmp_path / "private")
    assert home.links == {}


def test_a_link_inside_a_shared_folder_is_not_followed(home: Home, tmp_path: Path) -> None:
    project = put(home, "link", tmp_path / "elsewhere")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.md").write_text("private\n")
    (project / "inner").symlink_to(tmp_path / "private")
    (project / "key.md").symlink_to(tmp_path / "private" / "key.md")
    for path in (f"{ORION}/inner/key.md", f"{ORION}/key.md", f"{ORION}/../x.md", f"{ORION}/.git/config"):
        with pytest.raises(DocumentInvalid, match="leads out"):
            home.path(path)
    assert home.files("Projects", "**/*.md") == [home.root / ORION / "PRODUCT.md"]


def test_the_consent_of_another_home_or_machine_does_not_count(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, "link", tmp_path / "elsewhere")
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "other machine"))
    assert agreed_targets(home.machine) == {}


def test_memory_is_never_shared(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "agents" / "other"
    (other / "Projects" / "orion").mkdir(parents=True)
    (other / "agent.toml").touch()
    bare = tmp_path / "bare.git"
    for name in ("HEAD", "objects", "refs"):
        (bare / name).mkdir(parents=True)
    for target, reason in (
        (home.root, "the home itself"),
        (tmp_path, "the home itself"),
        (home.root / "DailyActivity", "in the home itself"),
        (tmp_path / "x" / ".git" / "y", "git's folder"),
        (bare, "git's folder"),
        (other, "memory of the home"),
        (other / "Projects" / "orion", "memory of the home"),
        (tmp_path / "agents", "memory of the home"),
    ):
        assert reason in target_problem(home.root, target)
    (tmp_path / "fine").mkdir()
    assert target_problem(home.root, tmp_path / "fine") == ""


def test_a_record_for_a_place_that_is_never_shared_counts_for_nothing(home: Home, tmp_path: Path) -> None:
    (tmp_path / "fine").mkdir()
    (home.root / "DailyActivity").rmdir()
    (home.root / "DailyActivity").symlink_to(tmp_path / "fine")
    keep_links(home.machine, {"DailyActivity": os.path.realpath(tmp_path / "fine")})
    assert home.links == {}


def test_a_thorough_look_finds_a_home_far_below(home: Home, tmp_path: Path) -> None:
    deep = tmp_path / "shared" / ".a" / "b" / "c" / "home"
    deep.mkdir(parents=True)
    (deep / "agent.toml").write_text("")
    assert target_problem(home.root, tmp_path / "shared") == ""
    assert str(deep) in target_problem(home.root, tmp_path / "shared", thorough=True)
