"""Git is not started, or given up, where it would wait for a pipe for ever."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_home.errors import GitFailed
from agent_home.git.client import home_client, untrusted_client
from agent_home.git.process import command_output, special_files
from agent_home.git.process.special_files import all_special_files, known_special_file
from tests.agent_home.git.traps import plain


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    plain(tmp_path, "init", "--quiet", "--initial-branch=main", str(root), check=True)
    (root / "a.md").write_text("one\n")
    plain(root, "add", ".", check=True)
    plain(root, "commit", "--quiet", "-m", "One", check=True)
    return root


def as_pipe(path: Path) -> Path:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def as_link_to_a_device(path: Path) -> Path:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/dev/zero")
    return path


@pytest.mark.parametrize("made", [as_pipe, as_link_to_a_device])
@pytest.mark.parametrize(
    "name",
    [
        ".git/logs/HEAD", ".git/logs/refs/heads/main", ".git/objects/info/alternates", ".git/refs/heads/main",
        ".git/refs/heads/proposals/x", ".git/info/exclude", ".git/info/attributes", ".git/shallow", ".git/MERGE_HEAD",
        ".gitignore", ".gitattributes",
    ],
)  # fmt: skip
@pytest.mark.parametrize("client", [home_client, untrusted_client])
def test_a_pipe_or_a_device_is_named_before_git_starts(
    repository: Path, name: str, made: Callable[[Path], Path], client: Callable[[Path], object]
) -> None:
    path = made(repository / name)
    start = time.monotonic()
    with pytest.raises(GitFailed, match=f"{path} is not a regular file"):
        client(repository).query("status", "--porcelain")  # type: ignore[attr-defined]
    assert time.monotonic() - start < 2


def test_git_that_waits_for_an_object_is_given_up(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_output, "_SILENCE_S", 0.1)
    head = home_client(repository).text("rev-parse", "HEAD").strip()
    path = as_pipe(repository / ".git" / "objects" / head[:2] / head[2:])
    with pytest.raises(GitFailed, match=f"{path} is not a regular file"):
        home_client(repository).query("log")
    start = time.monotonic()
    with pytest.raises(GitFailed, match=f"{path} is not a regular file"):  # now it is known
        home_client(repository).query("rev-parse", "HEAD")
    assert time.monotonic() - start < 0.1
    path.unlink()
    home_client(repository).query("rev-parse", "HEAD")


def test_git_that_is_slow_goes_on(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_output, "_SILENCE_S", 0.0)
    assert home_client(repository).text("log", "--format=%s") == "One\n"


def test_objects_of_others_and_files_below_are_looked_at(repository: Path, tmp_path: Path) -> None:
    borrowed = as_pipe(tmp_path / "lent" / "ab" / "cd")
    (repository / ".git" / "objects" / "info" / "alternates").write_text(f"# lent\n{tmp_path / 'lent'}\n")
    ignored = as_pipe(repository / "Knowledge" / ".gitignore")
    as_pipe(repository / "Knowledge" / "other")
    loop = repository / ".git" / "loop"
    loop.symlink_to(repository / ".git", target_is_directory=True)
    git = repository / ".git"
    assert set(all_special_files(repository, git, git)) == {str(borrowed), str(ignored)}


def test_few_files_are_looked_at(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(special_files, "_MAX_LOOKED_AT", 3)
    as_pipe(repository / ".git" / "refs" / "zzz" / "x")
    assert known_special_file(repository, repository / ".git", repository / ".git") == ""
