"""Test how ``memory doctor`` reports what is elsewhere, lost, set aside, or missing in a clone."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store import set_aside, transcript
from agent_home.store.gateway import transaction
from agent_home.store.proposals import ProposalDraft
from agent_home.store.transcript import Message
from distill.close import close
from interfaces.cli import cli


def checks(home: Home) -> list[dict[str, str]]:
    result = CliRunner().invoke(cli, ["doctor", "--json", "--home", str(home.root)])
    found: list[dict[str, str]] = json.loads(result.stdout)["checks"]
    return found


def check(home: Home, name: str) -> dict[str, str]:
    return next(one for one in checks(home) if one["name"] == name)


def git(home: Home, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(home.root), *arguments], check=True, capture_output=True)


def test_doctor_names_a_closing_that_a_reset_took_away(home: Home, now: datetime) -> None:
    said = Message(session="s-1", id="m1", ts=now.isoformat(), content="Decision: we ship on Monday.")
    transcript.append(home, "s-1", [said], actor="test", now=now)
    close(home, "s-1", now=now)
    assert check(home, "closings")["status"] == "ok"
    git(home, "reset", "--quiet", "--hard", "HEAD~1")
    found = check(home, "closings")
    assert found["status"] == "warning"
    assert "s-1" in found["detail"]
    assert "memory close --all" in found["detail"]
    close(home, "s-1", now=now)
    assert check(home, "closings")["status"] == "ok"


def test_doctor_fails_on_another_branch(home: Home) -> None:
    git(home, "switch", "--quiet", "--create", "other")
    found = check(home, "git")
    assert found["status"] == "failed"
    assert "git switch main" in found["detail"]


def close_one(home: Home, now: datetime) -> None:
    said = Message(session="s-1", id="m1", ts=now.isoformat(), content="Decision: we ship on Monday.")
    transcript.append(home, "s-1", [said], actor="test", now=now)
    close(home, "s-1", now=now)


@pytest.mark.parametrize(
    ("command", "emptied"),
    [(["close", "--all"], False), (["distill", "--dry-run"], True), (["doctor"], False)],
    ids=["close", "distill", "doctor"],
)
def test_missing_transcripts_are_not_closed_sessions(
    home: Home, now: datetime, command: list[str], *, emptied: bool
) -> None:
    close_one(home, now)
    shutil.rmtree(home.sessions)
    if emptied:
        home.sessions.mkdir()
    result = CliRunner().invoke(cli, [*command, "--home", str(home.root)])
    assert result.exit_code == 1
    assert "this machine closed 1 of its sessions. Mount the folder" in result.output
    assert "every session is closed" not in result.output


def test_one_session_without_its_folder_is_named_too(home: Home, now: datetime) -> None:
    close_one(home, now)
    shutil.rmtree(home.sessions)
    result = CliRunner().invoke(cli, ["close", "s-1", "--home", str(home.root)])
    assert result.exit_code == 2
    assert "Mount the folder" in result.output


def test_a_home_without_sessions_is_content(home: Home) -> None:
    shutil.rmtree(home.sessions)
    assert check(home, "closings")["status"] == "ok"
    assert CliRunner().invoke(cli, ["close", "--all", "--home", str(home.root)]).exit_code == 0


def test_a_fresh_clone_says_what_it_lacks(home: Home, now: datetime, tmp_path: Path) -> None:
    close_one(home, now)
    with transaction(home, actor="close", message="m", now=now) as edits:
        edits.write("Knowledge/a.md", "text\n")
        edits.propose(ProposalDraft(id="p-1", path="STEERING.md", section="", text="- A rule.\n", message="Propose"))
    assert not [one for one in checks(home) if one["name"] == "clone"]
    clone = Home(tmp_path / "clone")
    subprocess.run(["git", "clone", "--quiet", str(home.root), str(clone.root)], check=True)
    lines = [one for one in checks(clone) if one["name"] == "clone"]
    assert {one["status"] for one in lines} == {"info"}
    words = [one["detail"].partition(":")[0] for one in lines]
    assert words == ["no transcripts", "no quarantine", "no salt", "no proposals"]
    assert "git fetch origin 'refs/heads/proposals/*:refs/heads/proposals/*'" in lines[-1]["detail"]
    git(clone, "fetch", "--quiet", "origin", "refs/heads/proposals/*:refs/heads/proposals/*")
    assert "no proposals" not in str(checks(clone))


def test_doctor_names_what_was_set_aside(home: Home) -> None:
    set_aside.keep(home, "MEMORY.md", "## Key Decisions\n\n- **[KD-0007]** 2026-11-01 Oak\n", at=1763715600, number=0)
    found = check(home, "recovered")
    assert found["status"] == "warning"
    assert "1763715600-0-MEMORY.md was set aside on 2025-11-21" in found["detail"]
    assert "missing or say something else: KD-0007" in found["detail"]
    assert "memory review show r-" in found["detail"]


def test_doctor_names_a_loss_until_it_is_decided(home: Home, now: datetime) -> None:
    with transaction(home, actor="test", message="m", now=now) as edits:
        entry = Entry(id="KD-0001", date="2026-11-01", title="Cedar")
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
    assert check(home, "losses")["status"] == "ok"
    (home.root / "MEMORY.md").write_text("")
    found = check(home, "losses")
    assert found["status"] == "failed"
    assert "MEMORY.md is gone or empty, and 1 of its 1 entries are gone. `memory review`" in found["detail"]
    fixed = CliRunner().invoke(cli, ["doctor", "--fix", "--home", str(home.root)]).output
    assert "fixed    brought back 1 entries of MEMORY.md. `memory review show l-" in fixed
    listed = CliRunner().invoke(cli, ["review", "--home", str(home.root)]).output
    assert "loss" in listed
    assert check(home, "losses")["status"] == "warning"
    name = listed.split()[0]
    shown = CliRunner().invoke(cli, ["review", "show", name, "--home", str(home.root)]).output
    assert "Accept removes them, reject keeps them" in shown
    CliRunner().invoke(cli, ["review", "reject", name, "--as", "Ada", "--home", str(home.root)])
    assert check(home, "losses")["status"] == "ok"


def test_doctor_names_conflict_markers_first(home: Home) -> None:
    path = home.root / "MEMORY.md"
    path.write_text(f"{path.read_text()}\n<<<<<<< HEAD\n")
    found = check(home, "files")
    assert found["status"] == "failed"
    assert "conflict markers of a merge at MEMORY.md:" in found["detail"]
    assert "git checkout HEAD -- MEMORY.md" in found["detail"]


def test_doctor_says_how_a_deleted_memory_comes_back(home: Home) -> None:
    (home.root / "MEMORY.md").unlink()
    found = check(home, "manifest")
    assert found["status"] == "failed"
    assert "git checkout HEAD -- MEMORY.md" in found["detail"]
    git(home, "checkout", "HEAD", "--", "MEMORY.md")
    assert check(home, "manifest")["status"] == "ok"


def test_doctor_names_a_forgotten_entry_that_a_merge_brought_back(home: Home, now: datetime) -> None:
    entry = Entry(id="KD-0001", date="2026-11-01", title="The crane is of walnut wood")
    with transaction(home, actor="test", message="m", now=now) as edits:
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
    memory = home.root / "MEMORY.md"
    before = memory.read_text()
    forget = ["forget", "KD-0001", "--apply", "--home", str(home.root)]
    assert CliRunner().invoke(cli, forget).exit_code in {0, 1}  # 1: history has it
    assert check(home, "forgotten")["status"] == "ok"
    memory.write_text(before)
    found = check(home, "forgotten")
    assert found["status"] == "warning"
    assert "MEMORY.md:" in found["detail"]
    assert "`memory forget KD-0001 --apply --purge`" in found["detail"]
    assert "walnut" not in found["detail"]
    assert CliRunner().invoke(cli, forget).exit_code in {0, 1}  # 1: history has it
    assert check(home, "forgotten")["status"] == "ok"


def test_doctor_names_hidden_files_and_a_remedy_that_works(home: Home) -> None:
    assert check(home, "hidden")["status"] == "ok"
    git(home, "update-index", "--assume-unchanged", "USER.md")
    assert check(home, "hidden")["status"] == "warning"
    git(home, "update-index", "--no-assume-unchanged", "USER.md")
    git(home, "status")  # a young file counts as changed, and stays
    git(home, "sparse-checkout", "set", "--no-cone", "/*", "!/MEMORY.md")
    found = check(home, "hidden")
    assert found["status"] == "failed"
    assert "MEMORY.md is not on the disk. Run `git sparse-checkout disable`" in found["detail"]
    assert "git checkout" not in str(checks(home))
    git(home, "sparse-checkout", "disable")
    assert check(home, "hidden")["status"] == "ok"


def remember(home: Home, text: str) -> str:
    result = CliRunner().invoke(cli, ["remember", text, "--home", str(home.root)])
    assert result.exit_code == 0, result.output
    return result.output


def prompt(home: Home) -> str:
    result = CliRunner().invoke(cli, ["prompt", "--json", "--home", str(home.root)])
    assert result.exit_code == 0, result.output
    return " ".join(json.loads(result.stdout)["degraded"])


def test_a_reset_behind_a_remembered_fact_is_named_everywhere(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    remember(home, "We use Zig for parsers.")
    assert prompt(home) == ""
    git(home, "reset", "--quiet", "--hard", "HEAD~1")
    assert "run `git merge --ff-only " in prompt(home)
    found = check(home, "acknowledged")
    assert found["status"] == "warning"
    assert "run `git merge --ff-only " in found["detail"]
    with caplog.at_level(logging.WARNING):
        remember(home, "We use Cedar for docks.")
    assert "run `git cherry-pick " in caplog.text
    assert check(home, "acknowledged")["status"] == "info"


def test_doctor_and_prompt_give_the_advice_of_a_refused_write(home: Home) -> None:
    for text in ("We use Zig for parsers.", "We use Cedar for docks."):
        remember(home, text)
    environment = {**os.environ, "GIT_SEQUENCE_EDITOR": "sed -i 1s/pick/edit/", "GIT_COMMITTER_NAME": "p"}
    environment["GIT_COMMITTER_EMAIL"] = "p@example.org"
    command = ["git", "-C", str(home.root), "rebase", "--quiet", "-i", "HEAD~2"]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    assert "run `git rebase --abort`" in check(home, "git")["detail"]
    shown = prompt(home)
    assert "this prompt shows another commit than the newest one of memory: a rebase is unfinished" in shown
    assert "run `git rebase --abort`" in shown
    git(home, "rebase", "--abort")
    assert prompt(home) == ""
    git(home, "switch", "--quiet", "--detach", "HEAD~1")
    assert "this prompt shows another commit" in prompt(home)
    assert "Run `git switch main`" in prompt(home)


def test_a_memory_renamed_by_case_is_named_and_not_made_anew(home: Home) -> None:
    remember(home, "We use Zig for parsers.")
    git(home, "mv", "MEMORY.md", "Memory.md")
    git(home, "-c", "user.name=p", "-c", "user.email=p@x", "commit", "--no-verify", "--quiet", "-m", "Rename")
    assert "MEMORY.md is named Memory.md, and is not read. `git mv Memory.md MEMORY.md`" in prompt(home)
    found = check(home, "manifest")
    assert found["status"] == "failed"
    assert "Run `git mv Memory.md MEMORY.md`" in found["detail"]
    for command in (["remember", "We use Cedar for docks."], ["init"]):
        where = ["--home", str(home.root)] if command[0] == "remember" else [str(home.root)]
        refused = CliRunner().invoke(cli, [*command, *where])
        assert refused.exit_code != 0
        assert "`git mv Memory.md MEMORY.md`" in refused.output
    git(home, "mv", "Memory.md", "MEMORY.md")
    remember(home, "We use Cedar for docks.")
    assert prompt(home) == ""
    (home.root / "memory.md").write_text("")
    assert "memory.md lies beside MEMORY.md" in check(home, "manifest")["detail"]


def test_deleted_ledgers_are_named(home: Home, now: datetime) -> None:
    close_one(home, now)
    shutil.rmtree(home.root / "ledger")
    assert "`git checkout HEAD -- ledger" in prompt(home)
    found = check(home, "losses")
    assert found["status"] == "failed"
    assert "`git checkout HEAD -- ledger" in found["detail"]
    fixed = CliRunner().invoke(cli, ["doctor", "--fix", "--home", str(home.root)]).output
    assert "fixed    brought back ledger/" in fixed
    assert check(home, "losses")["status"] == "ok"
    assert prompt(home) == ""


def test_doctor_names_an_entry_of_a_closing_that_an_edit_by_hand_removed(home: Home, now: datetime) -> None:
    close_one(home, now)
    remember(home, "We use Zig for parsers.")
    path = home.root / "MEMORY.md"
    line = next(line for line in path.read_text().splitlines() if "ship on Monday" in line)
    text = path.read_text()
    detail = text.partition(line)[2].splitlines()[1]
    path.write_text(text.replace(f"{line}\n{detail}\n", ""))
    remember(home, "We use Cedar for docks.")
    found = check(home, "closings")
    assert found["status"] == "info"
    name = line.partition("[")[2].partition("]")[0]
    assert f"`memory revert {name} --apply` brings it back" in found["detail"]
    done = CliRunner().invoke(cli, ["revert", name, "--apply", "--home", str(home.root)])
    assert done.exit_code == 0, done.output
    assert check(home, "closings")["status"] == "ok"
