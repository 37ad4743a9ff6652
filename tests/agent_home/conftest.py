"""Git as the tests of this package ask it, and one entry that any of them can write."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents.document import parse
from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store.gateway import WriteOutcome, transaction

#: Runs git in the home and gives what it printed.
Git = Callable[..., str]
#: Adds an entry with this title to Key Decisions, through the gateway.
AddEntry = Callable[..., WriteOutcome]


@pytest.fixture
def git(home: Home) -> Git:
    def run(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=home.root, check=True, capture_output=True, text=True)
        return done.stdout

    return run


@pytest.fixture
def add_entry(home: Home, now: datetime) -> AddEntry:
    def add(
        title: str, *, body: str = "", source: str = "agent", session: str = "", actor: str = "test"
    ) -> WriteOutcome:
        with transaction(home, actor=actor, message=f"Add {title}", session=session, source=source, now=now) as edits:
            entry = Entry(id=edits.new_id("KD", title), date="2026-11-21", title=title, body=body)
            edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
        return edits.outcome

    return add


def titles(root: Path, file: str = "MEMORY.md") -> list[str]:
    """The titles of the file's entries, in file order."""
    return [entry.title for entry in parse((root / file).read_bytes().decode()).entries()]
