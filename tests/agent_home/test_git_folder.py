"""Tests of git's folder as it is found without git, beside what git itself says."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from agent_home.git_folder import git_folder, named_elsewhere, state_folder, tracks


def git(root: Path, *arguments: str) -> str:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *named, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    root.mkdir()
    git(root, "init", "-q")
    return root


def track(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    git(root, "add", "--force", "--all")


def test_a_folder_without_git_keeps_its_state_in_the_work_tree(tmp_path: Path) -> None:
    assert git_folder(tmp_path) is None
    assert state_folder(tmp_path) == tmp_path / ".memory"
    assert tracks(tmp_path, ".memory") is False


def test_the_folder_is_the_one_that_git_names(root: Path, tmp_path: Path) -> None:
    track(root, "a.md")
    git(root, "commit", "-q", "-m", "a")
    git(root, "worktree", "add", "-q", str(tmp_path / "side"))
    git(root, "clone", "-q", "--separate-git-dir", str(tmp_path / "apart.git"), str(root), str(tmp_path / "apart"))
    assert git_folder(tmp_path / "apart") is None
    assert named_elsewhere(tmp_path / "apart") == tmp_path / "apart.git"
    git(tmp_path / "apart", "config", "core.worktree", str(tmp_path / "apart"))
    for place in (root, tmp_path / "side", tmp_path / "apart"):
        found = git_folder(place)
        assert found is not None
        assert found.resolve() == Path(git(place, "rev-parse", "--absolute-git-dir").strip()).resolve()
    assert state_folder(tmp_path / "side").resolve() == (root / ".git/agent-home/worktrees/side").resolve()
    assert state_folder(tmp_path / "apart") == tmp_path / "apart.git" / "agent-home"


@pytest.mark.parametrize("name", [".memory", ".memory/index.db", ".Memory/x", ".memory/a/b/c"])
@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_a_tracked_name_is_never_taken_for_absent(root: Path, name: str, version: str) -> None:
    git(root, "config", "index.version", version)
    track(root, ".gitattributes", ".mem", "z.md", name)
    assert tracks(root, ".memory") is (None if version == "4" else True)


@pytest.mark.parametrize("name", ["notes.memory", "a/.memory/x", ".memory-old/x", ".memoryx", "MEMORY.md", "link"])
def test_another_name_is_not_taken_for_it(root: Path, name: str) -> None:
    track(root, name)
    assert tracks(root, ".memory") is False


def test_a_split_staging_area_is_not_read(root: Path) -> None:
    track(root, *(f"{number}.md" for number in range(30)))
    git(root, "update-index", "--split-index")
    assert tracks(root, ".memory") is None


@pytest.mark.parametrize("content", [b"", b"DIRC", b"gitdir: ", b"gitdir: \0x", b"\xff" * 9000])
def test_a_broken_pointer_is_no_repository(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert git_folder(tmp_path) is None


@pytest.mark.parametrize(
    "written", ["worktree = ../home", 'worktree = "../home"', "WorkTree=../home", "[core] worktree = ../home"]
)
def test_a_folder_elsewhere_names_its_work_tree(tmp_path: Path, written: str) -> None:
    for name in ("home", "apart.git"):
        (tmp_path / name).mkdir()
    (tmp_path / "home/.git").write_text("gitdir: ../apart.git\n")
    config = tmp_path / "apart.git/config"
    config.write_text(f"[core]\n\tbare = false\n\t{written}\n[user]\n\tname = a\n")
    assert git_folder(tmp_path / "home") == tmp_path / "home" / "../apart.git"
    for other in (
        "worktree = ../other",
        "; worktree = ../home",
        "[x]\nworktree = ../home",
        '[core "x"]\nworktree = ../home',
    ):
        config.write_text(f"[core]\n\t{other}\n")
        assert git_folder(tmp_path / "home") is None


@pytest.mark.parametrize("name", ["it's #1; new", 'a "b"', "back\\slash", " blank ", "tab\there", "é\u2028\x85"])
def test_a_folder_elsewhere_names_a_work_tree_that_git_has_to_quote(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    git(tmp_path / name, "init", "-q", "--separate-git-dir", str(tmp_path / "apart.git"))
    git(tmp_path / name, "config", "core.worktree", f"../{name}")
    assert git_folder(tmp_path / name) == tmp_path / "apart.git"


@pytest.mark.parametrize("line", ['worktree = {}"', "[{}", '[core]worktree={}"', "worktree{}"])
def test_a_hostile_configuration_takes_no_time(tmp_path: Path, line: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "apart.git").mkdir()
    (tmp_path / "home/.git").write_text("gitdir: ../apart.git\n")
    (tmp_path / "apart.git/config").write_text(f"[core]\n{line.format(' ' * 900_000)}\n")
    before = time.process_time()
    assert git_folder(tmp_path / "home") is None
    assert time.process_time() - before < 1
