"""Tests of what the doctor says about the machine state."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.backup.known_backups import note_backup
from agent_home.home import Home
from agent_home.machine_key import key_path, machine_key
from agent_home.store import machine_state
from agent_home.store.gateway import transaction
from assembler.prompt import Request, assemble
from interfaces.doctor.state_checks import backup_check, permissions_check, special_files_check, state_check


def git(home: Home, *arguments: str) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.hooksPath=/dev/null")
    subprocess.run(["git", *named, *arguments], cwd=home.root, check=True, capture_output=True)


def test_a_sound_home_names_the_place_of_its_state(home: Home) -> None:
    assert list(state_check(home)) == [("ok", f"in {home.machine}, where no pull reaches it")]


def test_tracked_state_is_named_with_the_command_that_takes_it_out(home: Home, now: datetime) -> None:
    (home.root / ".memory").mkdir(exist_ok=True)
    (home.root / ".memory" / "redo.json").write_text("{}")
    git(home, "add", "--force", ".memory/redo.json")
    git(home, "commit", "-q", "-m", "pulled")
    ((status, detail),) = state_check(home)
    assert status == "failed"
    assert ".memory/redo.json" in detail
    assert machine_state.UNTRACK in detail
    assert any("git tracks .memory" in line for line in assemble(home, Request(now=now)).degraded)
    subprocess.run(
        ["sh", "-c", machine_state.UNTRACK], cwd=home.root, check=True, capture_output=True,
        env={"PATH": "/usr/bin:/bin", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
             "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath",
             "GIT_CONFIG_VALUE_0": "/dev/null"},
    )  # fmt: skip
    assert [status for status, _ in state_check(home)] == ["ok"]


def test_an_unsigned_write_is_named_with_what_to_do(home: Home, now: datetime) -> None:
    (home.machine / "redo.json").write_text("{}")
    with transaction(home, actor="t", message="m", now=now) as edits:
        edits.write("Knowledge/a.md", "x\n")
    ((status, detail),) = state_check(home)
    assert status == "warning"
    assert "memory review" in detail
    assert "remove the folder" in detail


def test_state_of_an_earlier_version_is_named(home: Home) -> None:
    (home.machine / "moved").unlink()
    (home.root / ".memory").mkdir(exist_ok=True)
    (home.root / ".memory" / "salt").write_text("x")
    assert [status for status, _ in state_check(home)] == ["info"]


def test_an_unusable_machine_key_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_HOME_STATE", str(home.root.parent / "state"))
    machine_key()
    key_path().write_bytes(b"short")
    ((status, detail),) = state_check(home)
    assert status == "warning"
    assert "Remove it" in detail


def test_loose_modes_are_named_and_mended(home: Home) -> None:
    machine_state.close_modes(home)
    assert permissions_check(home)[0] == "ok"
    home.root.chmod(0o755)
    status, detail = permissions_check(home)
    assert status == "info"
    assert "(mode 755). `memory doctor --fix` closes them" in detail


def test_pipes_are_named_wherever_they_lie(home: Home) -> None:
    assert special_files_check(home) == ("ok", "no pipe and no device lies in the place of a file")
    (home.root / "Knowledge").mkdir(exist_ok=True)
    os.mkfifo(home.root / "Knowledge" / "x.md")
    status, detail = special_files_check(home)
    assert (status, f"rm {home.root}/Knowledge/x.md" in detail) == ("warning", True)
    (home.root / ".git" / "objects" / "ab").mkdir(exist_ok=True)
    os.mkfifo(home.root / ".git" / "objects" / "ab" / "cd")
    status, detail = special_files_check(home)
    assert (status, f"rm {home.root}/.git/objects/ab/cd" in detail) == ("failed", True)


def test_the_newest_backup_is_named(home: Home, now: datetime) -> None:
    assert backup_check(home)[1].startswith("none that this machine knows")
    note_backup(home, Path("/mnt/disk/agent"), now)
    assert backup_check(home) == ("ok", "the newest one was made on 2026-11-21 in /mnt/disk/agent")
