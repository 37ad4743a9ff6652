"""A repository that changed is copied alone, and one that cannot be read keeps nothing else from being copied."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_home.backup import inner_repositories, manifest
from agent_home.backup.copied_history import CopiedHistory, copy_history
from agent_home.backup.making import backup
from agent_home.backup.restoring import restore_home
from agent_home.backup.verification import verify_backup
from agent_home.home import Home
from tests.sharing import ORION, put, run_git

from ..conftest import AddEntry
from ..git.traps import Trapped


@pytest.fixture
def project(home: Home, tmp_path: Path) -> Path:
    """A clone in the home, with objects in files of their own and a staged text."""
    return put(home, "clone", tmp_path / "elsewhere")


def commit(project: Path, text: str) -> None:
    (project / "TECH.md").write_text(text)
    run_git(project, "add", "TECH.md")
    run_git(project, "commit", "-q", "-m", "Write")


def test_a_repository_that_did_not_change_costs_nothing(
    home: Home, project: Path, target: Path, now: datetime, add_entry: AddEntry
) -> None:
    first = backup(home, target, now=now).manifest.repositories[ORION]
    add_entry("Grey goose")
    again = backup(home, target, now=now)
    assert again.manifest.repositories[ORION] == first
    commit(project, "more\n")
    grown = backup(home, target, now=now).manifest.repositories[ORION]
    assert (grown.packs[:1], len(grown.packs)) == (first.packs, 2)
    run_git(project, "reset", "-q", "--hard", "HEAD~1")
    dropped = backup(home, target, now=now).manifest.repositories[ORION]
    assert (len(dropped.packs), dropped.history) == (1, first.history)
    assert not verify_backup(target).damaged
    shutil.rmtree(project)
    assert backup(home, target, now=now).manifest.repositories == {}


def test_a_repository_that_moved_is_copied_as_it_is_in_the_end(
    home: Home, project: Path, target: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit between the copying and the lock of the home is in the backup."""

    def late(root: Path, *others: Any) -> CopiedHistory:
        if not (project / "TECH.md").exists():
            commit(project, "late\n")
        return copy_history(root, *others)

    monkeypatch.setattr("agent_home.backup.making.copy_history", late)
    backup(home, target, now=now)
    again = restore_home(target, target.with_name("again")).root
    assert run_git(again / ORION, "show", "HEAD:TECH.md") == "late"
    assert run_git(again / ORION, "status", "--porcelain") == ""


def corrupt(project: Path) -> None:
    """Write something else into every object."""
    for path in (project / ".git" / "objects").rglob("*"):
        if path.is_file():
            path.unlink()  # a clone has the same file
            path.write_bytes(b"x" * 40)


def test_a_corrupt_repository_is_named_and_its_earlier_copy_stays(
    home: Home, project: Path, target: Path, now: datetime
) -> None:
    run_git(home.root, "clone", "-q", str(project), "Projects/vega")
    before = backup(home, target, now=now).manifest.repositories
    corrupt(project)
    (project / "PRODUCT.md").write_text("changed\n")
    report = backup(home, target, now=now)
    assert [item.path for item in report.unread] == [f"{ORION}/.git"]
    assert "earlier copy" in report.unread[0].reason
    assert report.manifest.repositories == before
    again = restore_home(target, target.with_name("again")).root
    assert run_git(again / ORION, "status", "--porcelain") == "M PRODUCT.md"
    fresh = backup(home, target.with_name("fresh"), now=now)
    assert [item.path for item in fresh.unread] == [f"{ORION}/.git"]
    assert list(fresh.manifest.repositories) == ["Projects/vega"]
    assert f"{ORION}/PRODUCT.md" in fresh.manifest.files


@pytest.mark.parametrize("damage", ["staging area", "staged text"])
def test_a_damaged_staging_area_costs_what_is_staged_alone(
    home: Home, project: Path, target: Path, now: datetime, damage: str
) -> None:
    (project / "TECH.md").write_text("staged\n")
    run_git(project, "add", "TECH.md")
    if damage == "staging area":
        (project / ".git/index").write_bytes(b"DIRC garbage")
    else:
        blob = run_git(project, "rev-parse", ":TECH.md")
        (project / ".git/objects" / blob[:2] / blob[2:]).unlink()
    report = backup(home, target, now=now)
    assert [item.path for item in report.unread] == [f"{ORION}/.git/index"]
    again = restore_home(target, target.with_name("again")).root
    assert run_git(again / ORION, "status", "--porcelain") == "?? TECH.md"


def test_what_reaches_out_of_the_home_is_not_read(
    home: Home, project: Path, target: Path, tmp_path: Path, now: datetime
) -> None:
    """An archive may bring a git folder that leads to another repository of the user."""
    secret = tmp_path / "secret"
    run_git(tmp_path, "init", "-q", "-b", "main", str(secret))
    commit(secret, "Blue Heron\n")
    projects = home.root / "Projects"
    for name in ("link", "pointer", "objects", "refs", "tree", "alternates", "pipe", "head", "climbing", "packed"):
        (projects / name).mkdir()
    (projects / "link/.git").symlink_to(secret / ".git")
    (projects / "pointer/.git").write_text(f"gitdir: {secret}/.git\n")
    (projects / "climbing/.git").write_text(f"gitdir: ../../.git/modules/../../../{secret.name}/.git\n")
    for name in ("objects", "refs", "alternates", "pipe", "head", "packed"):
        run_git(projects / name, "init", "-q", "-b", "main")
    shutil.rmtree(projects / "objects/.git/objects")
    (projects / "objects/.git/objects").symlink_to(secret / ".git/objects")
    shutil.rmtree(projects / "refs/.git/refs")
    (projects / "refs/.git/refs").symlink_to(secret / ".git/refs")
    (projects / "alternates/.git/objects/info/alternates").write_text(f"{secret}/.git/objects\n")
    (projects / "alternates/.git/refs/heads/main").write_text(run_git(secret, "rev-parse", "HEAD") + "\n")
    secret_id = run_git(secret, "rev-parse", "HEAD")
    run_git(secret, "repack", "-q", "-a", "-d")
    for path in (secret / ".git/objects/pack").iterdir():
        (projects / "packed/.git/objects/pack" / path.name).symlink_to(path)
    (projects / "packed/.git/refs/heads/main").write_text(secret_id + "\n")
    os.mkfifo(projects / "pipe/.git/refs/heads/main")
    (projects / "head/.git/HEAD").write_text("ref: ../../../MEMORY.md\n")
    projects.joinpath("tree").rmdir()
    run_git(secret, "worktree", "add", "-q", str(projects / "tree"))
    report = backup(home, target, now=now)
    assert list(report.manifest.repositories) == [ORION]
    left_out = {item.path.split("/")[1]: item.reason for item in report.left_out}
    assert left_out.keys() == {path.name for path in projects.iterdir() if path.is_dir()} - {"orion"}
    assert "linked work tree" in left_out["tree"]
    assert "repack" in left_out["alternates"]
    assert not verify_backup(target).damaged
    packs = [path for path in (target / "contents").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"PACK"]
    for number, pack in enumerate(packs):
        run_git(tmp_path, "init", "-q", f"unpacked{number}")
        shutil.copy(pack, tmp_path / f"unpacked{number}/.git/objects/pack/x.pack")
        run_git(tmp_path / f"unpacked{number}", "index-pack", ".git/objects/pack/x.pack")
        command = ["git", "cat-file", "--batch", "--batch-all-objects"]
        texts = subprocess.run(command, cwd=tmp_path / f"unpacked{number}", check=True, capture_output=True).stdout
        assert b"PRODUCT.md" in texts or b"MEMORY.md" in texts
        assert b"Blue Heron" not in texts


def test_a_submodule_that_is_not_checked_out_is_named(home: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    put(home, "submodule", tmp_path / "elsewhere")
    run_git(home.root, "submodule", "deinit", "-q", "-f", ORION)
    report = backup(home, target, now=now)
    assert [(item.path, item.unread) for item in report.left_out] == [(f".git/modules/{ORION}", False)]


def test_repositories_without_number_are_bounded(
    home: Home, target: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "MOST_REPOSITORIES", 3)
    monkeypatch.setattr(inner_repositories, "MOST_REPOSITORIES", 3)
    run_git(home.root, "init", "-q", "Projects/a/r0")
    for number in range(1, 4):
        shutil.copytree(home.root / "Projects/a/r0", home.root / f"Projects/a/r{number}")
    run_git(home.root, "init", "-q", "Projects/b")
    report = backup(home, target, now=now)
    assert list(report.manifest.repositories) == ["Projects/a/r0", "Projects/a/r1", "Projects/b"]
    assert [item.path for item in report.unread] == ["Projects/a/r2/.git"]
    assert "1 more" in report.unread[0].reason


def test_a_backup_of_a_repository_full_of_traps_runs_nothing(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    trapped = Trapped(home.root / "Projects" / "trapped", tmp_path / "traps")
    trapped.build()
    trapped.ran()
    report = backup(home, target, now=now)
    done = restore_home(target, tmp_path / "again")
    assert trapped.ran() == set()
    assert report.manifest.repositories.keys() == {"Projects/trapped", "Projects/trapped/inner"}
    settings = (done.root / "Projects/trapped/.git/config").read_text()
    assert "trap" not in settings.replace("Projects/trapped", "")


@pytest.mark.parametrize("damage", ["commit", "ref", "blob"])
def test_what_git_can_read_of_a_damaged_repository_is_carried(
    home: Home, project: Path, target: Path, now: datetime, damage: str
) -> None:
    """A power cut leaves files of the newest commit empty."""
    run_git(project, "switch", "-q", "-c", "newest")
    commit(project, "newest\n")
    run_git(project, "switch", "-q", "main")
    named = run_git(project, "rev-parse", "newest:TECH.md" if damage == "blob" else "newest")
    file = project / ".git" / ("refs/heads/newest" if damage == "ref" else f"objects/{named[:2]}/{named[2:]}")
    file.chmod(0o600)
    file.write_bytes(b"")
    report = backup(home, target, now=now)
    assert [item.path for item in report.unread] == [f"{ORION}/.git/refs"]
    assert "without refs/heads/newest" in report.unread[0].reason
    again = restore_home(target, target.with_name("again")).root
    assert run_git(again / ORION, "branch", "--format=%(refname)") == "refs/heads/main"
    assert run_git(again / ORION, "status", "--porcelain") == ""


def test_a_damaged_ref_never_replaces_an_earlier_copy(home: Home, project: Path, target: Path, now: datetime) -> None:
    before = backup(home, target, now=now).manifest.repositories
    (project / ".git/refs/heads/main").write_bytes(b"")
    report = backup(home, target, now=now)
    assert [item.path for item in report.unread] == [f"{ORION}/.git"]
    assert report.manifest.repositories == before


@pytest.mark.parametrize("head", ["ref: ../../x\n", "ref: refs/heads/a b\n", "", "\xff\xfe"])
def test_a_head_that_names_nothing_keeps_nothing_else_from_being_copied(
    home: Home, project: Path, target: Path, now: datetime, head: str
) -> None:
    before = backup(home, target, now=now).manifest.repositories
    (project / ".git/HEAD").write_text(head, encoding="latin-1")
    report = backup(home, target, now=now)
    assert [item.path for item in report.unread] == [f"{ORION}/.git"]
    assert report.manifest.repositories == before
    fresh = backup(home, target.with_name("fresh"), now=now)
    assert fresh.manifest.repositories == {}


@pytest.mark.parametrize("lost", ["HEAD", "config"])
def test_a_git_folder_that_lost_a_file_keeps_its_earlier_copy(
    home: Home, target: Path, tmp_path: Path, now: datetime, lost: str
) -> None:
    put(home, "submodule", tmp_path / "elsewhere")
    before = backup(home, target, now=now).manifest.repositories
    file = home.root / ".git/modules" / ORION / lost
    file.unlink()
    report = backup(home, target, now=now)
    assert [item.path for item in report.unread] == [f"{ORION}/.git"]
    assert "earlier copy" in report.unread[0].reason
    assert report.manifest.repositories == before
