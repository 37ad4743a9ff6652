"""The folder of a backup is known by its mark, and one process at a time uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.backup.backup_folder import earlier_backup, held_backup, home_name, made_folder, require_backup
from agent_home.backup.errors import BackupBusy, BackupRefused
from agent_home.home import Home
from agent_home.salt import read_salt


def test_the_name_of_a_home_does_not_tell_its_salt(home: Home) -> None:
    assert len(home_name(home)) == 32
    assert read_salt(home) not in home_name(home)


def test_a_folder_that_was_marked_before_a_crash_is_used_again(home: Home, target: Path) -> None:
    made_folder(home, target)
    (target / "contents").mkdir()
    assert earlier_backup(home, target) is None
    with pytest.raises(BackupRefused, match="was never finished"):
        require_backup(target)


def test_a_folder_whose_marking_was_killed_counts_as_empty(home: Home, target: Path) -> None:
    target.mkdir()
    (target / "agent-home-backup.txt.tmp").write_text("This")
    assert earlier_backup(home, target) is None


def test_one_process_at_a_time_uses_a_backup(target: Path) -> None:
    target.mkdir()
    with held_backup(target, to_write=True), pytest.raises(BackupBusy), held_backup(target, to_write=False):
        pass


def test_a_backup_that_cannot_be_written_is_read(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target.mkdir()
    monkeypatch.setattr("os.access", lambda *_: False)
    with held_backup(target, to_write=False):
        assert list(target.iterdir()) == []
