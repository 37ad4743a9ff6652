"""Blocks that move between files are not screened again, and reach the new file before they leave the old one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_home import storage
from agent_home.documents.check import problems
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store.gateway import transaction

from ..conftest import AddEntry, Git

ARCHIVE = "Archive/MEMORY-2026-11.md"
#: Moves the first entry to the archive, or back, and kills itself after the first of the two renames.
MOVER = """
import os, signal, sys
from pathlib import Path
from agent_home import storage
from agent_home.store.gateway import transaction
from agent_home.home import Home
home, source, target = Home(Path(sys.argv[1])), sys.argv[2], sys.argv[3]
real = storage.replace
def replace(staged, path):
    real(staged, path)
    if path.name != "redo.json":
        os.killpg(os.getpgid(0), signal.SIGKILL)
storage.replace = replace
with transaction(home, actor="mover", message="Move") as edits:
    (entry, *_) = edits.read(source).entries()
    edits.write(target, edits.read(target).with_entry("Key Decisions", entry))
    edits.write(source, edits.read(source).without_entry(entry.id))
"""


def ids(home: Home, file: str) -> list[str]:
    return [entry.id for entry in parse(storage.read_text(home.root / file)).entries()]


def killed_move(home: Home, source: str, target: str) -> None:
    mover = subprocess.Popen([sys.executable, "-c", MOVER, str(home.root), source, target], start_new_session=True)
    assert mover.wait() == -signal.SIGKILL


def commit_by_hand(git: Git) -> None:
    git("add", "--all")
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--no-verify", "-m", "by hand")


@pytest.mark.parametrize("back", [False, True])
def test_a_move_killed_between_its_files_leaves_both_copies_and_the_next_write_finishes_it(
    home: Home, git: Git, add_entry: AddEntry, back: bool
) -> None:
    add_entry("one")
    (entry_id,) = ids(home, "MEMORY.md")
    source, target = ("MEMORY.md", ARCHIVE)
    if back:
        with transaction(home, actor="test", message="Archive") as edits:
            entry = edits.read(source).entry(entry_id)
            assert entry is not None
            edits.write(target, parse("# A\n").with_entry("Key Decisions", entry))
            edits.write(source, edits.read(source).without_entry(entry_id))
        source, target = target, source
    killed_move(home, source, target)
    assert (ids(home, source), ids(home, target)) == ([entry_id], [entry_id])
    assert problems(home) == []  # the same to the letter in both: on its way
    add_entry("two")
    assert entry_id not in ids(home, source)
    assert entry_id in ids(home, target)
    assert problems(home) == []
    assert git("status", "--porcelain") == ""
    assert not (home.machine / "redo.json").exists()


def test_what_moves_keeps_its_bytes_even_if_the_guard_would_touch_it_today(home: Home, git: Git) -> None:
    line = "- **[LL-7F3A] 2026-01-01 The old key** - " + "AKIA" + "Z7QX2M4N5P6R8S3T\n"
    path = home.root / "MEMORY.md"
    path.write_text(storage.read_text(path) + "\n" + line)
    commit_by_hand(git)
    with transaction(home, actor="test", message="Move") as edits:
        entry = edits.read("MEMORY.md").entry("LL-7F3A")
        assert entry is not None
        edits.write(ARCHIVE, parse("# A\n").with_entry("Lessons Learned", entry))
        edits.write("MEMORY.md", edits.read("MEMORY.md").without_entry("LL-7F3A"))
    assert line in storage.read_text(home.root / ARCHIVE)
    assert edits.outcome.redacted == 0


def test_what_is_copied_or_comes_from_another_kind_of_file_is_screened(home: Home, git: Git) -> None:
    note = "The key is " + "AKIA" + "Z7QX2M4N5P6R8S3T"
    (home.root / "Knowledge/a.md").write_text(f"# A\n\n{note}\n")
    path = home.root / "MEMORY.md"
    path.write_text(f"{storage.read_text(path)}\n{note}\n")
    commit_by_hand(git)
    outcomes = []
    for source, stays in (("Knowledge/a.md", False), ("MEMORY.md", True)):
        with transaction(home, actor="test", message="Take over") as edits:
            text = edits.text(source)
            edits.write(f"Archive/{source.replace('/', '-')}", f"# B\n\n{note}\n")
            if not stays:
                edits.write(source, text.replace(note, "gone"))
        outcomes.append(edits.outcome.redacted)
    assert outcomes == [1, 1]


def test_rows_are_appended_to_a_ledger_in_the_commit_of_the_rest(home: Home, git: Git) -> None:
    for number in (1, 2):
        with transaction(home, actor="test", message="Append") as edits:
            edits.append("ledger/x.jsonl", [{"n": number}])
            edits.append("ledger/x.jsonl", [{"n": number, "more": "正文\u2028"}])
            edits.write("Knowledge/x.md", f"# {number}\n")
        assert git("show", "--format=", "--name-only").split() == ["Knowledge/x.md", "ledger/x.jsonl"]
    rows = [json.loads(line) for line in (home.root / "ledger/x.jsonl").read_text().split("\n")[:-1]]
    assert [row["n"] for row in rows] == [1, 1, 2, 2]


def test_of_a_ledger_only_what_is_new_is_screened(home: Home, git: Git) -> None:
    old = json.dumps({"text": "AKIA" + "Z7QX2M4N5P6R8S3T"})
    path: Path = home.root / "ledger/x.jsonl"
    path.write_text(f"{old}\n")
    commit_by_hand(git)
    with transaction(home, actor="test", message="Append") as edits:
        edits.append("ledger/x.jsonl", [{"text": "AKIA" + "Z7QX2M4N5P6R8S3T", "n": 2}, {"n": 3}])
    first, second, third = path.read_text().splitlines()
    assert first == old
    assert "AKIA" not in second
    assert json.loads(second)["n"] == 2
    assert third == '{"n": 3}'


def test_an_entry_of_the_archive_keeps_its_id_from_being_given_again(home: Home) -> None:
    with transaction(home, actor="test", message="m") as edits:
        taken = edits.new_id("KD", "x")
        edits.write(ARCHIVE, parse("# A\n").with_entry("Key Decisions", Entry(id=taken, title="x")))
    with transaction(home, actor="test", message="m") as edits:
        assert edits.new_id("KD", "x") != taken
