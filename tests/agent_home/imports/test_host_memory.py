"""Notes that a chat host keeps by itself: where they go, who reads them, and what is left out."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from agent_home.git import history
from agent_home.home import Home
from agent_home.imports.host_memory import FOLDER, copy_notes, note_folders


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "projects" / "-home-sam-shop" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Shop\n\nThe staging server is called heron.")
    return folder


def test_notes_are_copied_once_and_again_when_they_change(home: Home, notes: Path, now: datetime) -> None:
    path = f"{FOLDER}/claude-code/shop/MEMORY.md"
    assert copy_notes(home, "claude-code", "shop", notes, now=now) == [path]
    assert (home.root / path).read_text() == "# Shop\n\nThe staging server is called heron.\n"
    assert copy_notes(home, "claude-code", "shop", notes, now=now) == []
    (notes / "MEMORY.md").write_text("# Shop\n\nThe staging server is called osprey.\n")
    assert copy_notes(home, "claude-code", "shop", notes, now=now) == [path]
    assert history.snapshot(home.root, [path]).texts[path].endswith("osprey.\n")


@pytest.mark.parametrize("audience", ["trusted", "group", "job"])
def test_only_the_owner_reads_them(home: Home, notes: Path, now: datetime, audience: str) -> None:
    (path,) = copy_notes(home, "claude-code", "shop", notes, now=now)
    assert home.may_read(path, "owner")
    assert not home.may_read(path, audience)
    assert home.may_read("Knowledge/shop.md", audience)


def test_a_secret_in_them_is_redacted(home: Home, notes: Path, now: datetime) -> None:
    (notes / "keys.md").write_text("deploy key: ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8\n")
    copy_notes(home, "claude-code", "shop", notes, now=now)
    assert "ghp_" not in (home.root / FOLDER / "claude-code" / "shop" / "keys.md").read_text()


def test_links_large_files_and_other_bytes_are_left_out(home: Home, notes: Path, now: datetime, tmp_path: Path) -> None:
    (tmp_path / "private.md").write_text("a private key")
    (notes / "link.md").symlink_to(tmp_path / "private.md")
    (notes / "large.md").write_text("x " * 200_000)
    (notes / "bytes.md").write_bytes(b"\xff\xfe\x00")
    (notes / "empty.md").write_text("  \n")
    assert len(copy_notes(home, "claude-code", "shop", notes, now=now)) == 1


def test_a_name_that_leads_elsewhere_stays_in_its_folder(home: Home, notes: Path, now: datetime) -> None:
    (path,) = copy_notes(home, "../../..", "a/../../b", notes, now=now)
    assert path == f"{FOLDER}/notes/a-..-..-b/MEMORY.md"
    assert (home.root / path).is_file()


def test_folders_of_notes_are_found_beside_session_files(notes: Path) -> None:
    assert list(note_folders(notes.parents[1])) == [notes]
    assert list(note_folders(notes.parent / "session.jsonl")) == [notes]
