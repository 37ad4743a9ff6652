"""A home knows where its backups are, the newest first."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from agent_home.backup.known_backups import known_backups, note_backup
from agent_home.home import Home


def test_the_newest_backup_comes_first(home: Home, now: datetime) -> None:
    assert known_backups(home) == {}
    note_backup(home, Path("/mnt/a"), now)
    note_backup(home, Path("/mnt/b"), now + timedelta(days=1))
    assert list(known_backups(home)) == ["/mnt/b", "/mnt/a"]
    note_backup(home, Path("/mnt/a"), now + timedelta(days=2))
    assert list(known_backups(home)) == ["/mnt/a", "/mnt/b"]


def test_a_damaged_record_names_none(home: Home) -> None:
    for text in ("[]", "x", '{"a": 1}'):
        (home.machine / "backups.json").write_text(text)
        assert set(known_backups(home)) <= {"a"}
