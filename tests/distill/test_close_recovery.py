"""What a person took back stays away, and what was left uncommitted is committed by the next closing."""

from __future__ import annotations

import subprocess
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from agent_home import storage
from agent_home.errors import HistoryError
from agent_home.git import commits
from agent_home.home import Home
from agent_home.store import closings, transcript
from distill.close import close, close_all, unclosed
from distill.settings import DistillSettings

if TYPE_CHECKING:
    from .conftest import Talk


def git(home: Home, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    command = ["git", "-C", str(home.root), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def memory(home: Home) -> str:
    return storage.read_text(home.root / "MEMORY.md")


@pytest.fixture
def said(home: Home, talk: Talk, now: datetime) -> Home:
    transcript.append(home, "fc-1", talk(("user", "Decision: ship on Monday.")), actor="test", now=now)
    return home


def test_a_closing_that_was_reverted_comes_back_only_when_asked_for(said: Home, now: datetime) -> None:
    first = close(said, "fc-1", now=now)
    after = memory(said)
    git(said, "revert", "--no-edit", str(first.commit))
    reverted = memory(said)
    assert "ship on Monday" not in reverted
    assert unclosed(said) == []
    assert close_all(said, now=now).closed == ()
    quiet = close(said, "fc-1", now=now)
    assert (quiet.commit, quiet.taken_back) == (None, True)
    assert memory(said) == reverted
    again = close(said, "fc-1", now=now, again=True)
    assert [entry.id for entry in again.entries] == [entry.id for entry in first.entries]
    assert memory(said) == after
    assert close(said, "fc-1", now=now, again=True).commit is None


def test_after_a_revert_only_what_is_said_later_is_closed(said: Home, talk: Talk, now: datetime) -> None:
    git(said, "revert", "--no-edit", str(close(said, "fc-1", now=now).commit))
    transcript.append(said, "fc-1", talk(("user", "Decision: call legal."), first=2), actor="test", now=now)
    assert unclosed(said) == ["fc-1"]
    assert [entry.text for entry in close(said, "fc-1", now=now).entries] == ["call legal."]


def test_a_closing_whose_commit_is_gone_is_made_again(said: Home, talk: Talk, now: datetime) -> None:
    transcript.append(said, "fc-2", talk(("user", "Decision: call legal.")), actor="test", now=now)
    close(said, "fc-1", now=now)
    close(said, "fc-2", now=now)
    assert unclosed(said) == []
    git(said, "reset", "--quiet", "--hard", "HEAD~1")
    assert closings.lost(said) == ["fc-2"]
    assert unclosed(said) == ["fc-2"]
    assert [entry.text for entry in close(said, "fc-2", now=now).entries] == ["call legal."]
    assert "ship on Monday" in memory(said)
    git(said, "reflog", "expire", "--expire=all", "--all")
    git(said, "gc", "--quiet", "--prune=now")
    assert unclosed(said) == []
    assert closings.lost(said) == ["fc-2"]  # its first commit, which the second one replaced


def test_on_another_branch_nothing_is_closed_and_nothing_counts_as_lost(said: Home, talk: Talk, now: datetime) -> None:
    close(said, "fc-1", now=now)
    git(said, "switch", "--quiet", "--detach", "HEAD~1")
    assert unclosed(said) == []
    transcript.append(said, "fc-1", talk(("user", "Decision: call legal."), first=2), actor="test", now=now)
    with pytest.raises(HistoryError, match="git switch main"):
        close(said, "fc-1", now=now)
    git(said, "switch", "--quiet", "main")
    assert [entry.text for entry in close(said, "fc-1", now=now).entries] == ["call legal."]


def test_without_the_record_of_this_machine_only_the_protection_is_lost(said: Home, now: datetime) -> None:
    first = close(said, "fc-1", now=now)
    (said.machine / "closings.jsonl").unlink()
    assert close(said, "fc-1", now=now).commit is None
    git(said, "revert", "--no-edit", str(first.commit))
    assert len(close(said, "fc-1", now=now).entries) == 1


@pytest.mark.parametrize("every", [False, True])
def test_what_was_written_but_not_committed_is_committed_first(
    said: Home, now: datetime, monkeypatch: pytest.MonkeyPatch, every: bool
) -> None:
    monkeypatch.setattr(commits, "GIT_LOCK_WAIT_S", 0.05)
    lock = said.root / ".git" / "index.lock"
    lock.touch()
    with pytest.raises(HistoryError):
        close(said, "fc-1", now=now)
    with pytest.raises(HistoryError):
        close_all(said, now=now)
    lock.unlink()
    if every:
        assert close_all(said, now=now).failed == ()
    else:
        assert close(said, "fc-1", now=now).commit is None
    assert git(said, "status", "--porcelain", "--", "MEMORY.md", "DailyActivity") == ""
    assert "ship on Monday" in git(said, "show", "HEAD:MEMORY.md")
    assert not (said.machine / "redo.json").exists()


def test_a_session_with_a_private_name_is_closed_once(home: Home, talk: Talk, now: datetime) -> None:
    name = "mail to " + "jane.roe" + "@" + "example.org"
    transcript.append(home, name, talk(("user", "Decision: ship on Monday."), session=name), actor="test", now=now)
    assert len(unclosed(home)) == 1
    assert close(home, name, now=now).commit is not None
    assert unclosed(home) == []
    (home.machine / "closings.jsonl").unlink()
    assert unclosed(home) == []


def test_a_closing_adds_no_more_to_a_section_than_it_may(home: Home, talk: Talk, now: datetime) -> None:
    rows = [("user", f"Decision: ship part {word}.") for word in ("one", "two", "three")]
    transcript.append(home, "fc-1", talk(*rows), actor="test", now=now)
    closed = close(home, "fc-1", now=now, settings=DistillSettings(max_entries_per_section=2))
    assert (len(closed.entries), closed.left_in_log) == (2, 1)
    assert "part three" not in memory(home)
    assert "part three" in storage.read_text(home.root / closed.daily)
