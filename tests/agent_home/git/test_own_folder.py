"""A ``.git`` that somebody else filled leads no write out of the home, and is named."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from agent_home.errors import DocumentInvalid, HistoryError
from agent_home.git.commits import configure
from agent_home.git.hook import hook_state, install_hook
from agent_home.git_folder import state_folder
from agent_home.home import Home
from agent_home.store.gateway import transaction
from interfaces.cli import cli

from .traps import plain


def write(home: Home, now: datetime) -> None:
    with transaction(Home(home.root), actor="close", message="Write", now=now) as edits:
        edits.write("Knowledge/a.md", "# A\n")


def doctor(home: Home, *options: str) -> str:
    return CliRunner().invoke(cli, ["doctor", *options, "--home", str(home.root)]).output


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Another repository of the user, with one commit."""
    root = tmp_path / "project"
    plain(tmp_path, "init", "--quiet", "--initial-branch=main", str(root), check=True)
    (root / "a").write_text("hi\n")
    plain(root, "add", "a", check=True)
    plain(root, "commit", "--quiet", "-m", "Secret project", check=True)
    return root


@pytest.mark.parametrize(
    "name",
    [
        "logs/HEAD", "logs/refs/heads/main", "logs", "HEAD", "index", "config", "refs/heads", "refs/heads/main",
        "objects", "objects/pack", "packed-refs", "info", "info/exclude",
    ],
)  # fmt: skip
def test_no_write_goes_through_a_link_in_gits_folder(home: Home, now: datetime, tmp_path: Path, name: str) -> None:
    place, outside = home.root / ".git" / name, tmp_path / "outside"
    if place.exists():
        place.rename(outside)
    else:
        outside.write_text("mine\n")
    place.symlink_to(outside)
    before = contents(outside) if outside.is_dir() else outside.read_bytes()
    with pytest.raises(HistoryError, match=f"{name} is a link out of git's folder"):
        write(home, now)
    with pytest.raises(HistoryError, match=f"{name} is a link out of git's folder"):
        configure(home.root, "merge.agent-home.name", "x")
    doctor(home, "--fix")
    assert (contents(outside) if outside.is_dir() else outside.read_bytes()) == before
    assert not (home.root / "Knowledge/a.md").exists()
    assert f"{name} is a link out of git's folder" in " ".join(doctor(home).split())


def test_a_link_that_stays_in_gits_folder_is_gits_own(home: Home, now: datetime) -> None:
    exclude = home.root / ".git" / "info" / "exclude"
    exclude.rename(exclude.with_name("mine"))
    exclude.symlink_to("mine")
    write(home, now)
    assert (home.root / "Knowledge/a.md").exists()


@pytest.mark.parametrize("form", ["file", "link", "commondir"])
def test_a_git_folder_of_another_project_is_neither_read_nor_written(
    home: Home, now: datetime, project: Path, form: str
) -> None:
    place = home.root / ".git"
    if form == "commondir":
        (place / "commondir").write_text(f"{project / '.git'}\n")
    else:
        place.rename(home.root.parent / "old-git")
    if form == "file":
        place.write_text(f"gitdir: {project / '.git'}\n")
    if form == "link":
        place.symlink_to(project / ".git")
    before = contents(project)
    with pytest.raises((HistoryError, DocumentInvalid), match="does not lead back here"):
        write(home, now)
    assert "does not lead back here" in " ".join(doctor(home, "--fix").split())
    for command in (["prompt"], ["remember", "We use Zig."], ["guard", "install"], ["search", "secret"]):
        CliRunner().invoke(cli, [*command, "--home", str(home.root)])
    CliRunner().invoke(cli, ["init", str(home.root)])
    assert contents(project) == before
    assert state_folder(home.root) == home.root / ".memory"


def test_a_linked_work_tree_of_another_place_is_refused(home: Home, now: datetime, project: Path) -> None:
    plain(project, "worktree", "add", "--quiet", str(project.parent / "side"), check=True)
    (home.root / ".git").rename(home.root.parent / "old-git")
    (home.root / ".git").write_text(f"gitdir: {project / '.git/worktrees/side'}\n")
    with pytest.raises(HistoryError, match="worktree repair"):
        write(home, now)


def test_a_folder_elsewhere_that_leads_back_is_the_homes(home: Home, now: datetime) -> None:
    apart = home.root.parent / "apart.git"
    (home.root / ".git").rename(apart)
    (home.root / ".git").write_text(f"gitdir: {apart}\n")
    with pytest.raises(HistoryError, match=r"config core\.worktree"):
        write(home, now)
    subprocess.run(["git", "-C", str(home.root), "config", "core.worktree", str(home.root)], check=True)
    write(home, now)
    assert state_folder(home.root) == apart / "agent-home"


@pytest.mark.parametrize("form", ["setting", "link"])
def test_no_hook_is_written_into_another_repository(home: Home, project: Path, form: str) -> None:
    hooks, own = project / ".git/hooks", home.root / ".git/hooks"
    before = contents(hooks)
    (own / "pre-commit").unlink()
    if form == "setting":
        plain(home.root, "config", "core.hooksPath", str(hooks), check=True)
    else:
        own.rename(home.root.parent / "old-hooks")
        own.symlink_to(hooks)
    assert install_hook(home).state == "shared"
    CliRunner().invoke(cli, ["init", str(home.root)])
    assert contents(hooks) == before
    assert "shared" in doctor(home)


def test_a_folder_of_hooks_in_the_home_is_its_own(home: Home) -> None:
    plain(home.root, "config", "core.hooksPath", ".githooks", check=True)
    assert install_hook(home).state == "installed"
    plain(home.root, "config", "core.hooksPath", "Projects/x/.git/hooks", check=True)
    assert hook_state(home).state == "shared"


def test_the_lock_is_never_a_link(home: Home, now: datetime, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine\n")
    home.lock.unlink(missing_ok=True)
    home.lock.symlink_to(mine)
    with pytest.raises((OSError, HistoryError, DocumentInvalid)):
        write(home, now)
    assert mine.read_text() == "mine\n"
