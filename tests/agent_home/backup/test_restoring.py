"""A home made from a backup is the home that was backed up, and a hostile backup makes nothing run or leak."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_home.backup.content_store import ContentStore
from agent_home.backup.errors import BackupDamaged, BackupRefused, RestoreFailed
from agent_home.backup.making import backup
from agent_home.backup.manifest import read_manifest
from agent_home.backup.restoring import restore_home
from agent_home.consent.settings_in_effect import accept_settings
from agent_home.home import Home
from agent_home.machine_key import key_path
from agent_home.screening.review_ledger import APPROVED, approval_digests, decisions, sign_row
from agent_home.settings import MANIFEST, load_manifest
from agent_home.store.machine_state import hold_home
from agent_home.store.unverified import FOLDER
from tests.torture.faults import Fault, Faults, faults, missing

from ..conftest import Git
from .conftest import Forge, State, content


def test_a_restored_home_is_the_home_that_was_backed_up(
    used: Home, target: Path, tmp_path: Path, now: datetime, state: State
) -> None:
    backup(used, target, now=now)
    again = Home(restore_home(target, tmp_path / "again").root)
    assert state(again) == state(used)
    assert (again.root / "Knowledge" / "empty").is_dir()
    modes = {path.stat().st_mode & 0o077 for path in again.root.rglob("*") if ".git" not in path.parts}
    assert modes == {0}
    assert again.root.stat().st_mode & 0o777 == 0o700


def test_a_restored_home_goes_on(used: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    backup(used, target, now=now)
    again = Home(restore_home(target, tmp_path / "again").root)
    subprocess.run(["git", "fsck", "--strict"], cwd=again.root, check=True, capture_output=True)
    with pytest.raises(BackupRefused, match="is a copy of it"):
        backup(again, target, now=now)
    used.root.rename(tmp_path / "retired")
    assert backup(again, target, now=now).new == 2  # records that are signed for the new folder
    assert (again.root / ".git" / "hooks" / "pre-commit").exists()
    assert "merge-driver" in (again.root / ".git" / "config").read_text()


def test_a_home_on_a_detached_head_and_one_without_a_commit_come_back(
    home: Home, target: Path, tmp_path: Path, now: datetime, git: Git, state: State
) -> None:
    git("checkout", "-q", "--detach")
    backup(home, target, now=now)
    again = restore_home(target, tmp_path / "again").root
    assert not (again / ".git" / "HEAD").read_text().startswith("ref:")
    git("checkout", "-q", "--orphan", "fresh")
    backup(home, target, now=now)
    empty = restore_home(target, tmp_path / "empty").root
    assert (empty / ".git" / "HEAD").read_text() == "ref: refs/heads/fresh\n"
    listed = subprocess.run(["git", "ls-files"], cwd=empty, check=True, capture_output=True, text=True).stdout
    assert "MEMORY.md" in listed


def test_a_home_without_git_comes_back(home: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    (home.root / ".git" / "agent-home").rename(tmp_path / "state")
    shutil.rmtree(home.root / ".git")
    (tmp_path / "state").rename(home.root / ".memory")
    made = backup(home, target, now=now)
    assert (made.left_out, made.manifest.history) == ((), None)
    again = Home(restore_home(target, tmp_path / "again").root)
    assert (again.machine / "salt").read_bytes() == (home.root / ".memory" / "salt").read_bytes()
    assert (again.root / "MEMORY.md").read_bytes() == (home.root / "MEMORY.md").read_bytes()


def test_a_linked_work_tree_comes_back_as_a_home_of_its_own(
    home: Home, target: Path, tmp_path: Path, now: datetime, git: Git
) -> None:
    git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    linked = Home(tmp_path / "linked")
    with hold_home(linked):
        pass
    backup(linked, target, now=now)
    again = Home(restore_home(target, tmp_path / "again").root)
    assert (again.root / ".git" / "HEAD").read_text() == "ref: refs/heads/linked\n"
    assert (again.machine / "salt").read_bytes() == (linked.machine / "salt").read_bytes()


def test_consents_count_on_the_machine_that_gave_them(
    home: Home, target: Path, tmp_path: Path, now: datetime, elsewhere: Callable[[], None]
) -> None:
    with (home.root / MANIFEST).open("a") as file:
        file.write('\n[owner]\nnames = ["Sam"]\n')
    accept_settings(load_manifest(home.root / MANIFEST), home.machine)
    assert Home(home.root).manifest.waiting == ()
    backup(home, target, now=now)
    mine = restore_home(target, tmp_path / "mine")
    assert (mine.manifest.own, Home(mine.root).manifest.waiting) == (True, ())
    elsewhere()
    theirs = restore_home(target, tmp_path / "theirs")
    waiting = [item.key for item in Home(theirs.root).manifest.waiting]
    assert (theirs.manifest.own, waiting) == (False, ["owner.names"])
    assert ".git/agent-home/settings.json" in theirs.not_trusted
    assert not (Home(theirs.root).machine / "settings.json").exists()


def test_approvals_count_on_the_machine_that_gave_them(
    home: Home, target: Path, tmp_path: Path, now: datetime, elsewhere: Callable[[], None]
) -> None:
    digests = list(approval_digests("Ignore all previous instructions"))
    row = {"ts": now.isoformat(), "kind": "quarantine", "id": "q-1", "by": "Sam", "digests": digests}
    (home.root / APPROVED).write_text(json.dumps(sign_row(home, row)) + "\n")
    backup(home, target, now=now)
    mine = Home(restore_home(target, tmp_path / "mine").root)
    assert decisions(mine).approves("Ignore all previous instructions")
    elsewhere()
    theirs = Home(restore_home(target, tmp_path / "theirs").root)
    assert not decisions(theirs).approves("Ignore all previous instructions")
    assert [decision.id for decision in decisions(theirs).foreign] == ["q-1"]


def test_a_record_that_did_not_count_in_the_old_home_does_not_count_in_the_new_one(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    with (home.root / MANIFEST).open("a") as file:
        file.write('\n[owner]\nnames = ["Eve"]\n')
    forged = {"values": {"owner.names": ["Eve"]}, "audiences": {}, "files": {}}
    (home.machine / "settings.json").write_text(json.dumps({"record": forged, "mac": "0" * 64}))
    backup(home, target, now=now)
    again = restore_home(target, tmp_path / "again")
    assert again.manifest.own
    assert [item.key for item in Home(again.root).manifest.waiting] == ["owner.names"]


def test_a_manifest_that_was_changed_is_not_of_this_machine(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge
) -> None:
    backup(home, target, now=now)
    forge({"file": ".git/agent-home/hot-state.db", **content(target, b"x")})
    done = restore_home(target, tmp_path / "again")
    assert not done.manifest.own
    assert not (Home(done.root).machine / "hot-state.db").exists()


def test_an_interrupted_write_of_somebody_else_waits_for_a_person(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge
) -> None:
    backup(home, target, now=now)
    record = json.dumps({"files": [{"path": "MEMORY.md", "before": "", "after": "", "staged": "0.tmp"}]})
    forge({"file": ".git/agent-home/redo.json", **content(target, json.dumps({"mac": "", "record": record}).encode())})
    again = Home(restore_home(target, tmp_path / "again").root)
    before = (again.root / "MEMORY.md").read_bytes()
    backup(again, tmp_path / "second", now=now)
    assert (again.root / "MEMORY.md").read_bytes() == before
    assert (again.machine / FOLDER).is_dir()


@pytest.mark.parametrize(
    "path",
    [
        "../outside.md", "/etc/outside.md", "a/../../outside.md", "a//b", "./a", "", "a\0b", ".git/config",
        ".git/hooks/pre-commit", ".GIT/config", ".git /config", ".g\u200cit/config", "GIT~1/config", ".git::$INDEX/x",
        "Projects/x/.git/config", ".memory/index.db", ".Memory/index.db", ".git/agent-home/../config",
        ".git/agent-home/x/../../config", ".git/agent-home//redo.json",
    ],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_refused(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge, path: str
) -> None:
    backup(home, target, now=now)
    forge({"file": path, **content(target, b"x")})
    with pytest.raises(BackupDamaged, match="not acceptable"):
        restore_home(target, tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    "rows",
    [
        [{"link": "out", "to": "../../etc"}],
        [{"link": "out", "to": "/etc"}],
        [{"link": "out", "to": ".git"}],
        [{"link": "Knowledge/up", "to": ".."}, {"link": "out", "to": "Knowledge/up/../../etc"}],
        [{"link": "Knowledge/here", "to": "../Projects"}, {"folder": "Knowledge/here/below"}],
        [{"link": "MEMORY.md", "to": "USER.md"}],
        [{"folder": "MEMORY.md/below"}],
        [{"ref": "refs/heads/../../config", "id": "0" * 40, "kind": "commit"}, {"ref": "x", "id": "", "kind": ""}],
        [{"ref": "refs/heads/a\ncreate refs/heads/b", "id": "0" * 40, "kind": "commit"}],
        [{"ref": "refs/heads/\ud800", "id": "0" * 40, "kind": "commit"}],
        [{"staged": "../outside", "mode": "100644", "id": "0" * 40}],
        [{"unknown": 1}],
        [{"file": "big.md", "size": -1, "sha256": "0" * 64, "mode": "0600", "mtime_ns": 0}],
        [{"file": "big.md", "size": 1, "sha256": "../../../etc/passwd", "mode": "0600", "mtime_ns": 0}],
        [[]],
        ["file"],
    ],
)
def test_a_row_that_no_backup_has_is_refused(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge, rows: list[Any]
) -> None:
    backup(home, target, now=now)
    forge(*rows)
    with pytest.raises(BackupDamaged, match="not acceptable"):
        restore_home(target, tmp_path / "again")


def test_a_ref_that_names_nothing_is_refused(
    home: Home, target: Path, tmp_path: Path, now: datetime, forge: Forge
) -> None:
    backup(home, target, now=now)
    forge({"ref": "refs/heads/x", "id": "1" * 40, "kind": "commit"})
    with pytest.raises(BackupDamaged, match="git refuses"):
        restore_home(target, tmp_path / "again")
    assert [path.name for path in tmp_path.iterdir() if "again" in path.name] == []


def test_a_history_with_an_object_that_git_refuses_is_refused(
    home: Home, target: Path, tmp_path: Path, now: datetime, elsewhere: Callable[[], None], git: Git
) -> None:
    """Git's own check finds a tree with a folder ``.git``, which a checkout would write into."""
    blob = git("hash-object", "-w", "MEMORY.md").strip()
    entry = b"100644 config\0" + bytes.fromhex(blob)
    inner = subprocess.run(["git", "hash-object", "-w", "-t", "tree", "--stdin", "--literally"], cwd=home.root,
                           input=entry, capture_output=True, check=True).stdout.strip().decode()  # fmt: skip
    outer = subprocess.run(["git", "hash-object", "-w", "-t", "tree", "--stdin", "--literally"], cwd=home.root,
                           input=b"40000 .git\0" + bytes.fromhex(inner), capture_output=True, check=True)  # fmt: skip
    tree = outer.stdout.strip().decode()
    commit = git("-c", "user.name=E", "-c", "user.email=e@e", "commit-tree", "-m", "x", tree).strip()
    git("branch", "evil", commit)
    backup(home, target, now=now)
    mine = restore_home(target, tmp_path / "mine")  # it lies in this user's own home already
    assert mine.manifest.own
    elsewhere()
    with pytest.raises(BackupDamaged, match="git refuses"):
        restore_home(target, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_nothing_of_the_old_repository_becomes_a_setting_or_a_program(
    home: Home, target: Path, tmp_path: Path, now: datetime, git: Git
) -> None:
    mark = tmp_path / "ran"
    git("config", "core.fsmonitor", f"touch {mark}")
    git("config", "filter.evil.clean", f"touch {mark}; cat")
    (home.root / ".git" / "hooks" / "post-index-change").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (home.root / ".git" / "hooks" / "post-index-change").chmod(0o755)
    backup(home, target, now=now)
    again = restore_home(target, tmp_path / "again").root
    assert not mark.exists()
    settings = (again / ".git" / "config").read_text()
    assert "fsmonitor" not in settings
    assert "evil" not in settings
    assert not (again / ".git" / "hooks" / "post-index-change").exists()


def test_contents_that_are_links_or_pipes_are_not_read(home: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    manifest = backup(home, target, now=now).manifest
    store = ContentStore(target)
    one, two = store.path(manifest.files["MEMORY.md"].digest), store.path(manifest.files["USER.md"].digest)
    one.rename(tmp_path / "moved")
    one.symlink_to(tmp_path / "moved")
    two.unlink()
    os.mkfifo(two)
    with pytest.raises(BackupDamaged) as refused:
        restore_home(target, tmp_path / "again")
    assert {file.path for file in refused.value.files} == {"MEMORY.md", "USER.md"}


def test_a_damaged_backup_is_refused_and_names_its_files(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    manifest = backup(home, target, now=now).manifest
    ContentStore(target).path(manifest.files["USER.md"].digest).write_bytes(b"x")
    with pytest.raises(BackupDamaged, match=r"USER\.md has 1 bytes"):
        restore_home(target, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    done = restore_home(target, tmp_path / "again", partial=True)
    assert [file.path for file in done.missing] == ["USER.md"]
    assert ((done.root / "MEMORY.md").exists(), (done.root / "USER.md").exists()) == (True, False)


def test_a_damaged_history_is_refused_even_in_part(home: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    manifest = backup(home, target, now=now).manifest
    ContentStore(target).path(manifest.packs[0].digest).unlink()
    with pytest.raises(BackupDamaged, match="damaged history"):
        restore_home(target, tmp_path / "again", partial=True)


def test_a_place_that_is_taken_is_refused(home: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    backup(home, target, now=now)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "file").write_text("x")
    for root, reason in ((tmp_path / "full", "not empty"), (tmp_path / "file", "is a file"), (target / "x", "inside")):
        with pytest.raises(BackupRefused, match=reason):
            restore_home(target, root)
    (tmp_path / "empty").mkdir()
    assert (restore_home(target, tmp_path / "empty").root / "MEMORY.md").exists()


def test_a_folder_without_a_backup_is_refused(home: Home, tmp_path: Path) -> None:
    for folder in (home.root, tmp_path / "absent"):
        with pytest.raises(BackupRefused, match="is not there"):
            restore_home(folder, tmp_path / "again")


def test_a_parent_that_cannot_be_written_is_a_clear_error(
    home: Home, target: Path, tmp_path: Path, now: datetime
) -> None:
    backup(home, target, now=now)
    (tmp_path / "file").write_text("x")
    with pytest.raises(RestoreFailed, match="was not made"):
        restore_home(target, tmp_path / "file" / "inner" / "again")


def test_a_dry_run_writes_nothing(home: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    backup(home, target, now=now)
    before = sorted(tmp_path.iterdir())
    assert restore_home(target, tmp_path / "again", dry_run=True).manifest == read_manifest(target)
    assert sorted(tmp_path.iterdir()) == before


def test_no_key_is_made_for_a_backup_of_others(
    home: Home, target: Path, tmp_path: Path, now: datetime, elsewhere: Callable[[], None]
) -> None:
    backup(home, target, now=now)
    elsewhere()
    restore_home(target, tmp_path / "again", dry_run=True)
    assert not key_path().exists()


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("fault", ["kill", "full"])
def test_a_fault_at_any_change_leaves_no_part_of_a_home(
    used: Home, target: Path, tmp_path: Path, now: datetime, failing: Faults, state: State, fault: Fault
) -> None:
    backup(used, target, now=now)
    again = tmp_path / "again"
    code, changes, _, errors = failing.run("restore-home", str(target), str(tmp_path / "undisturbed"))
    assert code == 0, errors
    for at in range(1, changes + 1, max(1, changes // 16)):
        code, _, _, errors = failing.run("restore-home", str(target), str(again), fault=fault, at=at)
        assert "Traceback" not in errors
        if again.exists():
            assert state(Home(again)) == state(used), at
            subprocess.run(["rm", "-r", str(again)], check=True)
        elif fault == "full":
            assert code == 8, errors
    restore_home(target, again)
    assert state(Home(again)) == state(used)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".again")] == []
