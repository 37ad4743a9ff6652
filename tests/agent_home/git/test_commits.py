"""The writing side of git: what commits hold, and when nothing may be committed."""

from __future__ import annotations

import os
import time

import pytest

from agent_home.errors import GitFailed, HistoryError
from agent_home.git import commits, history
from agent_home.git.client import home_client
from agent_home.home import Home

from ..conftest import Git

TRAILERS = {"Actor": "test"}


@pytest.mark.parametrize("name", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge"])
def test_an_unfinished_operation_is_named(home: Home, git: Git, name: str) -> None:
    commits.refuse_unfinished(home.root)
    (home.root / ".git" / name).write_text(git("rev-parse", "HEAD"))
    with pytest.raises(HistoryError, match=r"--abort|bisect reset"):
        commits.refuse_unfinished(home.root)


@pytest.mark.parametrize(
    "path", ['Knowledge/a "quoted" name.md', "Knowledge/正文.md", "Knowledge/-x.md", "Knowledge/a\\b.md"]
)
def test_texts_are_committed_without_the_work_tree(home: Home, git: Git, path: str) -> None:
    parent = git("rev-parse", "HEAD").strip()
    made = commits.commit_texts(home.root, parent, {path: "one\n", "USER.md": ""}, "m", TRAILERS, branch="main")
    assert git("rev-parse", "HEAD").strip() == made
    assert history.snapshot(home.root, [path, "USER.md"]).texts == {path: "one\n", "USER.md": ""}
    assert (home.root / "USER.md").exists()
    (home.root / "other").write_text("one\n")
    (blob,) = commits.store_files(home.root, ["other"])
    with commits.staging_area(home.root) as area:
        commits.stage_blobs(home.root, area, {path: blob, "USER.md": ""})
    assert git("diff", "--cached", "--name-only") == ""


def test_a_branch_that_moved_is_not_overwritten(home: Home, git: Git) -> None:
    parent = git("rev-parse", "HEAD").strip()
    newer = commits.commit_texts(home.root, parent, {"a.md": "a\n"}, "m", TRAILERS, branch="main")
    with pytest.raises(GitFailed):
        commits.commit_texts(home.root, parent, {"b.md": "b\n"}, "m", TRAILERS, branch="main")
    assert git("rev-parse", "HEAD").strip() == newer


def test_a_lock_of_a_dead_writer_is_removed_however_late(home: Home, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "GIT_LOCK_WAIT_S", 0.0)
    died_at = time.time() - 5
    for name in ("HEAD.lock", "refs/heads/main.lock"):
        (home.root / ".git" / name).touch()
        os.utime(home.root / ".git" / name, (died_at, died_at))
    parent = git("rev-parse", "HEAD").strip()
    made = commits.commit_texts(home.root, parent, {"a.md": "a\n"}, "m", {}, branch="main", died_at=died_at)
    assert git("rev-parse", "HEAD").strip() == made


def test_a_hash_of_sha256_is_staged_as_such(tmp_path_factory: pytest.TempPathFactory, git: Git) -> None:
    root = tmp_path_factory.mktemp("long")
    home_client(root).change("init", "--quiet", "--object-format=sha256", "--initial-branch=main")
    commits.commit_texts(root, "", {"a.md": "a\n"}, "m", TRAILERS, branch="main")
    (root / "a.md").write_text("a\n")
    (blob,) = commits.store_files(root, ["a.md"])
    with commits.staging_area(root) as area:
        commits.stage_blobs(root, area, {"a.md": blob})
    assert len(blob) == 64
    assert history.query(root, "diff", "--cached", "--name-only") == ""


def test_the_author_of_the_environment_is_kept(home: Home, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "somebody@localhost")
    commits.commit_texts(home.root, git("rev-parse", "HEAD").strip(), {"a.md": "a\n"}, "m", TRAILERS, branch="main")
    assert git("log", "-1", "--format=%an %ae").strip() == "Somebody somebody@localhost"


@pytest.mark.parametrize(
    ("arguments", "name"), [(["switch", "-qc", "a/b"], "a/b"), (["checkout", "-q", "--detach"], "")]
)
def test_the_branch_is_that_of_head(home: Home, git: Git, arguments: list[str], name: str) -> None:
    assert history.branch(home.root) == "main"
    git(*arguments)
    assert history.branch(home.root) == name


def test_an_executable_file_stays_executable(home: Home, git: Git) -> None:
    (home.root / "USER.md").chmod(0o755)
    commits.commit_texts(home.root, git("rev-parse", "HEAD").strip(), {"USER.md": "x\n"}, "m", {}, branch="main")
    (home.root / "USER.md").write_text("x\n")
    with commits.staging_area(home.root) as area:
        commits.stage_blobs(home.root, area, {"USER.md": commits.store_files(home.root, ["USER.md"])[0]})
    assert git("ls-tree", "HEAD", "USER.md").startswith("100755")
    assert git("diff", "--cached", "--name-only") == ""
