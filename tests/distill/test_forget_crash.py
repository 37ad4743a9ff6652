"""A removal killed at any step is finished by running it again, and nothing else is lost."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

import recall.index.erasure
from agent_home import storage
from agent_home.forgetting import purge
from agent_home.git.client import GitClient
from agent_home.home import Home
from agent_home.store import recovery, transcript
from agent_home.store.transcript import Message
from distill import forget as module
from distill.close import close
from distill.forget import forget
from recall.index.sync import sync
from recall.index.verify import verify
from recall.settings import RecallSettings
from tests.doomed import ForkServer

Talk = Callable[..., list[Message]]
SAID = re.compile(rb"blue\s+heron", re.IGNORECASE)

#: Runs a removal that kills itself and its git commands before or after a named git command.
KILLED_PROCESS = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from agent_home.git.client import GitClient
from agent_home.home import Home
from distill.forget import forget
from tests.doomed import dying, git_command
dying(GitClient, "change", before=sys.argv[2] == "before", when=git_command(sys.argv[3]))()
forget(Home(Path(sys.argv[1])), "blue heron", now=datetime(2026, 11, 21, tzinfo=UTC), history_too=True)
print("done")
"""


class Killed(BaseException):
    """An exception that no code handles, like a kill."""


def git(home: Home, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=home.root, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def word_home(home: Home, talk: Talk, now: datetime) -> Home:
    """A home with the text in a transcript, in memory, in an output, on another branch and in two stashes."""
    rows = (("user", "Decision: the code word is Blue Heron."), ("user", "Decision: ship on Monday."))
    transcript.append(home, "fc-1", talk(*rows), actor="test", now=now)
    close(home, "fc-1", now=now)
    (home.root / "outputs/run.txt").write_text("Blue Heron\n")
    git(home, "branch", "proposals/p-1")
    said = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for text in ("blue heron\n", "innocent\n"):
        path = home.root / "MEMORY.md"
        path.write_text(path.read_text() + text)
        git(home, *said, "stash", "push", "-q", "-m", f"stash of {text.strip()}")
    sync(home, RecallSettings(), None)
    return home


def assert_finished(home: Home, now: datetime) -> None:
    """Assert that running it again removes the text and keeps everything else."""
    done = forget(home, "blue heron", now=now, history_too=True)
    assert done.remaining == ()
    listing = ["git", "cat-file", "--batch-all-objects", "--batch"]
    assert not SAID.search(subprocess.run(listing, cwd=home.root, check=True, capture_output=True).stdout)
    assert [path for path in home.root.rglob("*") if path.is_file() and SAID.search(path.read_bytes())] == []
    assert git(home, "fsck", "--full", "--strict") == ""
    assert git(home, "status", "--porcelain") == ""
    assert git(home, "log", "--format=%s", "-1").strip() == f"Forget {done.name}"
    assert git(home, "rev-list", "--count", "HEAD").strip() == "3"
    assert git(home, "rev-parse", "proposals/p-1") == git(home, "rev-parse", "HEAD~1")
    assert len(git(home, "stash", "list").splitlines()) == 2
    assert "innocent" in git(home, "show", "stash@{0}:MEMORY.md")
    assert git(home, "for-each-ref", "refs/agent-home") == ""
    assert "ship on Monday" in (home.root / "MEMORY.md").read_text()
    assert not (home.machine / "rewritten.json").exists()
    assert not (home.machine / "redo.json").exists()
    assert close(home, "fc-1", now=now).commit is None
    sync(home, RecallSettings(), None)
    assert verify(home, RecallSettings()).ok


def dying(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, *, before: bool, at: int = 1, word: str = "") -> None:
    """Make the *at*-th call of a function, with *word* in its arguments, raise as if the process was killed."""
    real, seen = getattr(where, name), [0]

    def wrapped(*arguments: Any, **named: Any) -> Any:
        meant = not word or any(word in str(argument) for argument in arguments)
        seen[0] += meant
        if meant and seen[0] == at and before:
            raise Killed
        result = real(*arguments, **named)
        if meant and seen[0] == at:
            raise Killed
        return result

    monkeypatch.setattr(where, name, wrapped)


#: Module, function, whether before it, which call, and a word among its arguments.
STEPS: dict[str, tuple[Any, str, bool, int, str]] = {
    "before the files are committed": (recovery, "complete", True, 1, ""),
    "after the files are committed": (module, "_remove_from_files", False, 1, ""),
    "after the first other file": (storage, "replace", False, 1, "forget.tmp"),
    "before the index": (recall.index.erasure, "reindex", True, 1, ""),
    "after the new objects": (GitClient, "change", False, 1, "index-pack"),
    "after the map of commits": (purge, "_write_map", False, 1, ""),
    "after the refs": (purge, "_move", False, 1, ""),
    "before the map goes": (module, "drop_commit_map", True, 1, ""),
    "after the old stash went": (GitClient, "change", False, 1, "refs/stash"),
    "after one stash is back": (GitClient, "change", False, 1, "store"),
    "after packing": (GitClient, "change", False, 1, "repack"),
    "after pruning": (GitClient, "change", False, 1, "prune"),
}


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_removal_is_finished_by_the_next_run(
    word_home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    where, name, before, at, word = STEPS[step]
    with monkeypatch.context() as patch:
        dying(patch, where, name, before=before, at=at, word=word)
        with pytest.raises(Killed):
            forget(word_home, "blue heron", now=now, history_too=True)
    assert_finished(word_home, now)


@pytest.mark.parametrize(("when", "word"), [("after", "update-ref"), ("before", "prune")])
def test_a_killed_removal_is_finished_by_the_next_run(
    word_home: Home, now: datetime, forks: ForkServer, when: str, word: str
) -> None:
    killed = forks.run(KILLED_PROCESS, str(word_home.root), when, word)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert killed.stdout == ""
    assert_finished(word_home, now)
