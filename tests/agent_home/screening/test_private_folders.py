"""A pull cannot let git take transcripts, and what a plain ``git pull`` lets it take is named."""

from __future__ import annotations

import subprocess
from datetime import datetime

import pytest

from agent_home.creation import create
from agent_home.home import Home
from agent_home.screening.private_folders import PRIVATE_FOLDERS, cover_private_folders, uncovered, uncovering_line
from agent_home.store.gateway import transaction

from ..conftest import Git

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.com")


def taken(home: Home) -> str:
    """Return what `git add` would take, by git itself."""
    done = ["git", "status", "--porcelain", "--untracked-files=all"]
    return subprocess.run(done, cwd=home.root, check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def said(home: Home) -> None:
    for name in PRIVATE_FOLDERS:
        (home.root / name).mkdir(exist_ok=True)
        (home.root / name / "private.jsonl").write_text("{}\n")


def test_a_new_home_names_its_private_folders_in_gits_own_list(home: Home, git: Git) -> None:
    (home.root / ".gitignore").unlink()
    git(*IDENTITY, "commit", "--no-verify", "-qam", "Pulled")
    assert taken(home) == ""
    assert uncovered(home.root) == []


def test_the_next_write_covers_a_home_of_an_earlier_version(home: Home, now: datetime) -> None:
    exclude = home.root / ".git/info/exclude"
    exclude.write_text("mine")
    (home.root / ".gitignore").write_text("*~\n")
    assert uncovered(home.root) == list(PRIVATE_FOLDERS)
    with transaction(home, actor="close", message="Write", now=now) as edits:
        edits.write("Knowledge/a.md", "# A\n")
    assert exclude.read_text().startswith("mine\n# agent-home: ")
    assert "private.jsonl" not in taken(home)


def test_a_folder_that_a_person_keeps_in_git_stays_there(home: Home, git: Git, now: datetime) -> None:
    exclude = home.root / ".git/info/exclude"
    exclude.write_text("")
    git("add", "--force", "sessions")
    git(*IDENTITY, "commit", "--no-verify", "-qm", "Keep")
    cover_private_folders(home.root)
    assert "/sessions/" not in exclude.read_text()
    assert "/outputs/" in exclude.read_text()
    assert uncovered(home.root) == []
    exclude.write_text(exclude.read_text().replace("/outputs/\n", ""))  # a person takes another one out
    create(home.root, now=now)
    assert "/outputs/" not in exclude.read_text()


def test_a_linked_work_tree_leaves_the_list_of_its_repository(home: Home, git: Git) -> None:
    exclude = home.root / ".git/info/exclude"
    exclude.write_text("")
    git("worktree", "add", "-q", str(home.root.parent / "side"))
    cover_private_folders(home.root.parent / "side")
    assert exclude.read_text() == ""


@pytest.mark.parametrize(
    "line",
    [
        "!sessions/", "!/sessions", "!sess*", "!**/outputs/", "!*", "!*/", "!/**", "![s]essions/", "!\\sessions",
        "!.memory/", "!Sessions/", "!?essions/**", "!/sessions/a.jsonl",
    ],
)  # fmt: skip
def test_an_exception_for_a_private_folder_is_found(home: Home, line: str) -> None:
    before = (home.root / ".gitignore").read_text()
    assert uncovering_line(home.root, before, f"{before}{line}\n") == line
    (home.root / ".gitignore").write_text(f"{before}{line}\n")
    assert uncovered(home.root) != []


@pytest.mark.parametrize("line", ["!Knowledge/*.png", "!*.md", "*.bak", "# !sessions/", "sessions/old"])
def test_other_lines_pass(home: Home, line: str) -> None:
    before = (home.root / ".gitignore").read_text()
    assert uncovering_line(home.root, before, f"{before}{line}\n") == ""
    (home.root / ".gitignore").write_text(f"{before}{line}\n")
    assert uncovered(home.root) == []
    assert "private.jsonl" not in taken(home)
