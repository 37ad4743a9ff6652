"""Evidence is what git said, with the commit's subject and files where its repository is on this machine."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents.entry import Entry
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from interfaces.page.views.evidence import evidence_of
from tests.interfaces.page.hostile import Repository, hostile


def entry(evidence: str, sources: str = "s-1#m1") -> Entry:
    return Entry(id="KD-0001", date="2026-11-20", title="T", fields={"Evidence": evidence, "Sources": sources})


@pytest.fixture
def commit(home: Home, tmp_path: Path, now: datetime) -> str:
    """The commit of a repository in which a session worked."""
    work = Repository(tmp_path / "work")
    made = work.commit({f"file-{number:02d}.py": "1" for number in range(25)}, hostile("subject"))
    said = Message(session="s-1", id="m1", ts="2026-11-20T10:00:00", content="Done.", cwd=str(work.root))
    transcript.append(home, "s-1", [said], actor="import", now=now)
    return made


def test_a_commit_on_this_machine_has_its_subject_and_files(home: Home, commit: str, now: datetime) -> None:
    found = evidence_of(home, entry(f"verified, commit {commit[:8]}"), now)
    assert found is not None
    assert (found.state, found.commit, found.subject) == ("verified", commit[:8], hostile("subject"))
    assert (len(found.files), found.more) == (20, 5)


@pytest.mark.parametrize("sources", ["", "s-2#m1", "#", "../s-1#m1", "s-1", "\0#m1", ",,,#,"])
def test_a_commit_of_no_known_session_is_named_alone(home: Home, commit: str, now: datetime, sources: str) -> None:
    found = evidence_of(home, entry(f"verified, commit {commit[:8]}", sources), now)
    assert found is not None
    assert (found.commit, found.subject, found.files) == (commit[:8], "", ())


def test_a_commit_that_is_not_there_is_named_alone(home: Home, commit: str, now: datetime) -> None:
    found = evidence_of(home, entry("verified, commit 0123abc"), now)
    assert found is not None
    assert (found.commit, found.subject) == ("0123abc", "")


@pytest.mark.parametrize(
    "field", ["", "none", "verified, commit --all", "verified, commit HEAD", "verified, commit 'x'", "\0", "<x>"]
)
def test_no_other_words_are_evidence(home: Home, now: datetime, field: str) -> None:
    found = evidence_of(home, entry(field), now)
    assert found is None or found.commit == ""


def test_the_field_of_a_proposal_counts_in_place_of_the_entrys_own(home: Home, now: datetime) -> None:
    found = evidence_of(home, entry("verified"), now, field="unverified")
    assert found is not None
    assert found.state == "unverified"
