"""A backup holds the whole home, copies what changed, and never replaces a whole backup by a part."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from datetime import datetime
from io import BufferedReader
from pathlib import Path

import pytest

from agent_home import storage
from agent_home.backup.backup_folder import held_backup
from agent_home.backup.errors import BackupBusy, BackupFailed, BackupRefused
from agent_home.backup.known_backups import known_backups
from agent_home.backup.making import backup
from agent_home.backup.manifest import read_manifest
from agent_home.backup.restoring import restore_home
from agent_home.backup.verification import verify_backup
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.store import transcript
from agent_home.store.transcript import Message
from distill.forget import forget
from tests.doomed import ForkServer
from tests.torture.faults import Fault, Faults, faults, missing

from ..conftest import AddEntry, Git
from .conftest import State


def whole(target: Path) -> bool:
    """Return whether the backup is there and every content is whole."""
    return not verify_backup(target).damaged


def stored(target: Path) -> bytes:
    """Return all bytes of the contents, to look for words that must not be there."""
    return b"\n".join(path.read_bytes() for path in sorted((target / "contents").rglob("*")) if path.is_file())


def test_a_second_backup_copies_only_what_changed(used: Home, target: Path, now: datetime) -> None:
    first = backup(used, target, now=now)
    assert (first.unchanged, first.removed, first.unread) == (0, 0, ())
    again = backup(used, target, now=now)
    assert (again.new, again.unchanged, again.removed, again.written) == (0, first.new, 0, 0)
    (used.root / "TOOLS.md").write_text("changed\n")
    (used.root / "Knowledge" / "new.md").write_text("new\n")
    (used.root / "SOUL.md").unlink()
    third = backup(used, target, now=now)
    assert (third.new, third.removed) == (2, 1)
    assert third.written == len("changed\n") + len("new\n")
    assert whole(target)


def test_a_change_that_keeps_size_and_time_is_copied(home: Home, target: Path, now: datetime) -> None:
    path = home.root / "Knowledge" / "note.md"
    path.write_text("aaaa\n")
    os.utime(path, ns=(10**18, 10**18))
    backup(home, target, now=now)
    path.write_text("bbbb\n")
    os.utime(path, ns=(10**18, 10**18))
    assert backup(home, target, now=now).new == 1


def test_a_dry_run_writes_nothing(used: Home, target: Path, now: datetime) -> None:
    planned = backup(used, target, now=now, dry_run=True)
    assert not target.exists()
    made = backup(used, target, now=now)
    assert (planned.new, planned.removed) == (made.new, made.removed)
    (used.root / "TOOLS.md").write_text("changed\n")
    before = sorted(path.name for path in target.rglob("*"))
    assert (backup(used, target, now=now, dry_run=True).new, whole(target)) == (1, True)
    assert sorted(path.name for path in target.rglob("*")) == before


def test_files_of_a_backup_are_for_their_owner_alone(used: Home, target: Path, now: datetime) -> None:
    target.mkdir(0o755)
    backup(used, target, now=now)
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in (target, *target.rglob("*"))}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_a_damaged_copy_is_made_whole_by_the_next_backup(used: Home, target: Path, now: datetime) -> None:
    backup(used, target, now=now)
    contents = sorted(path for path in (target / "contents").rglob("*") if path.is_file())
    contents[0].write_bytes(b"x" * contents[0].stat().st_size)
    contents[1].unlink()
    assert not whole(target)
    assert backup(used, target, now=now).mended == 2
    assert whole(target)


def test_what_was_forgotten_leaves_the_backup_with_the_next_run(
    home: Home, add_entry: AddEntry, target: Path, now: datetime
) -> None:
    add_entry("Blue Heron is the name of the release")
    messages = [Message(session="talk", id="m1", content="We call it Blue Heron")]
    transcript.append(home, "talk", messages, actor="test", now=now)
    first = backup(home, target, now=now)
    assert b"Blue Heron" in stored(target)
    done = forget(home, "Blue Heron", now=now, history_too=True)
    assert any(str(target) in warning for warning in done.warnings)
    second = backup(home, target, now=now)
    assert b"Blue Heron" not in stored(target)
    old, new = {pack.digest for pack in first.manifest.packs}, {pack.digest for pack in second.manifest.packs}
    assert (len(new), old & new) == (1, set())


def test_tombstones_of_a_restored_home_still_recognise_what_was_forgotten(
    home: Home, add_entry: AddEntry, target: Path, tmp_path: Path, now: datetime
) -> None:
    add_entry("Blue Heron is the name of the release")
    forget(home, "Blue Heron", now=now, history_too=True)
    backup(home, target, now=now)
    again = Home(restore_home(target, tmp_path / "again").root)
    messages = [Message(session="talk", id="m1", content="We call it Blue Heron")]
    written = transcript.append(again, "talk", messages, actor="test", now=now)
    assert "Blue Heron" not in written.path.read_text()


def test_new_commits_come_as_a_pack_of_their_own(home: Home, add_entry: AddEntry, target: Path, now: datetime) -> None:
    packs = backup(home, target, now=now).manifest.packs
    add_entry("Grey goose")
    more = backup(home, target, now=now).manifest.packs
    assert (len(packs), len(more), more[:1]) == (1, 2, packs)


def test_a_dropped_branch_leaves_the_packs(home: Home, git: Git, target: Path, now: datetime) -> None:
    git("checkout", "-q", "-b", "aside")
    (home.root / "Knowledge" / "aside.md").write_text("aside\n")
    git("add", "-f", "Knowledge/aside.md")
    git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--no-verify", "-m", "aside")
    git("checkout", "-q", "main")
    before = backup(home, target, now=now).manifest.packs
    git("branch", "-D", "aside")
    after = backup(home, target, now=now).manifest.packs
    assert (len(after), after == before) == (1, False)


def test_a_place_in_the_home_or_around_it_is_refused(home: Home, tmp_path: Path, now: datetime) -> None:
    link = tmp_path / "link"
    link.symlink_to(home.root / "Knowledge")
    for folder in (home.root, home.root / "backup", home.machine / "x", link / "x"):
        with pytest.raises(BackupRefused, match="inside the home"):
            backup(home, folder, now=now)
    with pytest.raises(BackupRefused, match="does not contain the home"):
        backup(home, home.root.parent, now=now)


def test_a_folder_with_something_else_is_refused_and_left_alone(home: Home, target: Path, now: datetime) -> None:
    target.mkdir()
    (target / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(BackupRefused, match="something else"):
        backup(home, target, now=now)
    assert [path.name for path in target.iterdir()] == ["holiday.jpg"]


def test_the_backup_of_another_home_is_refused(home: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    from agent_home.creation import create

    backup(home, target, now=now)
    other = create(tmp_path / "other", name="Other", now=now).home
    with pytest.raises(BackupRefused, match="another home"):
        backup(other, target, now=now)
    assert whole(target)


def test_a_second_backup_at_the_same_time_is_refused(home: Home, target: Path, now: datetime) -> None:
    backup(home, target, now=now)
    with held_backup(target, to_write=True), pytest.raises(BackupBusy, match="another process"):
        backup(home, target, now=now)


def test_the_last_copying_waits_for_a_writer(home: Home, target: Path, now: datetime) -> None:
    """So git, transcripts and outputs fit together."""
    done = threading.Event()

    def back_up() -> None:
        backup(home, target, now=now)
        done.set()

    with hold(home.lock):
        thread = threading.Thread(target=back_up)
        thread.start()
        assert not done.wait(0.5)
        (home.root / "Knowledge" / "late.md").write_text("late\n")
    thread.join()
    manifest = read_manifest(target)
    assert manifest is not None
    assert "Knowledge/late.md" in manifest.files


#: Adds entries until it is killed.
WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message, append
home, now = Home(Path(sys.argv[1])), datetime(2026, 11, 21, tzinfo=UTC)
for number in range(10_000):
    append(home, "talk", [Message(session="talk", id=f"m{number}", content=f"Line {number}")], actor="test", now=now)
    with transaction(home, actor="test", message=f"Add {number}", source="agent", now=now) as edits:
        entry = Entry(id=edits.new_id("KD", f"Note {number}"), date="2026-11-21", title=f"Note {number}")
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
    print(number, flush=True)
"""


def test_git_files_and_transcripts_of_a_backup_fit_together(
    home: Home, target: Path, tmp_path: Path, now: datetime, forks: ForkServer
) -> None:
    writer = forks.start(WRITER, str(home.root))
    try:
        for number in range(3):
            writer.stdout.readline()
            backup(home, target, now=now)
            again = restore_home(target, tmp_path / f"again{number}").root
            status = subprocess.run(
                ["git", "status", "--porcelain"], cwd=again, capture_output=True, check=True, text=True
            )
            assert status.stdout == ""
            lines = sum(file.read_text().count("\n") for file in again.glob("sessions/*/*/*.jsonl"))
            entries = (again / "MEMORY.md").read_text().count("2026-11-21 Note ")
            assert lines - entries in {0, 1}
    finally:
        writer.kill_group()
        writer.close()


def test_what_cannot_be_carried_is_named(home: Home, target: Path, tmp_path: Path, now: datetime) -> None:
    os.mkfifo(home.root / "Knowledge" / "pipe")
    (home.root / "Knowledge" / "out.md").symlink_to(tmp_path / "elsewhere")
    (home.root / "Projects" / "tool" / ".git").mkdir(parents=True)
    (home.machine / "of-tomorrow.json").write_text("{}")
    report = backup(home, target, now=now)
    assert {item.path for item in report.left_out} == {
        "Knowledge/pipe", "Knowledge/out.md", "Projects/tool/.git", ".git/agent-home/of-tomorrow.json",
    }  # fmt: skip
    assert [item.path for item in report.unread] == [".git/agent-home/of-tomorrow.json"]


def test_an_earlier_copy_of_what_cannot_be_read_stays(
    used: Home, target: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = backup(used, target, now=now).manifest

    def unreadable(path: Path) -> BufferedReader:
        if path.name == "USER.md":
            raise OSError(5, "Input/output error", str(path))
        return storage_open(path)

    storage_open = storage.open_plain
    monkeypatch.setattr(storage, "open_plain", unreadable)
    report = backup(used, target, now=now)
    assert [(item.path, item.reason) for item in report.unread] == [("USER.md", "Input/output error")]
    assert report.manifest.files["USER.md"] == before.files["USER.md"]
    assert whole(target)


def test_the_home_remembers_where_its_backups_are(home: Home, target: Path, now: datetime) -> None:
    backup(home, target, now=now)
    assert dict(known_backups(home)) == {str(target): now.isoformat()}


def test_a_folder_that_cannot_be_written_is_a_clear_error(home: Home, tmp_path: Path, now: datetime) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises((BackupFailed, BackupRefused)):
        backup(home, tmp_path / "file" / "backup", now=now)


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.parametrize("fault", ["kill", "full"])
def test_a_fault_at_any_change_leaves_a_whole_backup(
    used: Home, target: Path, tmp_path: Path, now: datetime, failing: Faults, state: State, fault: Fault
) -> None:
    words = ("backup", str(target), "--home", str(used.root), "--now", now.isoformat())
    backup(used, target, now=now)
    code, changes, _, errors = failing.run(*words)
    assert code == 0, errors
    for at in range(1, changes + 1, max(1, changes // 16)):
        (used.root / "Knowledge" / "note.md").write_text(f"note {at}\n")
        code, _, _, errors = failing.run(*words, fault=fault, at=at)
        assert whole(target), (at, errors)
        assert "Traceback" not in errors
        if fault == "full":
            assert code in {0, 1, 8}, errors
    backup(used, target, now=now)
    again = Home(restore_home(target, tmp_path / "again").root)
    assert state(again) == state(used)


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_first_backup_that_was_killed_is_continued(used: Home, target: Path, now: datetime, failing: Faults) -> None:
    words = ("backup", str(target), "--home", str(used.root), "--now", now.isoformat())
    for at in (3, 9, 20, 40, 80):
        code, _, _, errors = failing.run(*words, fault="kill", at=at)
        assert code == -9, errors
    assert backup(used, target, now=now).unread == ()
    assert whole(target)
    leftovers = [path.name for path in target.rglob("*") if path.name.endswith(".tmp")]
    assert leftovers == []


@pytest.mark.parametrize("name", ["x\u00a0y", "a\u2028b", "c\u0085d", "e\u3000f"])
def test_a_branch_with_an_odd_name_is_carried(home: Home, git: Git, target: Path, now: datetime, name: str) -> None:
    git("branch", name)
    backup(home, target, now=now)
    assert whole(target)
    manifest = read_manifest(target)
    assert manifest is not None
    assert manifest.history is not None
    assert f"refs/heads/{name}" in {ref.name for ref in manifest.history.refs}


def test_a_staged_name_that_is_left_out_and_a_late_time_leave_the_backup_readable(
    home: Home, git: Git, target: Path, now: datetime
) -> None:
    (home.root / ".Memory").mkdir(exist_ok=True)
    (home.root / ".Memory" / "x").write_text("x")
    git("add", "-f", ".Memory/x")
    late = 7_258_118_400  # the year 2200
    os.utime(home.root / "USER.md", (late, late))
    backup(home, target, now=now)
    assert whole(target)


def test_a_manifest_that_cannot_be_read_back_replaces_no_earlier_one(
    home: Home, target: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup(home, target, now=now)
    before = (target / "manifest.jsonl").read_bytes()
    monkeypatch.setattr("agent_home.backup.making.manifest_lines", lambda _manifest: [b"{}\n"])
    (home.root / "USER.md").write_text("changed\n")
    with pytest.raises(BackupFailed, match="read back"):
        backup(home, target, now=now)
    assert (target / "manifest.jsonl").read_bytes() == before
    assert whole(target)


def test_folders_without_end_are_named_and_stop_nothing(home: Home, target: Path, now: datetime) -> None:
    deep = home.root / "Knowledge" / "/".join(["a"] * 400)
    deep.mkdir(parents=True)
    done = backup(home, target, now=now)
    assert [one.reason for one in done.left_out if one.unread] == ["is a folder 200 levels deep"]
    assert whole(target)


def test_a_place_in_another_home_is_refused(home: Home, tmp_path: Path, now: datetime) -> None:
    other = tmp_path / "other"
    (other / "Archive").mkdir(parents=True)
    (other / "agent.toml").write_text("")
    with pytest.raises(BackupRefused, match="inside the home"):
        backup(home, other / "Archive" / "copy", now=now)


@pytest.mark.parametrize("damage", ["objects", "configuration", "HEAD", "ref"])
def test_a_damaged_history_keeps_nothing_else_from_being_copied(
    home: Home, add_entry: AddEntry, target: Path, tmp_path: Path, now: datetime, damage: str
) -> None:
    before = backup(home, target, now=now).manifest
    add_entry("Grey goose")
    if damage == "objects":
        for path in (home.root / ".git" / "objects").rglob("*"):
            if path.is_file():
                path.unlink()
                path.write_bytes(b"x" * 40)
    elif damage == "configuration":
        (home.root / ".git" / "config").write_text("[core\n")
    else:
        (home.root / ".git" / ("HEAD" if damage == "HEAD" else "refs/heads/main")).write_text("")
    report = backup(home, target, now=now)
    assert [item.path for item in report.unread] == [".git"]
    assert (report.manifest.history, report.manifest.packs) == (before.history, before.packs)
    again = restore_home(target, tmp_path / "again").root
    assert "Grey goose" in (again / "MEMORY.md").read_text()
    fresh = backup(home, tmp_path / "fresh", now=now)
    assert (fresh.manifest.history, fresh.manifest.packs) == (None, ())
    assert "no earlier copy" in fresh.unread[0].reason
    files_alone = restore_home(tmp_path / "fresh", tmp_path / "files").root
    assert "Grey goose" in (files_alone / "MEMORY.md").read_text()
    assert (files_alone / ".memory" / "salt").is_file()


def test_a_damaged_staging_area_costs_what_is_staged_alone(home: Home, target: Path, now: datetime) -> None:
    (home.root / ".git" / "index").write_bytes(b"DIRC garbage")
    report = backup(home, target, now=now)
    assert [item.path for item in report.unread] == [".git/index"]
    again = restore_home(target, target.with_name("again")).root
    status = subprocess.run(["git", "status", "--porcelain"], cwd=again, capture_output=True, check=True, text=True)
    assert status.stdout == ""
