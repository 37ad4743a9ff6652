"""Tests of the machine state's folder: out of a pull's reach, moved without loss, and its owner's alone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from agent_home.documents.document import parse
from agent_home.errors import DocumentInvalid, Locked
from agent_home.home import Home
from agent_home.lock import hold
from agent_home.store import unverified
from agent_home.store.machine_state import close_modes, hold_home, is_waiting, loose_modes, tracked

from ..conftest import AddEntry, Git

HOOK = "#!/bin/sh\ntouch hooked\n"


def old_home(home: Home, **files: str) -> Path:
    """Make *home* look as an earlier version left it, with *files* in ``.memory``, and return that folder."""
    old = home.root / ".memory"
    shutil.rmtree(home.machine, ignore_errors=True)
    for name, text in {"branch": "main\n", "salt": "5" * 32, **files}.items():
        path = old / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return old


def redo(text: str, path: str) -> str:
    """Return a redo record as earlier versions wrote it, and as a stranger forges it."""
    row = {"path": path, "before": "", "after": hashlib.sha256(text.encode()).hexdigest(), "staged": "0.tmp"}
    return json.dumps({"at": 1.0, "message": "m", "trailers": {}, "files": [row], "audit": {}})


def test_the_state_lies_in_git_s_folder_where_no_commit_reaches(home: Home, add_entry: AddEntry, git: Git) -> None:
    add_entry("T")
    assert home.machine == home.root / ".git" / "agent-home"
    assert {"audit.jsonl", "branch", "salt", "write.lock"} <= {path.name for path in home.machine.iterdir()}
    git("add", "--all", "--force")
    assert "agent-home" not in git("ls-files")


def test_a_linked_work_tree_has_state_of_its_own_in_the_common_folder(home: Home, git: Git, tmp_path: Path) -> None:
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Home(tmp_path / "side")
    assert side.machine.resolve() == home.root / ".git" / "agent-home" / "worktrees" / "side"


# --- what a pull brings ------------------------------------------------------------------------------------------


def test_a_pulled_redo_record_installs_no_hook(home: Home, git: Git, add_entry: AddEntry) -> None:
    old = old_home(home, **{"redo.json": redo(HOOK, ".git/hooks/post-index-change"), "staging/0.tmp": HOOK})
    (old / "staging" / "0.tmp").chmod(0o755)
    git("add", "--all", "--force")
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--no-verify", "-m", "pulled")
    add_entry("T")
    assert not (home.root / ".git" / "hooks" / "post-index-change").exists()
    assert not (home.root / "hooked").exists()
    assert ".memory/redo.json" in tracked(home)
    assert (old / "redo.json").exists()


def test_a_pulled_link_overwrites_nothing(home: Home, git: Git, add_entry: AddEntry, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    for folder in (home.root / ".memory" / "staging", home.machine / "staging"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("0.tmp", "record.tmp", "placed.tmp"):
            (folder / name).symlink_to(outside)
    git("add", "--all", "--force")
    add_entry("T")
    assert outside.read_text() == "mine"
    assert not (home.root / "MEMORY.md").is_symlink()


@pytest.mark.parametrize("folder", ["", "staging", "quarantine"])
def test_a_state_folder_that_is_a_link_is_not_written_to(home: Home, add_entry: AddEntry, tmp_path: Path,
                                                       folder: str) -> None:  # fmt: skip
    (tmp_path / "outside").mkdir()
    place = home.machine / folder
    shutil.rmtree(place, ignore_errors=True)
    place.symlink_to(tmp_path / "outside")
    with pytest.raises(DocumentInvalid, match="Remove the link"):
        add_entry("T")
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("name", ["audit.jsonl", "salt", "branch", "closings.jsonl"])
def test_a_state_file_that_is_a_link_leads_nowhere(home: Home, add_entry: AddEntry, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (home.machine / name).unlink(missing_ok=True)
    (home.machine / name).symlink_to(outside)
    with suppress(OSError):
        add_entry("T")
    assert outside.read_text() == "mine"


# --- the move from where earlier versions kept it ----------------------------------------------------------------


def test_the_first_write_moves_the_state_of_an_earlier_version(home: Home, add_entry: AddEntry) -> None:
    held = {"audit.jsonl": "{}\n", "audit-0001.jsonl": "{}\n", "quarantine/q-1.json": "{}", "recovered/1-0-x": "text"}
    old = old_home(home, **held, **{"screened.json": "[]", "index.db": "", "write.lock": "", "mine.txt": "kept"})
    assert is_waiting(home)
    add_entry("T")
    assert {path.name for path in old.iterdir()} == {"index.db", "write.lock", "mine.txt"}
    assert (home.machine / "salt").read_text() == "5" * 32
    for name, text in held.items():
        assert (home.machine / name).read_text().startswith(text)
    assert not is_waiting(home)


def test_what_appears_in_the_old_place_later_is_not_believed(home: Home, add_entry: AddEntry) -> None:
    add_entry("one")
    (home.root / ".memory").mkdir(exist_ok=True)
    (home.root / ".memory" / "salt").write_text("6" * 32)
    (home.root / ".memory" / "redo.json").write_text(redo("x", "SOUL.md"))
    add_entry("two")
    assert (home.machine / "salt").read_text() != "6" * 32
    assert unverified.waiting(home) == []


def test_links_and_tracked_files_are_not_moved(home: Home, add_entry: AddEntry, git: Git, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("7" * 32)
    old = old_home(home, **{"closings.jsonl": '{"session": "s", "end": 9}\n'})
    (old / "salt").unlink()
    (old / "salt").symlink_to(tmp_path / "outside")
    git("add", "--force", ".memory/closings.jsonl")
    add_entry("T")
    assert (home.machine / "salt").read_text() != "7" * 32
    assert not (home.machine / "closings.jsonl").exists()
    assert (old / "closings.jsonl").exists()


def test_a_redo_record_of_an_earlier_version_waits_for_a_person(home: Home, add_entry: AddEntry) -> None:
    text = (home.root / "MEMORY.md").read_text() + "\n- **[KD-7F3A]** 2026-11-20 Ship it.\n"
    old_home(home, **{"redo.json": redo(text, "MEMORY.md"), "staging/0.tmp": text})
    add_entry("T")
    assert [entry.title for entry in parse((home.root / "MEMORY.md").read_text()).entries()] == ["T"]
    assert len(unverified.waiting(home)) == 1
    (kept,) = (home.machine / "recovered").iterdir()
    assert kept.read_text() == text


MOVED = {
    "audit.jsonl": "{}\n", "closings.jsonl": "{}\n", "quarantine/q-1.json": "{}", "recovered/1-0-x": "text",
    "redo.json": redo("# Memory\n", "MEMORY.md"), "staging/0.tmp": "# Memory\n", "unread.json": "[]",
}  # fmt: skip


class Killed(BaseException):
    """Stands for a signal that no code of the process survives."""


@pytest.mark.parametrize("changes", range(14))
def test_a_move_that_is_killed_at_any_point_loses_nothing(
    home: Home, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    old_home(home, **MOVED)
    left = [changes]

    def killing(name: str) -> None:
        real = getattr(Path, name)

        def step(*arguments: object, **named: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return real(*arguments, **named)

        monkeypatch.setattr(Path, name, step)

    for name in ("rename", "replace", "rmdir", "unlink"):
        killing(name)
    with suppress(Killed), hold_home(home):
        pass
    monkeypatch.undo()
    add_entry("T")
    state = {path.relative_to(home.machine).as_posix() for path in home.machine.rglob("*") if path.is_file()}
    assert {"audit.jsonl", "closings.jsonl", "quarantine/q-1.json", "recovered/1-0-x", "unread.json"} <= state
    (folder,) = unverified.waiting(home)
    assert (folder / "staging" / "0.tmp").read_text() == "# Memory\n"
    assert (home.machine / "salt").read_text() == "5" * 32


def test_a_move_to_another_disk_copies(home: Home, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    old = old_home(home, **{"quarantine/q-1.json": "{}", "committing": "1.0"})
    os.utime(old / "committing", (1.0, 1.0))

    def refused(_old: Path, _new: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "rename", refused)
    with hold_home(home):
        assert (home.machine / "committing").stat().st_mtime == 1.0
    monkeypatch.undo()
    add_entry("T")
    assert (home.machine / "quarantine" / "q-1.json").read_text() == "{}"
    assert not (old / "salt").exists()


def test_a_write_waits_for_the_lock_of_an_earlier_version(home: Home) -> None:
    old = old_home(home, **{"write.lock": ""})
    with hold(old / "write.lock"), pytest.raises(Locked), hold_home(home, 0.05):
        pass
    thread = threading.Thread(target=lambda: _hold_for(old / "write.lock", 0.2))
    thread.start()
    time.sleep(0.05)
    with hold_home(home):
        assert not thread.is_alive() or old.exists()
    thread.join()


def _hold_for(lock: Path, seconds: float) -> None:
    with hold(lock):
        time.sleep(seconds)


# --- modes -------------------------------------------------------------------------------------------------------


def test_the_state_is_its_owner_s_alone_whatever_the_umask(home: Home, add_entry: AddEntry) -> None:
    before = os.umask(0)
    try:
        shutil.rmtree(home.machine)
        add_entry("T")
    finally:
        os.umask(before)
    assert [loose.path for loose in loose_modes(home) if loose.path != home.root] == []


def test_loose_modes_are_named_and_closed(home: Home, add_entry: AddEntry) -> None:
    add_entry("T")
    close_modes(home)
    home.root.chmod(0o755)
    home.audit.chmod(0o644)
    assert {loose.path for loose in loose_modes(home)} == {home.root, home.audit}
    assert set(close_modes(home)) == {home.root, home.audit}
    assert list(loose_modes(home)) == []
