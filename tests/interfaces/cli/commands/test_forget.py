"""Test ``memory forget``, and ``memory guard scan`` of the whole home."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message
from interfaces.cli import cli

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def home_with_text(home: Home, now: datetime) -> Home:
    with transaction(home, actor="test", message="Note the blue heron", now=now) as edits:
        edits.write("Knowledge/k.md", "# Birds\n\nThe Blue Heron.\n")
    return home


def run(home: Home, *arguments: str, text: str = "") -> Result:
    return CliRunner().invoke(cli, [*arguments, "--home", str(home.root)], input=text)


def data(result: Result) -> dict[str, Any]:
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_a_dry_run_lists_places_and_changes_nothing(home_with_text: Home) -> None:
    result = run(home_with_text, "forget", "blue heron")
    assert result.exit_code == 0
    assert "files: 1\n  Knowledge/k.md:3" in result.stdout
    assert "Nothing was changed" in result.stdout
    assert "Heron" not in result.stdout
    assert "Heron" in (home_with_text.root / "Knowledge/k.md").read_text()
    rows = data(run(home_with_text, "forget", "blue heron", "--json"))
    assert rows["applied"] is False
    assert {"kind": "memory", "path": "Knowledge/k.md", "line": 3, "commit": "", "note": ""} in rows["places"]


def test_without_purge_the_output_names_gits_history(home_with_text: Home) -> None:
    result = run(home_with_text, "forget", "blue heron", "--apply")
    assert result.exit_code == 1
    assert "git's history still holds it" in result.stdout
    assert "--purge" in result.stdout
    assert "erased from 2 places (1 in this machine's records, 1 in files)" in result.stdout
    again = run(home_with_text, "forget", "blue heron", "--apply")
    assert "erased from no place" in again.stdout
    purged = run(home_with_text, "forget", "blue heron", "--apply", "--purge")
    assert "erased from 2 places (2 in git history)" in purged.stdout


def test_after_a_purge_nothing_is_found(home_with_text: Home) -> None:
    rows = data(run(home_with_text, "forget", "-", "--apply", "--purge", "--json", text="blue heron\n"))
    assert rows["remaining"] == []
    assert rows["purged"]["commits"] == 2
    result = run(home_with_text, "forget", "blue heron")
    found, not_searched = result.stdout.splitlines()
    assert found == "found nowhere in this home, git's objects included"
    assert not_searched.startswith("Not looked for: other words for it, ")


def test_a_remote_is_a_warning(home_with_text: Home) -> None:
    subprocess.run(["git", "remote", "add", "origin", "https://example.com/x.git"], cwd=home_with_text.root, check=True)
    result = run(home_with_text, "forget", "blue heron", "--apply", "--purge")
    assert result.exit_code == 0
    assert "remote origin (https://example.com/x.git) may have the text" in result.stderr


@pytest.fixture
def home_with_entries(home: Home, now: datetime) -> Home:
    said = "Hello. My son Leo has a peanut allergy. Bye."
    transcript.append(home, "s1", [Message(session="s1", id="m1", role="user", content=said)], actor="test", now=now)
    entries = "".join(
        f"- **[{name}]** 2026-11-20 {text}\n  Sources: s1#m1\n"
        for name, text in (("RC-AAAA", "User: Leo has a peanut allergy."), ("RC-BBBB", "The boy avoids groundnuts."))
    )
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("MEMORY.md", edits.text("MEMORY.md") + "\n" + entries)
    return home


def test_a_dry_run_shows_which_sentences_go(home_with_entries: Home) -> None:
    result = run(home_with_entries, "forget", "RC-AAAA")
    assert "turns that the entry cites: 1" in result.stdout
    assert "\n    My son Leo has a peanut allergy.\n" in result.stdout
    (turn,) = data(run(home_with_entries, "forget", "RC-AAAA", "--json"))["turns"]
    assert turn["passages"] == ["My son Leo has a peanut allergy."]
    done = run(home_with_entries, "forget", "RC-AAAA", "--apply", "--purge")
    assert done.exit_code == 0
    assert "found nowhere" in done.stdout


def test_turns_in_other_words_are_a_finding_with_the_next_command(home_with_entries: Home) -> None:
    assert "Add --whole-turns" in run(home_with_entries, "forget", "RC-BBBB").stdout
    result = run(home_with_entries, "forget", "RC-BBBB", "--apply", "--purge")
    assert result.exit_code == 1
    assert "`memory forget RC-BBBB --apply --purge --whole-turns`" in result.stdout
    assert "found nowhere" not in result.stdout
    assert run(home_with_entries, "forget", "RC-BBBB", "--apply", "--purge", "--whole-turns").exit_code == 0
    assert "Leo" not in next((home_with_entries.root / "sessions").rglob("*.jsonl")).read_text()
    assert run(home_with_entries, "forget", "RC-BBBB", "--whole-turns", "--keep-turns").exit_code == 2


@pytest.mark.parametrize(("arguments", "message"), [(["abc"], "too many words"), (["KD-0000"], "no entry KD-0000")])
def test_a_text_that_cannot_be_searched_is_wrong_usage(
    home_with_text: Home, arguments: list[str], message: str
) -> None:
    result = run(home_with_text, "forget", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_purge_with_uncommitted_files_is_refused_and_changes_nothing(home_with_text: Home) -> None:
    (home_with_text.root / "MEMORY.md").write_text("changed\n")
    result = run(home_with_text, "forget", "blue heron", "--apply", "--purge")
    assert result.exit_code == 8
    assert "uncommitted" in result.stderr
    assert "Heron" in (home_with_text.root / "Knowledge/k.md").read_text()


def test_history_is_scanned(home_with_text: Home) -> None:
    assert run(home_with_text, "guard", "scan", "--history").exit_code == 0
    path = home_with_text.root / "Knowledge/k.md"
    for text in (f"{TOKEN}\n", "clean\n"):
        path.write_text(text)
        command = ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "m", "--no-verify"]
        subprocess.run(["git", *command], cwd=home_with_text.root, check=True)
    result = run(home_with_text, "guard", "scan", "--history", "--json")
    assert result.exit_code == 1
    (found,) = data(result)["findings"]
    assert found["kind"] == "github_token"
    assert found["place"].endswith(":Knowledge/k.md:1")
    assert TOKEN not in result.stdout


def test_folders_are_scanned(home_with_text: Home, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").write_text(f"x\n{TOKEN}\n")
    result = run(home_with_text, "guard", "scan", str(tmp_path / "notes"))
    assert result.exit_code == 1
    assert f"{tmp_path / 'notes/a.txt'}:2" in result.stdout
    assert run(home_with_text, "guard", "scan", str(tmp_path / "notes"), "--jsonl").exit_code == 2
    assert run(home_with_text, "guard", "scan", "--history", str(tmp_path)).exit_code == 2
