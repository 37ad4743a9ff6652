"""Packs extend each other while everything that they hold is reachable."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.backup.history import extends, make_repository, new_objects, read_history
from agent_home.backup.manifest import BackupHistory
from agent_home.errors import GitFailed, HistoryError
from agent_home.home import Home

from ..conftest import AddEntry, Git


def history(home: Home) -> BackupHistory:
    found = read_history(home.root)
    assert found is not None
    return found


def test_a_folder_without_git_has_no_history(tmp_path: Path) -> None:
    assert read_history(tmp_path) is None


def test_a_longer_history_extends_a_shorter_one(home: Home, add_entry: AddEntry) -> None:
    before = history(home)
    add_entry("Grey goose")
    after = history(home)
    assert (extends(home.root, after, before), extends(home.root, before, after)) == (True, False)
    assert new_objects(home.root, after, after) is None
    chunks = new_objects(home.root, after, before)
    assert chunks is not None
    assert b"".join(chunks).startswith(b"PACK")


def test_a_tag_or_a_staged_text_that_went_makes_the_packs_anew(home: Home, git: Git) -> None:
    plain = history(home)
    git("-c", "user.name=A", "-c", "user.email=a@b", "tag", "-a", "-m", "x", "v1")
    tagged = history(home)
    (home.root / "SOUL.md").write_text("staged\n")
    git("add", "SOUL.md")
    staged = history(home)
    assert [file.path for file in staged.staged] == ["SOUL.md"]
    assert extends(home.root, staged, tagged)
    assert not extends(home.root, tagged, staged)
    assert not extends(home.root, plain, tagged)


def test_a_commit_that_is_gone_makes_the_packs_anew(home: Home) -> None:
    gone = BackupHistory(stashes=("1" * 40,))
    assert not extends(home.root, history(home), gone)


def test_a_shallow_clone_is_refused(home: Home, tmp_path: Path, git: Git, add_entry: AddEntry) -> None:
    add_entry("Grey goose")
    git("clone", "-q", "--depth", "1", f"file://{home.root}", str(tmp_path / "shallow"))
    with pytest.raises(HistoryError, match="shallow"):
        read_history(tmp_path / "shallow")


def test_a_repository_of_the_other_format_comes_back(tmp_path: Path, git: Git) -> None:
    root = tmp_path / "sha256"
    git("init", "-q", "--object-format=sha256", "-b", "trunk", str(root))
    (root / "a.md").write_text("x")
    git("-C", str(root), "add", "a.md")
    git("-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "x")
    found = read_history(root)
    assert found is not None
    chunks = new_objects(root, found, None)
    assert chunks is not None
    (tmp_path / "pack").write_bytes(b"".join(chunks))
    again = tmp_path / "again"
    again.mkdir()
    make_repository(again, found, [tmp_path / "pack"], strict=True)
    assert read_history(again) == found


def test_a_pack_that_lacks_objects_is_refused(home: Home, tmp_path: Path, add_entry: AddEntry) -> None:
    before = history(home)
    add_entry("Grey goose")
    chunks = new_objects(home.root, history(home), before)
    assert chunks is not None
    (tmp_path / "pack").write_bytes(b"".join(chunks))
    again = tmp_path / "again"
    again.mkdir()
    with pytest.raises(GitFailed):
        make_repository(again, history(home), [tmp_path / "pack"], strict=True)
