"""What this machine acknowledged is compared with the branch of memory."""

from __future__ import annotations

import logging

import pytest

from agent_home.git.acknowledged import entries_without_trace, taken_back
from agent_home.home import MEMORY, Home
from agent_home.store.branch import tip, written_tip

from ..conftest import AddEntry, Git, titles

WHO = ("-c", "user.name=p", "-c", "user.email=p@example.org")


def test_a_reset_behind_an_acknowledged_commit_is_named_with_a_command_that_works(
    home: Home, git: Git, add_entry: AddEntry
) -> None:
    add_entry("Old")
    add_entry("New")
    assert taken_back(home, tip(home), every=True) is None
    git("reset", "-q", "--hard", "HEAD~1")
    found = taken_back(home, written_tip(home))
    assert found is not None
    assert (found.behind, found.subject) == (True, "Add New")
    command = found.describe(home.root).split("`")[1]
    git(*command.split()[1:])
    assert "New" in titles(home.root)
    assert taken_back(home, tip(home), every=True) is None


def test_the_next_write_after_a_reset_says_what_is_gone(
    home: Home, git: Git, add_entry: AddEntry, caplog: pytest.LogCaptureFixture
) -> None:
    add_entry("Old")
    add_entry("Gone")
    git("reset", "-q", "--hard", "HEAD~1")
    with caplog.at_level(logging.WARNING):
        add_entry("Next")
    command = caplog.text.split("`")[1]
    assert command.startswith("git cherry-pick ")
    assert taken_back(home, tip(home)) is None
    found = taken_back(home, tip(home), every=True)
    assert found is not None
    assert not found.behind
    git(*WHO, "cherry-pick", "--strategy-option=theirs", *found.commits)
    assert "Gone" in titles(home.root)
    assert taken_back(home, tip(home), every=True) is None


def test_a_rewritten_commit_is_not_taken_back(home: Home, git: Git, add_entry: AddEntry) -> None:
    add_entry("Old")
    add_entry("New")
    git(*WHO, "rebase", "-q", "--force-rebase", "HEAD~2")
    git(*WHO, "commit", "-q", "--amend", "-m", "In other words")
    assert taken_back(home, tip(home), every=True) is None
    git("reset", "-q", "--soft", "HEAD~2")
    git(*WHO, "commit", "-q", "-m", "Both at once")
    assert taken_back(home, tip(home), every=True) is None


def test_entries_that_a_person_removed_are_named_and_those_of_commands_are_not(
    home: Home, git: Git, add_entry: AddEntry
) -> None:
    names = [next(iter(add_entry(title).entries)) for title in ("One", "Two", "Three")]
    assert entries_without_trace(home) == []
    path = home.root / MEMORY
    lines = path.read_text().splitlines(keepends=True)
    by_hand = next(line for line in lines if " One" in line)
    path.write_text("".join(line for line in lines if line != by_hand))
    add_entry("Four")
    found = entries_without_trace(home)
    assert len(found) == 1
    assert found[0] in by_hand
    with_git = next(line for line in lines if " Two" in line)
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if line != with_git))
    git(*WHO, "commit", "-q", "-a", "-m", "Mine", "--no-verify")
    assert len(entries_without_trace(home)) == 2
    assert names
