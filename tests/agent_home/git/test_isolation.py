"""The stand-in has what commands need of git's folder, and nothing that names a program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_home.errors import GitFailed, NoRepository
from agent_home.git.client import home_client, untrusted_client
from agent_home.git.isolation import git_folders
from agent_home.git.process.scratch_folder import scratch_folder

from .traps import plain


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    plain(tmp_path, "init", "--quiet", "--initial-branch=main", str(root), check=True)
    (root / "a.md").write_text("one\n")
    plain(root, "add", ".", check=True)
    plain(root, "commit", "--quiet", "-m", "One", check=True)
    return root


@pytest.mark.parametrize("name", ["HEAD", "index", "packed-refs", "config", "commondir"])
def test_a_pipe_in_the_place_of_a_file_does_not_hang(repository: Path, name: str) -> None:
    path = repository / ".git" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(GitFailed, match=f"{name} is not a regular file"):
        home_client(repository).query("log")


def test_a_huge_or_broken_configuration_is_refused(repository: Path) -> None:
    with (repository / ".git" / "config").open("a") as file:
        file.write("[core\n")
    with pytest.raises(GitFailed, match=r"bad config line \d in \S+/\.git/config"):
        home_client(repository).query("log")
    (repository / ".git" / "config").write_text("#" * (1 << 21))
    with pytest.raises(GitFailed, match="not a regular file of at most 1048576 bytes"):
        home_client(repository).query("log")


def test_a_changed_configuration_is_read_again(repository: Path) -> None:
    git = home_client(repository)
    assert git.query("remote", "-v") == b""
    plain(repository, "remote", "add", "origin", "/srv/a b.git", check=True)
    assert git.text("remote", "-v").splitlines()[0] == "origin\t/srv/a b.git (fetch)"
    assert git.own_filters() == frozenset()
    plain(repository, "config", "filter.crypt.process", "crypt", check=True)
    assert git.own_filters() == {"crypt"}


def test_values_cannot_forge_another_setting(repository: Path, tmp_path: Path) -> None:
    value = f'x"\n[core]\n\tfsmonitor = touch {tmp_path / "canary"}\n\\'
    plain(repository, "config", "user.name", value, check=True)
    plain(repository, "config", 'remote.x"] y.url', value, check=True)
    home_client(repository).query("status", "--porcelain")
    assert "touch" in home_client(repository).text("remote", "-v")
    assert not (tmp_path / "canary").exists()


def test_included_files_are_not_read(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "included").write_text('[filter "crypt"]\n\tclean = cat\n')
    plain(repository, "config", "include.path", str(tmp_path / "included"), check=True)
    assert home_client(repository).own_filters() == frozenset()


def test_new_refs_and_packed_refs_land_in_the_repository(repository: Path) -> None:
    git = home_client(repository)
    git.change("update-ref", "refs/heads/new", "HEAD")
    assert "new" in plain(repository, "branch", "--list")
    plain(repository, "pack-refs", "--all", check=True)
    git.change("branch", "-D", "--quiet", "--", "new")
    assert plain(repository, "branch", "--list") == "* main"
    assert plain(repository, "reflog", "main", check=True)


def test_the_branch_that_is_checked_out_is_not_dropped(repository: Path) -> None:
    with pytest.raises(GitFailed, match="checked out"):
        home_client(repository).change("branch", "-D", "--quiet", "--", "main")


def test_a_repository_with_sha256_is_read(tmp_path: Path) -> None:
    root = tmp_path / "long"
    plain(tmp_path, "init", "--quiet", "--object-format=sha256", str(root), check=True)
    plain(root, "commit", "--quiet", "--allow-empty", "-m", "One", check=True)
    assert len(untrusted_client(root).text("rev-parse", "HEAD").strip()) == 64


def test_a_session_repository_is_left_as_it_is(repository: Path) -> None:
    (repository / "a.md").write_text("two\n")
    before = sorted((str(path), path.stat().st_mtime_ns) for path in repository.rglob("*"))
    git = untrusted_client(repository, with_files=True)
    for arguments in (("status", "--porcelain"), ("diff", "HEAD"), ("grep", "--untracked", "two"), ("log", "-p")):
        git.query(*arguments)
    assert sorted((str(path), path.stat().st_mtime_ns) for path in repository.rglob("*")) == before


def test_a_link_to_git_folder_and_a_pointer_are_followed(repository: Path, tmp_path: Path) -> None:
    (repository / ".git").rename(tmp_path / "elsewhere.git")
    (repository / ".git").write_text("gitdir: ../elsewhere.git\n")
    assert untrusted_client(repository).text("log", "--format=%s") == "One\n"
    (repository / ".git").write_text("nonsense\n")
    with pytest.raises(NoRepository):
        git_folders(repository)


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://sam:hunter2secret@example.com/r.git", "https://example.com/r.git"),
        ("https://hunter2secret@example.com/r.git?token=hunter2secret#hunter2secret", "https://example.com/r.git"),
        ("ssh://git:hunter2secret@example.com:22/r.git", "ssh://example.com:22/r.git"),
        ("ext::connect hunter2secret", "ext::"),
        ("git@example.com:r.git", "git@example.com:r.git"),
        ("/srv/a@b.git", "/srv/a@b.git"),
    ],
)
def test_no_password_of_a_remote_is_copied(repository: Path, address: str, kept: str) -> None:
    plain(repository, "config", "remote.origin.url", address, check=True)
    plain(repository, "config", "remote.origin.pushurl", address, check=True)
    plain(repository, "config", "branch.main.remote", address, check=True)
    git = home_client(repository)
    assert git.text("remote", "-v").splitlines() == [f"origin\t{kept} (fetch)", f"origin\t{kept} (push)"]
    copied = [path.read_text() for path in scratch_folder().rglob("config") if path.is_file()]
    assert copied
    assert not any("hunter2secret" in text for text in copied)
