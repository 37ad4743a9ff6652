"""Test what a person is shown beside a waiting text: its turns, its commit and what it changes."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents.entry import Entry
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from agent_home.store.proposals import ProposalDraft
from agent_home.store.transcript import Message
from distill.review.grounds import EvidenceCommit, grounds_of
from distill.review.queue import ReviewItem, waiting

OLDER = Entry(id="KD-0001", date="2026-11-01", title="The beds are of cedar", fields={"Origin": "user"})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "limits.py").write_text("RATE = 100\n", "utf-8")
    for arguments in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "api: limit the rate\n\nWhy.")):
        settings = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *settings, *arguments], cwd=root, check=True, capture_output=True)
    return root


def short_name(repository: Path) -> str:
    asked = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, cwd=repository, check=True, capture_output=True, text=True).stdout.strip()


def proposed(home: Home, now: datetime, entry: Entry, *, waits_as: str = "", **trailers: str) -> ReviewItem:
    named = {"Session": "s-1", "Evidence": "unchecked", "Actor": "close", "Source": "user", "Risk": "low", **trailers}
    with transaction(home, actor="close", message="m", session="s-1", now=now) as edits:
        edits.write(MEMORY, edits.read(MEMORY).with_entry("Key Decisions", OLDER))
        draft = ProposalDraft(
            id=waits_as or entry.id, path=MEMORY, section="Key Decisions", text=entry.render(), message="p",
            trailers=named,
        )  # fmt: skip
        edits.propose(draft)
    (item,) = waiting(home, now)
    return item


def test_the_commit_and_the_turns_of_an_entry_are_found(home: Home, now: datetime, repository: Path) -> None:
    said = Message(session="s-1", id="m1", ts="2026-11-20T10:00:00", content="I limited it.", cwd=str(repository))
    transcript.append(home, "s-1", [said], actor="import", now=now)
    name = short_name(repository)
    fields = {"Evidence": f"verified, commit {name}; DailyActivity/2026-11-20.md#s-1", "Sources": "s-1#m1, s-9#m1"}
    item = proposed(home, now, Entry(id="KD-0002", title="The rate is limited", fields=fields))
    found = grounds_of(home, item, now)
    assert found.statement == "The rate is limited"
    assert found.commit == EvidenceCommit(short=name, subject="api: limit the rate", files=("limits.py",))
    assert [(turn.source, turn.found, turn.text) for turn in found.turns] == [
        ("s-1#m1", True, "I limited it."),
        ("s-9#m1", False, ""),
    ]
    assert found.replaces == ""


def test_an_entry_whose_repository_is_gone_has_no_commit(home: Home, now: datetime) -> None:
    said = Message(session="s-1", id="m1", ts="2026-11-20T10:00:00", content="I limited it.", cwd="/no/such/folder")
    transcript.append(home, "s-1", [said], actor="import", now=now)
    fields = {"Evidence": "verified, commit abc1234", "Sources": "s-1#m1"}
    item = proposed(home, now, Entry(id="KD-0002", title="The rate is limited", fields=fields))
    found = grounds_of(home, item, now)
    assert (found.commit, found.evidence) == (None, "verified, commit abc1234")


def test_the_entry_that_would_be_superseded_is_found(home: Home, now: datetime) -> None:
    newer = Entry(id="KD-0002", date="2026-11-02", title="The beds are of larch", fields={"Origin": "user"})
    item = proposed(home, now, newer, waits_as="KD-0001", Ends="supersede KD-0001 KD-0002", Asks="0" * 32)
    found = grounds_of(home, item, now)
    assert (item.ends, found.replaces, found.statement) == ("supersede", OLDER.title, newer.title)
