"""Read the history of an entry, a file and a revision."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from agent_home.documents.entry import Entry
from agent_home.errors import HistoryError, NoSuchRevision
from agent_home.git import commits, history
from agent_home.home import Home
from agent_home.store.gateway import transaction

from ..conftest import AddEntry, Git


def change(home: Home, now: datetime, session: str, **texts: tuple[str, str]) -> str:
    """Replace text in files: ``change(home, now, "s", MEMORY=("old", "new"))``."""
    with transaction(home, actor="test", message=f"In {session}", session=session, now=now) as edits:
        edits.trailer("Evidence", f"verified {session}")
        for name, (old, new) in texts.items():
            path = name.replace("__", "/") + ".md"
            text = edits.text(path)
            edits.write(path, text.replace(old, new) if old else text + new)
    return edits.outcome.commit or ""


def test_the_events_of_an_entry_come_in_order(home: Home, git: Git, now: datetime, add_entry: AddEntry) -> None:
    add_entry("Other")
    line = "- **[KD-7F3A] 2026-11-20 T** - b\n  Evidence: unverified\n"
    commits = [
        change(home, now, "s1", MEMORY=("## Key Decisions\n\n", f"## Key Decisions\n\n{line}")),
        change(home, now, "s2", MEMORY=("T** - b", "T** - c")),
        change(home, now, "s3", MEMORY=("Evidence: unverified", "Evidence: verified")),
    ]
    final = line.replace("- b", "- c").replace("unverified", "verified")
    commits.append(change(home, now, "s4", MEMORY=(final, ""), Archive__M=("", f"## Key Decisions\n\n{final}")))
    commits.append(
        change(home, now, "s5", MEMORY=("## Key Decisions\n\n", f"## Key Decisions\n\n{final}"), Archive__M=(final, ""))
    )
    commits.append(change(home, now, "s6", MEMORY=(final, "")))
    events = history.entry_history(home.root, "KD-7F3A")
    assert [event.commit for event in events] == commits
    assert [event.action for event in events] == ["added", "changed", "changed", "archived", "restored", "removed"]
    assert [event.session for event in events] == ["s1", "s2", "s3", "s4", "s5", "s6"]
    assert [event.evidence for event in events] == [f"verified s{n}" for n in range(1, 7)]
    assert {event.actor for event in events} == {"test"}
    assert events[3].file == "Archive/M.md"
    assert all(datetime.fromisoformat(event.ts).tzinfo for event in events)


def test_an_edit_by_hand_below_the_first_line_is_an_event(home: Home, add_entry: AddEntry, now: datetime) -> None:
    with transaction(home, actor="test", message="m", now=now) as edits:
        entry = Entry(id="KD-7F3A", title="T", fields={"Evidence": "unverified"})
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry("Key Decisions", entry))
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("unverified", "verified"))
    add_entry("Other")
    assert [(e.action, e.actor) for e in history.entry_history(home.root, "KD-7F3A")] == [
        ("added", "test"),
        ("changed", "by hand"),
    ]


@pytest.mark.parametrize("entry_id", ["KD-0000", "", ".*", "KD-7F3A.*", "--all", "KD-....", "x\0y"])
def test_unknown_and_invalid_ids_have_no_history(home: Home, add_entry: AddEntry, entry_id: str) -> None:
    add_entry("T")
    assert history.entry_history(home.root, entry_id) == []


def test_the_users_git_configuration_does_not_change_the_output(home: Home, git: Git, add_entry: AddEntry) -> None:
    for name, value in (
        ("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.ui", "always"),
        ("log.showSignature", "true"),
        ("core.pager", "false"), ("status.short", "true"), ("diff.renames", "copies"), ("core.quotePath",
        "true"), ("commit.verbose", "true"),
        ("commit.gpgsign", "true"), ("core.autocrlf", "true"), ("log.date", "relative"), ("trailer.separators", "#"),
    ):  # fmt: skip
        git("config", name, value)
    commit = add_entry("T", session="fc-1").commit
    (entry_id,) = git("log", "-1", "--format=%B").split("Entries: ")[1].splitlines()[:1]
    (event,) = history.entry_history(home.root, entry_id)
    assert (event.action, event.commit, event.file) == ("added", commit, "MEMORY.md")
    (home.root / "Knowledge" / "中文.md").write_text("x\n")
    assert history.dirty(home.root, ["Knowledge"]) == ["Knowledge/中文.md"]


def test_the_configured_committer_is_kept(home: Home, git: Git, add_entry: AddEntry) -> None:
    add_entry("one")
    assert git("log", "-1", "--format=%an <%ae>").strip() == "agent-home <agent-home@localhost>"
    git("config", "user.name", "Owner")
    git("config", "user.email", "owner@example.org")
    add_entry("two")
    assert git("log", "-1", "--format=%an <%ae>").strip() == "Owner <owner@example.org>"


def test_an_old_text_is_read_byte_for_byte(home: Home, git: Git, now: datetime) -> None:
    first = change(home, now, "s", Knowledge__a=("", "one\r\nzwei — 二\n\n"))
    change(home, now, "s", Knowledge__a=("one", "two"))
    assert history.text_at(home.root, first, "Knowledge/a.md") == "one\r\nzwei — 二\n\n"
    assert history.text_at(home.root, "HEAD", "Knowledge/a.md").startswith("two")
    assert history.text_at(home.root, "HEAD", "Knowledge/none.md") == ""


@pytest.mark.parametrize("revision", ["no-such-branch", "--help", "HEAD~99", ""])
def test_a_missing_revision_is_an_error(home: Home, revision: str) -> None:
    with pytest.raises(HistoryError, match="no revision"):
        history.text_at(home.root, revision, "MEMORY.md")


def test_the_error_for_a_missing_repository_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"memory init|git init"):
        history.head(tmp_path)


def test_before_the_first_commit_there_is_no_head_and_no_history(tmp_path: Path) -> None:
    commits.init(tmp_path)
    assert history.head(tmp_path) == ""
    assert history.entry_history(tmp_path, "KD-7F3A") == []
    commits.init(tmp_path)


@pytest.mark.parametrize("revision", ["^HEAD", "--all", "HEAD:MEMORY.md", "no\0where"])
def test_a_revision_that_is_no_commit_is_refused(home: Home, revision: str) -> None:
    with pytest.raises(NoSuchRevision):
        history.resolve(home.root, revision)
