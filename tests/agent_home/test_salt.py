"""Tests of the salt: one for each home, never in git, and constant."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from agent_home.creation import create
from agent_home.home import Home
from agent_home.salt import ensure_salt, read_salt
from agent_home.screening.service import ScreeningService
from tests.consenting import agree

from .conftest import AddEntry, Git

SECRET = "AKIA" + "Z7QX3VJ5LMN2KP4R"


def digest_of(home: Home) -> str:
    return ScreeningService(home).verdict("MEMORY.md", f"key {SECRET}", "user").findings[0].digest


def test_a_new_home_has_a_salt_and_keeps_it(home: Home) -> None:
    salt = read_salt(home)
    assert len(salt) == 32
    assert ensure_salt(home) == salt


def test_the_same_secret_has_one_digest_in_a_home_and_another_in_the_next(home: Home, tmp_path: Path,
                                                                         now: datetime) -> None:  # fmt: skip
    other = create(tmp_path / "other", name="Other", now=now).home
    assert digest_of(home) == digest_of(Home(home.root))
    assert digest_of(home) != digest_of(other)


def test_the_salt_is_never_in_git(home: Home, git: Git) -> None:
    git("add", "--all")
    assert "salt" not in git("ls-files")
    assert read_salt(home) not in git("log", "-p")


def test_the_audit_holds_salted_digests(home: Home, add_entry: AddEntry) -> None:
    add_entry("Rotate", body=f"the key {SECRET}")
    row = json.loads(home.audit.read_text().splitlines()[-1])
    assert row["findings"][0]["digest"] == digest_of(home)


def test_a_salt_in_the_settings_takes_precedence(home: Home) -> None:
    manifest = home.root / "agent.toml"
    manifest.write_text(manifest.read_text() + '\n[guard]\nsalt = "shared by a team"\n')
    assert ScreeningService(agree(home)).settings.salt == "shared by a team"


def test_the_salt_is_for_its_owner_alone(home: Home) -> None:
    assert (home.machine / "salt").stat().st_mode & 0o077 == 0
