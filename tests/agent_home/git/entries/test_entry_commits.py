"""Commits are read as git has them, whatever their texts and messages look like."""

from __future__ import annotations

import pytest

from agent_home.errors import GitFailed
from agent_home.git import history
from agent_home.git.client import GitClient, home_client
from agent_home.git.entries.entry_commits import EntryCommit, entry_commits
from agent_home.home import Home

from ...conftest import Git


def commit(home: Home, git: Git, message: str, **files: str) -> str:
    for name, text in files.items():
        path = home.root / f"{name.replace('__', '/')}.md"
        path.write_text(path.read_text() + text if path.exists() else text)
        git("add", "--", str(path))
    git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--no-verify", "-m", message)
    return history.head(home.root)


def newest(home: Home) -> EntryCommit:
    return next(entry_commits(home_client(home.root)))


def test_lines_of_a_text_are_no_names_of_files(home: Home, git: Git) -> None:
    text = "\n++ b/Archive/fake.md\n-- a/Archive/fake.md\n- **[KD-7F3A] T** - b\n"
    made = commit(home, git, "Add", EVOLUTION=text)
    found = newest(home)
    assert (found.commit, found.last_file) == (made, "EVOLUTION.md")
    assert found.acts == {"KD-7F3A": ("added", "EVOLUTION.md")}


def test_a_text_does_not_end_a_commit(home: Home, git: Git) -> None:
    made = commit(home, git, "Add", MEMORY="\n\x1e0\x1f1\x1f2\n\x1e\n- **[KD-7F3A] T** - b\n- **[KD-0001] T** - b\n")
    found = next(iter(entry_commits(home_client(home.root), "--max-count=1")))
    assert (found.commit, set(found.acts)) == (made, {"KD-7F3A", "KD-0001"})
    assert [event.commit for event in history.entry_history(home.root, "KD-7F3A")] == [made]


def test_lines_of_a_message_are_no_patch(home: Home, git: Git) -> None:
    body = (
        "diff --git a/MEMORY.md b/MEMORY.md\n+- **[KD-7F3A] T**\n\x1e0\x1f1\n\nEntries: KD-0001, LL-0002\nActor: test"
    )
    made = commit(home, git, f"Odd\n\n{body}", MEMORY="more\n")
    found = newest(home)
    assert (found.commit, found.subject, found.actor) == (made, "Odd", "test")
    assert found.named == {"KD-0001", "LL-0002"}
    assert not found.acts


def test_a_move_between_files_is_one_act(home: Home, git: Git) -> None:
    line = "- **[KD-7F3A] T** - b\n"
    commit(home, git, "Add", MEMORY=line)
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace(line, ""))
    git("add", "MEMORY.md")
    commit(home, git, "Archive", Archive__M=line)
    assert newest(home).acts == {"KD-7F3A": ("archived", "Archive/M.md")}


def test_a_commit_beyond_the_limit_is_refused(home: Home, git: Git) -> None:
    commit(home, git, "Add", MEMORY="- **[KD-7F3A] T** - b\n" * 10_000)
    client = home_client(home.root)
    small = GitClient(root=client.root, environment=client.environment, max_bytes=100_000)
    with pytest.raises(GitFailed, match="for one commit"):
        list(entry_commits(small))


def test_other_files_are_left_out(home: Home, git: Git) -> None:
    before = len(list(entry_commits(home_client(home.root))))
    commit(home, git, "Note", Knowledge__a="- **[KD-7F3A] T** - b\n")
    assert len(list(entry_commits(home_client(home.root)))) == before
