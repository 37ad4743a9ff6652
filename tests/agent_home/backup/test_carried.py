"""Every file of a used home is carried, or stays behind for a reason that the documentation gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.backup.carried import CARRIED, LEFT_OUT, OF_ONE_MACHINE, RECORDS, home_files, is_known_state
from agent_home.home import Home
from tests.source_tree import ROOT


def test_a_used_home_has_no_state_that_is_unknown(used: Home) -> None:
    found = home_files(used)
    assert found.left_out == []
    state = {path.removeprefix(".git/agent-home/") for path in found.files if path.startswith(".git/agent-home/")}
    assert {"salt", "audit.jsonl", "branch", "settings.json"} <= state
    assert any(path.startswith("quarantine/") for path in state)
    assert not any(path.startswith("staging/") for path in state)


def test_the_index_and_what_writers_leave_stays_behind(home: Home) -> None:
    for name in (".memory/index.db", "outputs/blobs/.lock", "outputs/blobs/.ab.tmp", ".git/config"):
        (home.root / name).parent.mkdir(parents=True, exist_ok=True)
        (home.root / name).write_text("x")
    (home.root / "Knowledge" / ".memory").mkdir(parents=True)
    (home.root / "Knowledge" / ".memory" / "note.md").write_text("x")
    found = home_files(home)
    assert not {name for name in found.files if name.startswith((".memory", "outputs/blobs/.", ".git/config"))}
    assert "Knowledge/.memory/note.md" in found.files


def test_an_interrupted_write_is_carried_while_it_waits(home: Home) -> None:
    (home.machine / "staging").mkdir(exist_ok=True)
    (home.machine / "staging" / "0.tmp").write_text("x")
    (home.machine / "redo.json").write_text("{}")
    waiting = {".git/agent-home/redo.json", ".git/agent-home/staging/0.tmp"}
    assert waiting <= home_files(home, pending=True).files.keys()
    assert not waiting & home_files(home).files.keys()


@pytest.mark.parametrize("path", ["tokens.json", "write.lock", "index.json", "service.sock", "screened.json", "x.json"])
def test_state_of_another_kind_is_never_taken(path: str) -> None:
    assert not is_known_state(path, own=True)


@pytest.mark.parametrize("path", ["settings.json", "hot-state.db", "hosts/queue.jsonl", "trusted-keys.json"])
def test_state_that_decides_what_is_trusted_counts_on_its_machine_alone(path: str) -> None:
    assert (is_known_state(path, own=True), is_known_state(path, own=False)) == (True, False)


def test_every_record_is_of_one_machine() -> None:
    assert {f"{name}.json".replace("/*.json", "/*") for name in RECORDS} <= OF_ONE_MACHINE.keys()
    assert not CARRIED.keys() & LEFT_OUT.keys()


def test_every_signed_record_of_the_program_is_in_a_table() -> None:
    """A new one must be carried, or stay behind on purpose."""
    names = set()
    for path in sorted(ROOT.glob("*/**/*.py")):
        if path.relative_to(ROOT).parts[0] in {"agent_home", "recall", "assembler", "distill", "interfaces"}:
            text = path.read_text("utf-8")
            if "signed_record import" in text:
                names |= {line.split('"')[1] for line in text.splitlines() if _names_a_record(line)}
    assert {"settings", "trusted-keys", "tokens"} <= names
    known = {name.removesuffix(".json") for name in (*OF_ONE_MACHINE, *LEFT_OUT)}
    assert names <= known


def _names_a_record(line: str) -> bool:
    return line.startswith(("_RECORD = ", "_REFUSED = ", "_SHOWN = ", "VOUCHED = ")) and '"' in line


def test_a_folder_that_cannot_be_read_is_named(home: Home, tmp_path: Path) -> None:
    (home.root / "sessions").rename(tmp_path / "moved")
    (home.root / "sessions").symlink_to(tmp_path / "moved")
    assert [item.path for item in home_files(home).left_out] == ["sessions"]
