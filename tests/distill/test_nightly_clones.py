"""Runs on two clones of one home merge by plain git without conflict markers, losses or repeated entries."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_home import storage
from agent_home.creation import create
from agent_home.documents import check, daily_log
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.errors import DocumentInvalid
from agent_home.home import MEMORY, Home
from agent_home.store import closings, transcript
from agent_home.store.gateway import transaction
from agent_home.store.transcript import Message
from distill.close import close_all
from distill.entries.citation import cite
from distill.nightly import distill_home
from interfaces.doctor.health import examine
from tests.doomed import ForkServer

if TYPE_CHECKING:
    from .conftest import Talk

ROOT = Path(__file__).resolve().parents[2]


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout


def ids(home: Home) -> set[str]:
    return {entry.id for entry in parse(storage.read_text(home.root / MEMORY)).entries()}


@pytest.fixture
def clones(home: Home, now: datetime, tmp_path: Path) -> tuple[Home, Home]:
    """A home with some memory, and a clone of it with the merge driver."""
    with transaction(home, actor="test", message="Begin", now=now) as edits:
        document = edits.read(MEMORY)
        for number in (1, 2, 3):
            lesson = Entry(id=f"LL-000{number}", date="2026-06-01", title=f"Old lesson {number}")
            document = document.with_entry("Lessons Learned", lesson)
        decision = Entry(id="KD-0001", date="2026-11-01", title="We deploy billing on Monday.")
        edits.write(MEMORY, document.with_entry("Key Decisions", decision))
    git(tmp_path, "clone", "--quiet", str(home.root), "other")
    other = create(tmp_path / "other", now=now).home
    return home, other


def say(home: Home, talk: Talk, session: str, *rows: tuple[str, str]) -> None:
    now = datetime.fromisoformat("2026-11-20T15:00:00+00:00")
    transcript.append(home, session, talk(*rows, session=session), actor="test", now=now)


def assert_sound(home: Home) -> None:
    assert git(home.root, "status", "--porcelain") == ""
    assert check.problems(home) == []
    assert "error" not in git(home.root, "fsck", "--full", "--strict")
    for path in check.markdown_files(home):
        text = storage.read_text(home.root / path)
        assert "<<<<<<<" not in text, path
        assert ">>>>>>>" not in text, path


def test_runs_on_two_clones_merge_without_conflict_and_lose_nothing(
    clones: tuple[Home, Home], talk: Talk, now: datetime
) -> None:
    here, there = clones
    say(here, talk, "one", ("user", "Decision: the release notes are written by hand."), ("assistant", "Done."))
    say(here, talk, "two", ("user", "Decision: we deploy billing on Thursday instead of Monday."))
    cite(there, ["LL-0002"], now=now)
    say(there, talk, "three", ("user", "Decision: the index stays in SQLite."))
    say(there, talk, "four", ("assistant", "Lesson: warm the cache before the load test."))
    nights = [distill_home(home, now=now) for home in clones]
    assert [len(night.sessions) for night in nights] == [2, 2]
    before = [ids(home) for home in clones]
    assert before[0] & before[1] != before[0] | before[1]

    git(here.root, "pull", "--quiet", "--no-rebase", "--no-edit", str(there.root), "main")
    assert_sound(here)
    archived = {one.id for night in nights for one in night.archived}
    assert ids(here) | archived >= before[0] | before[1]
    assert "LL-0002" in archived  # one clone had archived what the other one cited; the ledger tells of both
    closed = {closing.session for closing in daily_log.closings(here)}
    assert closed == {"one", "two", "three", "four"}
    report = storage.read_text(here.root / nights[0].report)
    assert report.count("Distilled (n-") == 2
    superseded = parse(storage.read_text(here.root / MEMORY)).entry("KD-0001")
    assert superseded is not None
    assert superseded.fields.get("Superseded-By")

    git(there.root, "pull", "--quiet", "--no-rebase", "--no-edit", str(here.root), "main")
    assert storage.read_text(there.root / MEMORY) == storage.read_text(here.root / MEMORY)
    distill_home(here, now=now)
    assert distill_home(here, now=now).idle
    assert_sound(here)


def test_archived_daily_logs_merge_with_a_new_daily_log(clones: tuple[Home, Home], talk: Talk) -> None:
    home, other = clones
    say(home, talk, "s-1", ("user", "Decision: the importer runs on the blue server."))
    distill_home(home, now=datetime.fromisoformat("2026-11-20T16:00:00+00:00"))
    git(other.root, "pull", "--quiet", "--no-rebase", str(home.root), "main")
    distill_home(home, now=datetime.fromisoformat("2027-03-20T16:00:00+00:00"))
    assert daily_log.daily_files(home)[0].parent != home.daily
    later = [Message(session="s-2", id="m1", ts="2027-03-19T10:00:00", content="Decision: invoices are sent weekly.")]
    transcript.append(other, "s-2", later, actor="test", now=datetime.fromisoformat("2027-03-19T10:00:00+00:00"))
    distill_home(other, now=datetime.fromisoformat("2027-03-19T16:00:00+00:00"))
    git(home.root, "pull", "--quiet", "--no-rebase", "--no-edit", str(other.root), "main")
    assert (home.root / "DailyActivity/2027-03-19.md").exists()
    assert_sound(home)


def test_doctor_reports_an_entry_worded_differently_on_two_clones(clones: tuple[Home, Home], now: datetime) -> None:
    for home, day in zip(clones, ("Tuesday", "Friday"), strict=True):
        with transaction(home, actor="test", message="Change", now=now) as edits:
            edits.write(MEMORY, edits.text(MEMORY).replace("billing on Monday", f"billing on {day}"))
    here, there = clones
    git(here.root, "pull", "--quiet", "--no-rebase", "--no-edit", str(there.root), "main")
    assert_sound(here)
    titles = {entry.title for entry in parse(storage.read_text(here.root / MEMORY)).section_entries("Key Decisions")}
    assert titles == {"We deploy billing on Tuesday.", "We deploy billing on Friday."}
    (named,) = [one for one in examine(here, now) if one.name == "merge"]
    assert named.status == "warning"
    assert "KD-0001" in named.detail


def test_doctor_reports_a_missing_merge_driver_and_init_installs_it(home: Home, now: datetime, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(home.root), "other")
    other = Home(tmp_path / "other")
    (state,) = [one for one in examine(other, now) if one.name == "merge"]
    assert (state.status, "memory init" in state.detail) == ("warning", True)
    create(other.root, now=now)
    (state,) = [one for one in examine(other, now) if one.name == "merge"]
    assert state.status == "ok"
    assert git(other.root, "config", "--get", "merge.agent-home.driver").count("merge-driver %O %A %B %P") == 2


def test_init_adds_the_merge_attributes_to_an_older_home(home: Home, now: datetime) -> None:
    (home.root / ".gitattributes").write_text("* -text\n*.png binary\n")
    git(home.root, "commit", "--quiet", "-a", "--no-verify", "-m", "old")
    created = create(home.root, now=now)
    assert created.files == (".gitattributes",)
    text = storage.read_text(home.root / ".gitattributes")
    assert text.startswith("* -text\n*.png binary\n")
    assert "\nMEMORY.md merge=agent-home\n" in text
    assert create(home.root, now=now).commit is None


def test_the_merge_command_writes_the_result_into_ours(tmp_path: Path, forks: ForkServer) -> None:
    for name, lines in (("base", ""), ("ours", "- **[KD-0001] A**\n"), ("theirs", "- **[KD-0002] B**\n")):
        (tmp_path / name).write_text(f"# Memory\n\n## Key Decisions\n\n{lines}")
    command = ["from interfaces.cli import main; main()", "merge-driver"]
    files = [str(tmp_path / name) for name in ("base", "ours", "theirs")]
    done = forks.run(*command, *files, "MEMORY.md")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ours").read_text().count("\n- **[") == 2
    (tmp_path / "theirs").write_text("```\nopen\n")
    done = forks.run(*command, *files, "MEMORY.md")
    assert done.returncode == 7
    assert "cannot be merged" in done.stderr
    assert "`git merge --abort`" in done.stderr
    assert (tmp_path / "ours").read_text().count("\n- **[") == 2
    assert check.conflict_marker("MEMORY.md", (tmp_path / "ours").read_text()) is not None


def test_a_file_that_cannot_be_merged_keeps_both_sides(clones: tuple[Home, Home], now: datetime) -> None:
    here, there = clones
    with transaction(there, actor="test", message="Theirs", now=now) as edits:
        entry = Entry(id="KD-0002", date="2026-11-02", title="Of the other machine")
        edits.write(MEMORY, edits.read(MEMORY).with_entry("Key Decisions", entry))
    path = here.root / MEMORY
    path.write_text(path.read_text().replace("## Key Decisions", "```\nnever closed\n\n## Key Decisions"))
    git(here.root, "commit", "--quiet", "--no-verify", "-a", "-m", "Broken")
    with pytest.raises(subprocess.CalledProcessError):
        git(here.root, "pull", "--quiet", "--no-rebase", "--no-edit", str(there.root), "main")
    for expected in ("KD-0001", "KD-0002", "never closed", "Old lesson 1", "<<<<<<< ours", ">>>>>>> theirs"):
        assert path.read_text().count(expected) == 1, expected
    (named, *_) = [one for one in examine(here, now) if one.name == "files"]
    assert ("conflict markers" in named.detail, "`git merge --abort`" in named.detail) == (True, True)
    git(here.root, "add", "-A")
    git(here.root, "commit", "--quiet", "--no-verify", "--no-edit")
    assert "Of the other machine" in git(here.root, "show", f"HEAD:{MEMORY}")
    with (
        pytest.raises(DocumentInvalid, match="conflict marker"),
        transaction(here, actor="test", message="More", now=now) as edits,
    ):
        edits.write(MEMORY, edits.text(MEMORY).replace("\n", "\n\nMore.\n", 1))


def test_a_session_that_reached_two_machines_in_parts_is_closed_whole(
    clones: tuple[Home, Home], now: datetime, talk: Talk
) -> None:
    one, other = clones
    rows = [("user", f"Decision: {what}.") for what in ("paint the hull green", "dry the wood", "hire a crane")]
    first, both, last = talk(*rows, session="channel")
    transcript.append(one, "channel", [first, both], actor="test", now=now)
    transcript.append(other, "channel", [both, last], actor="test", now=now)
    assert close_all(one, now=now).failed == ()
    git(other.root, "pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
    assert [turn.message for _, turns in closings.open_sessions(other) for turn in turns] == [last]
    assert close_all(other, now=now).failed == ()
    texts = [entry.text for entry in parse(storage.read_text(other.root / MEMORY)).entries()]
    assert [sum(what in text for text in texts) for what in ("hull", "wood", "crane")] == [1, 1, 1]
    assert closings.open_sessions(other) == []
    git(one.root, "pull", "--quiet", "--no-rebase", "--no-edit", str(other.root), "main")
    assert closings.open_sessions(one) == []
    assert [one for one in examine(other, now) if one.status == "failed"] == []
