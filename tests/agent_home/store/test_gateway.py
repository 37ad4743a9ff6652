"""One way in: screened, validated, whole, committed, and nobody else's work touched."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest

from agent_home import storage
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, parse_entry
from agent_home.errors import Changed, DocumentInvalid, HistoryError
from agent_home.forgetting.erasure import erase
from agent_home.forgetting.redaction_target import RedactionTarget
from agent_home.forgetting.text_matcher import Phrase
from agent_home.git import commits
from agent_home.home import Home
from agent_home.store import gateway, recovery, unverified
from agent_home.store.gateway import transaction
from interfaces.cli.exit_codes import exit_code
from tests.consenting import agree

from ..conftest import AddEntry, Git, titles

SECRET = "AKIA" + "Z7QX3VJ5LMN2KP4R"


def everything(home: Home, git: Git) -> str:
    """Return all text that the home holds on disk and in git, whatever the file or object."""
    disk = b"\n".join(
        path.read_bytes() for path in sorted(home.root.rglob("*")) if path.is_file() and ".git" not in path.parts
    )
    objects = [line.split()[0] for line in git("cat-file", "--batch-all-objects", "--batch-check").splitlines()]
    shown = [
        subprocess.run(["git", "cat-file", "-p", name], cwd=home.root, capture_output=True, check=True).stdout
        for name in objects
    ]
    return b"\n".join([disk, *shown]).decode("utf-8", "replace")


# --- what a write is ---------------------------------------------------------------------------------------------


def test_a_write_is_one_commit_with_its_trailers(home: Home, git: Git, now: datetime) -> None:
    with transaction(home, actor="close", message="Close fc-1", session="fc-1", now=now) as edits:
        entry = Entry(id=edits.new_id("KD", "x"), date="2026-11-21", title="T")
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
        edits.write("DailyActivity/2026-11-21.md", "# 2026-11-21\n")
        edits.trailer("Evidence", "verified 3f9c2e1")
        edits.trailer("Evidence", "unverified")
    assert git("log", "-1", "--format=%H").strip() == edits.outcome.commit
    assert git("log", "-1", "--format=%s%n%(trailers)").split("\n")[:6] == [
        "Close fc-1", "Session: fc-1", f"Entries: {entry.id}", "Evidence: verified 3f9c2e1, unverified",
        "Guard: passed", "Actor: close",
    ]  # fmt: skip
    assert git("show", "--format=", "--name-only").split() == ["DailyActivity/2026-11-21.md", "MEMORY.md"]
    assert git("status", "--porcelain") == ""


def test_every_write_is_a_line_in_the_audit(home: Home, add_entry: AddEntry) -> None:
    commit = add_entry("T", session="fc-1").commit
    row = json.loads(home.audit.read_text().splitlines()[-1])
    assert (row["actor"], row["session"], row["commit"], row["files"][0]["path"]) == (
        "test",
        "fc-1",
        commit,
        "MEMORY.md",
    )


def test_a_secret_in_the_subject_or_the_writers_name_enters_no_history(home: Home, git: Git, now: datetime) -> None:
    with transaction(home, actor=f"Ada {SECRET}", message=f"Keep {SECRET}", session="s", now=now) as edits:
        entry = Entry(id=edits.new_id("KD", "x"), date="2026-11-21", title="T")
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
    assert SECRET not in everything(home, git)
    assert "Actor: Ada [REDACTED" in git("log", "-1", "--format=%B")


def test_nothing_changed_is_no_commit(home: Home, git: Git, now: datetime) -> None:
    before = git("rev-parse", "HEAD")
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("MEMORY.md", edits.text("MEMORY.md"))
        edits.read("USER.md")
        edits.write("Knowledge/none.md", "")
    assert (edits.outcome.commit, edits.outcome.paths) == (None, ())
    assert git("rev-parse", "HEAD") == before


def test_an_error_in_the_block_writes_nothing(home: Home, git: Git, now: datetime) -> None:
    before = git("rev-parse", "HEAD"), (home.root / "MEMORY.md").read_bytes()
    with pytest.raises(KeyError), transaction(home, actor="test", message="m", now=now) as edits:  # noqa: PT012
        edits.write("MEMORY.md", "gone")
        raise KeyError
    assert (git("rev-parse", "HEAD"), (home.root / "MEMORY.md").read_bytes()) == before


def test_edits_of_one_transaction_see_each_other(home: Home, now: datetime) -> None:
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("Knowledge/a.md", "one\n")
        edits.write("Knowledge/a.md", edits.text("Knowledge/a.md") + "two\n")
    assert (home.root / "Knowledge/a.md").read_text() == "one\ntwo\n"


def test_an_empty_text_removes_the_file(home: Home, git: Git, now: datetime) -> None:
    with transaction(home, actor="test", message="Onboarded", now=now) as edits:
        edits.write("BOOTSTRAP.md", "")
    assert not (home.root / "BOOTSTRAP.md").exists()
    assert git("show", "--format=", "--name-status").split() == ["D", "BOOTSTRAP.md"]


def test_a_file_that_git_never_knew_can_be_removed(home: Home, now: datetime) -> None:
    (home.root / ".git" / "info" / "exclude").write_text("Knowledge/mine.md\n")
    (home.root / "Knowledge" / "mine.md").write_text("mine\n")
    with transaction(home, actor="test", message="Remove", now=now) as edits:
        edits.write("Knowledge/mine.md", "")
    assert not (home.root / "Knowledge" / "mine.md").exists()
    with transaction(home, actor="test", message="Next", now=now) as edits:
        edits.write("Knowledge/next.md", "works\n")
    assert edits.outcome.commit


def test_a_full_rewrite_from_an_old_reading_is_read_again_under_the_lock(home: Home, add_entry: AddEntry) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction(home, actor="slow", message="slow") as edits:
            entered.set()
            go_on.wait(20)
            entry = Entry(id=edits.new_id("KD", "slow"), title="slow")
            edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))

    thread = threading.Thread(target=slow)
    thread.start()
    entered.wait(20)
    other = threading.Thread(target=lambda: add_entry("other"))
    other.start()
    time.sleep(0.05)
    go_on.set()
    thread.join()
    other.join()
    assert sorted(titles(home.root)) == ["other", "slow"]


def test_ids_are_unique_over_live_and_archived_entries_and_the_transaction(home: Home, now: datetime) -> None:
    with transaction(home, actor="test", message="m", now=now) as edits:
        first = edits.new_id("KD", "seed")
        second = edits.new_id("KD", "seed")
        edits.write("Archive/MEMORY-2026-11.md", f"## Key Decisions\n\n- **[{first}] T**\n")
    assert first != second
    with transaction(home, actor="test", message="m", now=now) as edits:
        assert edits.new_id("KD", "seed") == second


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".git/hooks/post-commit", ".memory/index.db", "./.git/config",
        "Knowledge/../.git/config", ".GIT/config",
        "Knowledge/.git/config", "../x.md", "/etc/x.md", "./MEMORY.md", "Knowledge//a.md", "", ".", "a\0b.md",
    ],
)  # fmt: skip
def test_what_is_not_memory_or_not_spelled_the_one_way_is_refused(home: Home, now: datetime, path: str) -> None:
    with (
        pytest.raises(ValueError, match=r"not memory|not a relative path"),
        transaction(home, actor="test", message="m", now=now) as edits,
    ):
        edits.write(path, "x\n")
    with pytest.raises(ValueError, match=r"not memory|not a relative path"):
        gateway.append_rows(home, path, lambda: [{"content": "x"}], screened=["content"], source="user", actor="test")


def test_a_transcript_is_never_rewritten(home: Home, now: datetime) -> None:
    with pytest.raises(ValueError, match="appended"), transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("sessions/2026/11/x.jsonl", "{}\n")


def test_no_name_forges_a_trailer_or_stops_git(home: Home, git: Git, now: datetime) -> None:
    session = "x\nActor: owner\r\nEvidence: verified\0\ud800"
    with transaction(home, actor="close", message="subject\0", session=session, now=now) as edits:
        edits.write("Knowledge/a.md", "text \ud800\n")
    assert edits.outcome.commit
    assert git("log", "-1", "--format=%(trailers:key=Actor,valueonly)").strip() == "close"
    assert git("log", "-1", "--format=%(trailers:key=Evidence,valueonly)").strip() == ""


def test_a_name_that_is_a_pattern_commits_that_file_alone(home: Home, git: Git, now: datetime) -> None:
    (home.root / "Knowledge" / "abc.md").write_text("by hand\n")
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("Knowledge/a*.md", "star\n")
    assert git("show", "--format=", "--name-only").split() == ["Knowledge/a*.md"]
    assert git("status", "--porcelain").split() == ["??", "Knowledge/abc.md"]


def test_thousands_of_entries_fit_in_one_commit(home: Home, git: Git, now: datetime) -> None:
    ids = [f"KD-{number:04d}" for number in range(9999)]
    rows = "".join(f"- **[{entry_id}] x**\n" for entry_id in ids)
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("Archive/MEMORY-2026-11.md", f"## Key Decisions\n\n{rows}")
    assert len(git("log", "-1", "--format=%(trailers:key=Entries,valueonly)").split(",")) == len(ids)


# --- other people's work -----------------------------------------------------------------------------------------


def test_edits_by_hand_are_committed_apart_and_kept(home: Home, git: Git, add_entry: AddEntry) -> None:
    first = add_entry("first")
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace(" first\n", " first by hand\n"))
    second = add_entry("second")
    subjects = git("log", "-3", "--format=%s|%(trailers:key=Actor,valueonly,separator=)").splitlines()
    assert subjects == ["Add second|test", "Record edits made by hand in MEMORY.md|by hand", "Add first|test"]
    assert git("show", "--format=", "--unified=0", second.commit or "").count("\n+-") == 1
    assert titles(home.root) == ["second", "first by hand"]
    assert " first by hand\n" in path.read_text()
    assert first.commit


def test_a_link_out_of_the_home_is_no_file_to_write(home: Home, tmp_path: Path, now: datetime) -> None:
    (home.root / "MEMORY.md").unlink()
    (home.root / "MEMORY.md").symlink_to(tmp_path / "elsewhere.md")
    with (
        pytest.raises(DocumentInvalid, match="outside-home"),
        transaction(home, actor="test", message="m", now=now) as edits,
    ):
        edits.read("MEMORY.md")


@pytest.mark.parametrize("link", ["MEMORY.md", "Knowledge"])
def test_a_link_inside_the_home_is_not_replaced(home: Home, git: Git, now: datetime, link: str) -> None:
    kept = home.root / "dotfiles" / link
    kept.parent.mkdir()
    shutil.move(home.root / link, kept)
    (home.root / link).symlink_to(kept)
    path = "MEMORY.md" if link == "MEMORY.md" else "Knowledge/a.md"
    before, head = (home.root / "dotfiles" / "MEMORY.md").exists() and kept.read_text(), git("rev-parse", "HEAD")
    with (
        pytest.raises(DocumentInvalid, match=rf"{link} is a link to .*dotfiles/{link}, .*rm .* && cp -R .*dotfiles"),
        transaction(home, actor="test", message="m", now=now) as edits,
    ):
        edits.write(path, "# Memory\n")
    assert (home.root / link).readlink() == kept
    assert link != "MEMORY.md" or kept.read_text() == before
    assert git("rev-parse", "HEAD") == head


def test_only_files_that_hold_entries_name_entries_in_the_commit(home: Home, git: Git, now: datetime) -> None:
    with transaction(home, actor="test", message="Note", now=now) as edits:
        edits.write("DailyActivity/2026-11-21.md", "# Day\n\n- **[KD-0001] 2026-11-21 Quoted** - text\n")
        edits.write("Archive/MEMORY-2026-11.md", "## Key Decisions\n\n- **[KD-0002] 2026-11-21 Real** - text\n")
    assert git("log", "-1", "--format=%(trailers:key=Entries,valueonly)").strip() == "KD-0002"


def test_what_a_person_staged_stays_staged(home: Home, git: Git, add_entry: AddEntry) -> None:
    (home.root / "USER.md").write_text("# Me\n")
    (home.root / "Knowledge" / "new.md").write_text("new\n")
    git("add", "USER.md", "Knowledge/new.md")
    (home.root / "SOUL.md").write_text("# Unstaged\n")
    add_entry("T")
    assert sorted(git("diff", "--cached", "--name-only").split()) == ["Knowledge/new.md", "USER.md"]
    assert git("diff", "--name-only").split() == ["SOUL.md"]
    assert git("show", "--format=", "--name-only").split() == ["MEMORY.md"]


@pytest.mark.parametrize("at", ["before staging", "after the redo record"])
def test_a_file_changed_outside_during_the_write_is_left_alone(
    home: Home, git: Git, now: datetime, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    original = recovery.stage

    def stage(*arguments: object) -> None:
        if at == "before staging":
            (home.root / "USER.md").write_text("# By hand, just now\n")
        original(*arguments)  # type: ignore[arg-type]
        (home.root / "USER.md").write_text("# By hand, just now\n")

    monkeypatch.setattr(recovery, "stage", stage)
    head, memory = git("rev-parse", "HEAD"), (home.root / "MEMORY.md").read_bytes()
    with (  # noqa: PT012 - the error comes at the end of the block
        pytest.raises(Changed, match=r"USER\.md") as caught,
        transaction(home, actor="t", message="m", now=now) as edits,
    ):
        edits.write("MEMORY.md", "# Memory\n")
        edits.write("USER.md", "# Mine\n")
    assert exit_code(caught.value) == 5
    monkeypatch.undo()
    assert (git("rev-parse", "HEAD"), (home.root / "MEMORY.md").read_bytes()) == (head, memory)
    assert (home.root / "USER.md").read_text() == "# By hand, just now\n"
    with transaction(home, actor="t", message="m", now=now) as edits:
        edits.write("USER.md", "# Mine\n")
    assert git("log", "-2", "--format=%s").splitlines() == ["m", "Record edits made by hand in USER.md"]


@pytest.mark.parametrize("what", ["merge", "rebase"])
def test_an_unfinished_merge_stops_the_write_before_it_begins(
    home: Home, git: Git, add_entry: AddEntry, what: str
) -> None:
    if what == "merge":
        (home.root / ".git" / "MERGE_HEAD").write_text(git("rev-parse", "HEAD"))
    else:
        (home.root / ".git" / "rebase-merge").mkdir()
    with pytest.raises(HistoryError, match=f"git {what} --abort"):
        add_entry("T")
    assert titles(home.root) == []
    assert not (home.machine / "redo.json").exists()


# --- the guard ---------------------------------------------------------------------------------------------------


# --- validation --------------------------------------------------------------------------------------------------


def test_a_problem_that_was_there_stops_no_other_edit_but_one_more_is_refused(home: Home, add_entry: AddEntry) -> None:
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text() + "\n##broken heading\n\n- **[RC-0001] a**\n- **[RC-0001] b**\n")
    assert add_entry("T").commit
    with pytest.raises(DocumentInvalid, match="duplicate-id"), transaction(home, actor="t", message="m") as edits:
        edits.write("MEMORY.md", edits.text("MEMORY.md") + "- **[RC-0001] c**\n")


def test_an_entry_that_an_unclosed_block_would_swallow_is_refused(home: Home, now: datetime) -> None:
    path = home.root / "MEMORY.md"
    path.write_text("# Memory\n\n## Notes\n\n<!-- never closed\n")
    entry = Entry(id="KD-0001", title="T")
    with (
        pytest.raises(DocumentInvalid, match="unclosed-comment"),
        transaction(home, actor="test", message="m", now=now) as edits,
    ):
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("MEMORY.md", edits.text("MEMORY.md").replace("## Notes\n", "## Notes\n\nabove it\n"))
    assert edits.outcome.commit


def test_a_file_that_is_not_utf8_is_not_touched(home: Home, add_entry: AddEntry) -> None:
    path = home.root / "MEMORY.md"
    path.write_bytes(b"# Memory\n\ncaf\xe9\n")
    with pytest.raises(DocumentInvalid, match=r"MEMORY\.md:3"):
        add_entry("T")
    assert path.read_bytes() == b"# Memory\n\ncaf\xe9\n"


# --- when the machine fails --------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", range(17))
def test_a_full_disk_at_any_step_leaves_whole_files_and_the_next_write_works(
    home: Home, git: Git, add_entry: AddEntry, now: datetime, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    add_entry("old")
    agree(home)  # a copied home has no valid record of its settings
    calls = [0]
    real_sync, real_replace = os.fsync, Path.replace

    def count() -> None:
        calls[0] += 1
        if calls[0] == failing + 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    def fsync(descriptor: int) -> None:
        count()
        real_sync(descriptor)

    def replace(self: Path, target: Path) -> Path:
        count()
        return real_replace(self, target)

    before = (home.root / "MEMORY.md").read_bytes()
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    refused = False
    try:
        with transaction(home, actor="test", message="m", now=now) as edits:
            entry = Entry(id=edits.new_id("KD", "new"), title="new")
            edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
            edits.write("USER.md", "# New\n")
        after = (home.root / "MEMORY.md").read_bytes()
    except (OSError, HistoryError) as error:
        refused = "No space left on device" in str(error)
        after = (home.root / "MEMORY.md").read_bytes()
    monkeypatch.undo()
    committed = git("log", "-1", "--format=%s").strip() == "m"
    assert refused == (calls[0] >= failing + 1 and not committed)
    assert not committed or titles(home.root) == ["new", "old"]
    assert after == before or titles(home.root) == ["new", "old"]
    add_entry("next")
    assert titles(home.root) in (["next", "new", "old"], ["next", "old"])
    assert ((home.root / "USER.md").read_text() == "# New\n") == ("new" in titles(home.root))
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("step", ["audit", "remove_record"])
def test_a_failure_behind_the_commit_is_no_lost_write(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(recovery, step, full)
        outcome = add_entry("new")
    assert outcome.commit == git("rev-parse", "HEAD").strip()
    assert git("status", "--porcelain") == ""
    add_entry("next")
    assert titles(home.root) == ["next", "new"]
    assert [row["commit"] for row in map(json.loads, home.audit.read_text().splitlines())].count(outcome.commit) > 0


def test_a_git_folder_that_may_not_be_written_is_named_with_the_remedy(
    home: Home, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = shutil.which("git")
    script = tmp_path / "git"
    said = f"fatal: Unable to create '{home.root}/.git/index.lock': Permission denied"
    script.write_text(
        f'#!/bin/sh\nfor word in "$@"; do if [ "$word" = update-index ]; then echo "{said}" >&2; exit 128; fi; done\n'
        f'exec "{real}" "$@"\n'
    )
    script.chmod(0o755)
    began = time.monotonic()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        with pytest.raises(HistoryError, match=r"Permission denied.*chmod -R u\+w .*\.git"):
            add_entry("new")
    assert time.monotonic() - began < 8
    add_entry("next")
    assert titles(home.root) == ["next", "new"]


def test_the_full_disk_test_reaches_every_step(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(home)  # a copied home has no valid record of its settings
    calls = [0]
    real_sync, real_replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda d: (calls.__setitem__(0, calls[0] + 1), real_sync(d))[1])
    monkeypatch.setattr(Path, "replace", lambda s, t: (calls.__setitem__(0, calls[0] + 1), real_replace(s, t))[1])
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("MEMORY.md", "# Memory\n")
        edits.write("USER.md", "# New\n")
    assert calls[0] <= 17


CHILD = """
import sys
from pathlib import Path
from agent_home.store.gateway import transaction
from agent_home.home import MEMORY, Home
from interfaces.cli.exit_codes import exit_code
try:
    with transaction(Home(Path(sys.argv[1])), actor="child", message="m") as edits:
        edits.write("Knowledge/child.md", "child\\n")
    print("done")
except Exception as error:
    print(type(error).__name__, exit_code(error), error)
"""


def child(home: Home, **changes: str) -> str:
    environment = {**os.environ, **changes}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(home.root)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_git_the_error_says_what_to_install_and_nothing_is_written(home: Home, tmp_path: Path) -> None:
    said = child(home, PATH=str(tmp_path))
    assert said.startswith("GitMissing 8 git was not found")
    assert "Install it" in said
    assert not (home.root / "Knowledge/child.md").exists()
    assert child(home) == "done"


def test_the_environment_of_another_repositorys_hook_leads_nowhere_else(home: Home, git: Git, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "--quiet", str(other)], check=True)
    said = child(
        home, GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other), GIT_INDEX_FILE=str(other / ".git" / "index.lock"),
        GIT_OBJECT_DIRECTORY=str(other / ".git" / "objects"),
    )  # fmt: skip
    assert said == "done"
    assert git("show", "--format=%s", "--name-only").split() == ["m", "Knowledge/child.md"]
    assert subprocess.run(["git", "rev-list", "--all"], cwd=other, check=True, capture_output=True).stdout == b""
    assert not (other / ".git" / "index.lock").exists()


def test_hooks_of_the_repository_do_not_run(home: Home, add_entry: AddEntry) -> None:
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        hook = home.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch ran-a-hook\nexit 1\n")
        hook.chmod(0o755)
    assert add_entry("T").commit
    assert not (home.root / "ran-a-hook").exists()


def test_a_git_lock_of_another_command_is_waited_for(home: Home, add_entry: AddEntry) -> None:
    lock = home.root / ".git" / "index.lock"
    lock.touch()
    threading.Timer(0.3, lock.unlink).start()
    assert add_entry("T").commit


def test_a_git_lock_that_stays_is_a_clear_error_and_the_next_write_catches_up(
    home: Home, git: Git, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "GIT_LOCK_WAIT_S", 0.2)
    lock = home.root / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 3600, time.time() - 3600))
    with pytest.raises(HistoryError, match=r"index\.lock.*the next write completes it") as caught:
        add_entry("T")
    assert exit_code(caught.value) == 8
    assert lock.exists()
    lock.unlink()
    add_entry("U")
    assert titles(home.root) == ["U", "T"]
    assert git("log", "-2", "--format=%s").splitlines() == ["Add U", "Add T"]


def test_a_home_that_cannot_be_written_is_an_error_with_an_exit_code(
    home: Home, add_entry: AddEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, data: bytes) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(storage, "stage", refused)
    before = (home.root / "MEMORY.md").read_bytes()
    with pytest.raises(OSError, match="Read-only") as caught:
        add_entry("T")
    assert exit_code(caught.value) == 8
    assert (home.root / "MEMORY.md").read_bytes() == before


def test_a_redo_record_that_cannot_be_read_is_kept_and_the_write_goes_on(home: Home, add_entry: AddEntry) -> None:
    (home.machine / "redo.json").write_text("{half")
    add_entry("T")
    assert titles(home.root) == ["T"]
    (folder,) = unverified.waiting(home)
    assert (folder / "record.json").read_text() == "{half"


def test_a_parsed_entry_survives_the_gateway(home: Home, add_entry: AddEntry) -> None:
    add_entry("预算 **冻结**", body="MEAGS 12 % — 三个项目")
    (entry,) = parse((home.root / "MEMORY.md").read_text()).entries()
    assert parse_entry(entry.raw) == entry
    assert (entry.title, entry.body) == ("预算 *冻结*", "MEAGS 12 % — 三个项目")


def test_a_full_audit_goes_on_in_a_new_file_and_forgetting_finds_the_old_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.audit.unlink(missing_ok=True)
    monkeypatch.setattr(recovery, "MAX_AUDIT_BYTES", 40)
    for at in range(3):
        recovery.audit(home, {"message": f"Blue Heron number {at}, which is long"})
    kept = [home.machine / name for name in ("audit-0001.jsonl", "audit-0002.jsonl", "audit.jsonl")]
    said = [json.loads(path.read_text())["message"] for path in kept]
    assert said == [f"Blue Heron number {at}, which is long" for at in range(3)]
    erase(home, RedactionTarget((Phrase("blue heron"),), name="f-0a1b2c3d"))
    assert not any("Heron" in path.read_text() for path in kept)
