"""Test the search for the commit that changed what the prompt says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from agent_home.documents.entry import Entry
from agent_home.errors import HistoryError
from agent_home.git.history import head
from agent_home.home import Home
from agent_home.store.gateway import transaction
from assembler.prompt import Request
from interfaces.prompt_bisect import BisectResult, bisect_prompt, commit_time

Write = Callable[[int, str], str]


@pytest.fixture
def write(home: Home, now: datetime) -> Write:
    """Write an entry, or with an empty text take it away, in a commit of its own."""

    def entry(number: int, title: str) -> str:
        entry_id = f"KD-000{number}"
        with transaction(home, actor="test", message=f"Write {number}", session=f"s-{number}", now=now) as edits:
            document = edits.read("MEMORY.md")
            if not title:
                edits.write("MEMORY.md", document.without_entry(entry_id))
            elif document.entry(entry_id):
                edits.write("MEMORY.md", document.with_entry_changed(Entry(id=entry_id, title=title)))
            else:
                edits.write("MEMORY.md", document.with_entry("Key Decisions", Entry(id=entry_id, title=title)))
        return edits.outcome.commit or ""

    return entry


def bisect(home: Home, expected: str, **span: str) -> BisectResult:
    request = Request(message="when do we ship?", now=datetime.fromisoformat("2026-11-21T09:00:00+00:00"))
    return bisect_prompt(home, request, expected, **span)


def test_the_commit_that_added_a_text_is_found_in_a_few_prompts(home: Home, write: Write) -> None:
    commits = [write(number, f"fact number {number}") for number in range(9)]
    found = bisect(home, "Fact  NUMBER 3")
    assert (found.commit, found.says, found.session, found.entries) == (commits[3], True, "s-3", ("KD-0003",))
    assert found.commits == 10
    assert found.looked_at <= 6
    assert found.subject == "Write 3"
    assert any("recall" in line for line in found.degraded)


def test_the_commit_that_removed_a_text_is_found(home: Home, write: Write) -> None:
    start = write(1, "ship on Monday")
    write(2, "other")
    gone = write(1, "ship on Friday")
    write(3, "more")
    assert (bisect(home, "ship on Monday", since=start).commit, bisect(home, "ship on Monday", since=start).says) == (
        gone, False,
    )  # fmt: skip


def test_a_text_added_and_removed_is_found_although_both_ends_agree(home: Home, write: Write) -> None:
    write(1, "other")
    write(2, "ship on Monday")
    write(3, "more")
    gone = write(2, "")
    write(4, "most")
    found = bisect(home, "ship on Monday")
    assert (found.commit, found.says) == (gone, False)


def test_a_range_without_a_change_is_reported(home: Home, write: Write) -> None:
    write(1, "other")
    never = bisect(home, "no such words")
    assert (never.commit, never.says) == ("", False)
    always = bisect(home, "<agent-home>")
    assert (always.commit, always.says) == ("", True)


def test_commits_of_other_files_are_not_searched(home: Home, write: Write, now: datetime) -> None:
    write(1, "other")
    with transaction(home, actor="test", message="Note", now=now) as edits:
        edits.write("Knowledge/deep/a.txt", "x\n")
    assert bisect(home, "other").commits == 2
    assert bisect(home, "other", until="HEAD~2").commit == ""


def test_a_commit_has_a_time_and_an_unknown_revision_is_an_error(home: Home, write: Write) -> None:
    write(1, "other")
    assert abs(commit_time(home, "HEAD") - datetime.now().astimezone()) < timedelta(days=1)
    for revision in ("nothing", "--help"):
        with pytest.raises(HistoryError, match="no revision"):
            commit_time(home, revision)
    assert commit_time(home, head(home.root)) == commit_time(home, "HEAD")


def test_the_message_matters_when_memory_is_over_its_share(home: Home, now: datetime) -> None:
    """Show only entries that match the message in full."""

    def write(entries: list[Entry], message: str) -> str:
        with transaction(home, actor="test", message=message, now=now) as edits:
            document = edits.read("MEMORY.md").with_entries([("Lessons Learned", entry) for entry in entries])
            edits.write("MEMORY.md", document)
        return edits.outcome.commit or ""

    def entry(number: int, title: str, body: str, date: str = "2026-11-20") -> Entry:
        return Entry(id=f"LL-{number:04d}", date=date, title=title, body=body)

    write([entry(n, f"Number {n}", f"word{n} " * 60) for n in range(120)], "Fill")
    zeppelin = "the zeppelin needs a permit " + "and more " * 70
    brought = write([entry(900, "The zeppelin", zeppelin, "2026-10-01")], "Bring it")
    write([entry(n, f"Number {n}", f"word{n} " * 60) for n in range(200, 320)], "Bury it")
    about = Request(message="what does the zeppelin need?", window=32_000, now=now)
    found = bisect_prompt(home, about, "the zeppelin needs a permit")
    assert (found.commit, found.says) == (brought, True)
    others = " ".join(f"word{number}" for number in range(60))
    assert not bisect_prompt(home, replace(about, message=others), "the zeppelin needs a permit").says
