"""Repositories inside a home come back with their history and their uncommitted state, and shared projects go on."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.backup.content_store import ContentStore
from agent_home.backup.errors import BackupDamaged
from agent_home.backup.making import backup
from agent_home.backup.restoring import restore_home
from agent_home.backup.verification import verify_backup
from agent_home.documents.check import problems
from agent_home.home import Home
from agent_home.sharing.folders import shared_folders
from agent_home.sharing.health import sharing_problems
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.close import close
from tests.sharing import IMPROVEMENT, ORION, put, run_git

FORMS = ("submodule", "clone")


def restored(home: Home, target: Path, now: datetime) -> Home:
    """Back *home* up, and return the home that is made of it."""
    assert backup(home, target, now=now).left_out == ()
    return Home(restore_home(target, target.with_name("again")).root)


def asked(root: Path) -> dict[str, str]:
    """Return what git says of the repository *root*."""
    commands = (
        "for-each-ref refs/heads refs/tags refs/stash refs/remotes/origin/main", "status --porcelain", "diff",
        "diff --cached", "stash list --format=%H%gs", "log --all --format=%H%B",
    )  # fmt: skip
    return {
        "HEAD": run_git(root, "rev-parse", "--symbolic-full-name", "HEAD"),
        **{words: run_git(root, *words.split()) for words in commands},
    }


def close_about_orion(home: Home, session: str, now: datetime) -> None:
    said = (
        ("user", f"Let us go on with {ORION} today."), ("assistant", f"I read {ORION}/PRODUCT.md."),
        ("assistant", f"Lesson: measure {session} before caching it."),
    )  # fmt: skip
    messages = [
        Message(session=session, id=f"m{n}", ts=f"2026-11-20T10:{n:02d}:00", role=role, content=content)
        for n, (role, content) in enumerate(said, 1)
    ]
    transcript.append(home, session, messages, actor="import", now=now)
    done = close(home, session, now=now)
    assert (done.projects, done.degraded) == ((IMPROVEMENT,), ())


def leave_everything(project: Path) -> None:
    """Leave branches, tags, two stashes, staged and unstaged edits, and a file that git does not know."""
    run_git(project, "branch", "aside")
    run_git(project, "tag", "-a", "-m", "a release", "v1")
    for number in (1, 2):
        (project / "PRODUCT.md").write_text(f"stash {number}\n")
        run_git(project, "stash", "push", "-q", "-m", f"stash {number}")
    (project / "TECH.md").write_text("staged\n")
    run_git(project, "add", "TECH.md")
    (project / "TECH.md").write_text("on the disk\n")
    (project / "untracked.md").write_text("untracked\n")


@pytest.mark.parametrize("form", FORMS)
def test_a_shared_project_goes_on_in_the_restored_home(
    home: Home, target: Path, tmp_path: Path, now: datetime, form: str
) -> None:
    project = put(home, form, tmp_path / "elsewhere")
    close_about_orion(home, "s-1", now)
    leave_everything(project)
    before = asked(project)
    again = restored(home, target, now)
    assert asked(again.root / ORION) == before
    kinds = [(shared.place, shared.kind) for shared in shared_folders(again)]
    assert kinds == [(ORION, form)]
    assert (problems(again), sharing_problems(again)) == ([], [])
    close_about_orion(again, "s-2", now)
    assert "measure s-2" in run_git(again.root / ORION, "show", "HEAD:IMPROVEMENT.md")
    assert (problems(again), sharing_problems(again)) == ([], [])
    if form == "submodule":
        assert run_git(again.root, "rev-parse", f"HEAD:{ORION}") == run_git(again.root / ORION, "rev-parse", "HEAD")
    assert "measure s-2" not in (project / "IMPROVEMENT.md").read_text()


def test_a_submodule_is_a_submodule_of_the_restored_home_wherever_that_is_moved(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    put(home, "submodule", tmp_path / "elsewhere")
    run_git(home.root, "mv", ORION, "Projects/renamed")  # its name stays
    run_git(home.root, "commit", "-q", "--no-verify", "-m", "Rename")
    again = restored(home, target, now)
    moved = tmp_path / "moved" / "home"
    moved.parent.mkdir()
    again.root.rename(moved)
    assert (moved / "Projects/renamed/.git").read_text() == f"gitdir: ../../.git/modules/{ORION}\n"
    run_git(moved, "config", f"submodule.{ORION}.url", str(tmp_path / "elsewhere" / "orion"))
    assert run_git(moved, "submodule", "status").startswith(run_git(home.root, "submodule", "status").split()[0])
    run_git(moved, "submodule", "update")
    assert run_git(moved, "status", "--porcelain") == ""
    assert sharing_problems(Home(moved)) == []


def test_repositories_in_repositories_come_back_in_their_forms(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    source = str(tmp_path / "elsewhere" / "orion")
    run_git(project, "submodule", "add", "-q", source, "parts/inner")
    run_git(project, "commit", "-q", "-m", "Add inner")
    run_git(project, "clone", "-q", source, "parts/inner/!clone")
    with (home.root / ".git/modules" / ORION / "modules/parts/inner/info/exclude").open("a") as file:
        file.write("/!clone\n")
    run_git(home.root, "clone", "-q", source, "Knowledge/loose")
    run_git(home.root / "Knowledge/loose", "checkout", "-q", "--detach")
    places = [ORION, f"{ORION}/parts/inner", f"{ORION}/parts/inner/!clone", "Knowledge/loose"]
    before = [asked(home.root / place) for place in places]
    again = restored(home, target, now)
    assert [asked(again.root / place) for place in places] == before
    assert (again.root / ORION / "parts/inner/.git").read_text() == (project / "parts/inner/.git").read_text()
    assert (again.root / ORION / "parts/inner/!clone/.git").is_dir()


def test_a_repository_without_a_commit_and_a_shallow_one_come_back(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    source = put(home, "clone", tmp_path / "elsewhere")
    run_git(source, "commit", "-q", "--allow-empty", "-m", "Second")
    run_git(home.root, "clone", "-q", "--depth", "1", f"file://{source}", "Projects/shallow")
    run_git(home.root, "init", "-q", "-b", "trunk", "Projects/fresh")
    (home.root / "Projects/fresh/new.md").write_text("new\n")
    run_git(home.root / "Projects/fresh", "add", "new.md")
    again = restored(home, target, now)
    assert run_git(again.root / "Projects/fresh", "status", "--porcelain") == "A  new.md"
    assert (again.root / "Projects/fresh/.git/HEAD").read_text() == "ref: refs/heads/trunk\n"
    assert run_git(again.root / "Projects/shallow", "rev-list", "--count", "HEAD") == "1"
    assert run_git(again.root / "Projects/shallow", "rev-parse", "--is-shallow-repository") == "true"
    run_git(home.root / "Projects/shallow", "fetch", "-q", "--unshallow")
    backup(home, target, now=now)
    whole = restore_home(target, tmp_path / "whole").root
    assert run_git(whole / "Projects/shallow", "rev-list", "--count", "HEAD") == "2"


def test_a_clone_that_the_home_ignores_is_ignored_again(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    put(home, "clone", tmp_path / "elsewhere")
    with (home.root / ".git/info/exclude").open("a") as file:
        file.write(f"/{ORION}/\n/Knowledge/*\n")
    again = restored(home, target, now)
    assert run_git(again.root, "status", "--porcelain") == ""
    assert f"/{ORION}/\n" in (again.root / ".git/info/exclude").read_text()
    assert "Knowledge" not in (again.root / ".git/info/exclude").read_text()


def test_nothing_of_a_repository_becomes_a_setting_or_a_program(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    project, mark = put(home, "submodule", tmp_path / "elsewhere"), tmp_path / "ran"
    folder = home.root / ".git/modules" / ORION
    (folder / "info/attributes").write_text("* filter=evil\n")
    (folder / "info/grafts").write_text(run_git(project, "rev-parse", "HEAD") + "\n")
    (folder / "hooks/post-index-change").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (folder / "hooks/post-index-change").chmod(0o755)
    (tmp_path / "included").write_text(f'[core]\n\tsshCommand = "touch {mark}"\n')
    for key, value in (
        ("core.fsmonitor", f"touch {mark}"), ("core.hooksPath", str(folder / "hooks")),
        ("filter.evil.clean", f"touch {mark}; cat"), ("include.path", str(tmp_path / "included")),
    ):  # fmt: skip
        run_git(home.root, "config", "--file", str(folder / "config"), key, value)
    again = restored(home, target, now)
    assert not mark.exists()
    made = again.root / ".git/modules" / ORION
    settings = {line.strip().split(" = ")[0] for line in (made / "config").read_text().splitlines()}
    assert settings == {"[core]", "repositoryformatversion", "filemode", "bare", "logallrefupdates", "worktree"}
    assert not (made / "info/attributes").exists()
    assert not (made / "info/grafts").exists()
    assert not (made / "hooks/post-index-change").exists()


def test_a_damaged_repository_is_named_and_can_be_left_out(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    put(home, "submodule", tmp_path / "elsewhere")
    run_git(home.root / ORION, "submodule", "add", "-q", str(tmp_path / "elsewhere/orion"), "inner")
    run_git(home.root / ORION, "commit", "-q", "-m", "Add inner")
    manifest = backup(home, target, now=now).manifest
    ContentStore(target).path(manifest.repositories[ORION].packs[0].digest).write_bytes(b"x")
    name = f"{ORION}/.git/history-1.pack"
    assert [file.path for file in verify_backup(target).damaged] == [name]
    with pytest.raises(BackupDamaged, match="Projects/orion"):
        restore_home(target, tmp_path / "again")
    done = restore_home(target, tmp_path / "again", partial=True)
    assert [file.path for file in done.missing] == [name]
    assert (done.root / ORION / "PRODUCT.md").is_file()
    assert not os.path.lexists(done.root / ORION / ".git")
    assert run_git(done.root / ORION / "inner", "log", "--format=%s") == "Start"
    assert backup(home, target, now=now).mended == 1
    assert not verify_backup(target).damaged


def test_a_project_goes_on_on_another_machine_without_its_remote_branches(
    home: Home, target: Path, tmp_path: Path, now: datetime, elsewhere: Callable[[], None]
) -> None:
    project = put(home, "submodule", tmp_path / "elsewhere")
    run_git(project, "replace", "HEAD", run_git(project, "commit-tree", "-m", "other", "HEAD^{tree}"))
    backup(home, target, now=now)
    elsewhere()
    again = Home(restore_home(target, tmp_path / "again").root)
    refs = run_git(again.root / ORION, "for-each-ref", "--format=%(refname)").splitlines()
    assert refs == ["refs/heads/main"]
    assert sharing_problems(again) == []
    close_about_orion(again, "s-1", now)
