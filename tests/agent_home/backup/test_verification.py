"""Checking a backup names every file that is damaged or missing."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from agent_home.backup.content_store import ContentStore
from agent_home.backup.making import backup
from agent_home.backup.verification import verify_backup
from agent_home.home import Home


def test_each_damaged_file_is_named(used: Home, target: Path, now: datetime) -> None:
    manifest = backup(used, target, now=now).manifest
    assert verify_backup(target).damaged == ()
    store = ContentStore(target)
    memory, pack = store.path(manifest.files["MEMORY.md"].digest), store.path(manifest.packs[0].digest)
    memory.write_bytes(memory.read_bytes()[::-1])
    pack.unlink()
    found = {file.path: file.problem for file in verify_backup(target).damaged}
    assert found == {"MEMORY.md": "is not what was backed up", ".git/history-1.pack": "is missing"}


def test_files_with_one_content_are_each_named(home: Home, target: Path, now: datetime) -> None:
    for name in ("one", "two"):
        (home.root / "Knowledge" / f"{name}.md").write_text("the same\n")
    manifest = backup(home, target, now=now).manifest
    ContentStore(target).path(manifest.files["Knowledge/one.md"].digest).unlink()
    assert [file.path for file in verify_backup(target).damaged] == ["Knowledge/one.md", "Knowledge/two.md"]


def test_progress_counts_files_and_bytes(home: Home, target: Path, now: datetime) -> None:
    manifest = backup(home, target, now=now).manifest
    told: list[tuple[int, int]] = []
    verify_backup(target, progress=lambda _step, files, size: told.append((files, size)))
    assert told[-1] == (len(manifest.files) + len(manifest.packs), manifest.bytes)
