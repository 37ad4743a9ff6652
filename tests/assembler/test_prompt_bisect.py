"""The memory commit that changed what the prompt says is found."""

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
from assembler.prompt_bisect import BisectResult, bisect_prompt, commit_time

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


def turn(home: Home, expected: str, **span: str) -> BisectResult:
    request = Request(message="when do we ship?", now=datetime.fromisoformat("2026-11-21T09:00:00+00:00"))
    return bisect_prompt(home, request, expected, **span)


def test_the_commit_that_brought_a_text_is_found_in_a_few_prompts(home: Home, write: Write) -> None:
    commits = [write(number, f"fact number {number}") for number in range(9)]
    found = turn(home, "Fact  NUMBER 3")
    assert (found.commit, found.says, found.session, found.entries) == (commits[3], True, "s-3", ("KD-0003",))
    assert found.commits == 10
    assert found.looked_at <= 6
    assert found.subject == "Write 3"
    assert any("recall" in line for line in found.degraded)


def test_the_commit_that_took_a_text_away_is_found(home: Home, write: Write) -> None:
    start = write(1, "ship on Monday")
    write(2, "other")
    gone = write(1, "ship on Friday")
    write(3, "more")
    assert (turn(home, "ship on Monday", since=start).commit, turn(home, "ship on Monday", since=start).says) == (
        gone, False,
    )  # fmt: skip


def test_a_text_that_came_and_went_is_found_though_both_ends_are_alike(home: Home, write: Write) -> None:
    write(1, "other")
    write(2, "ship on Monday")
    write(3, "more")
    gone = write(2, "")
    write(4, "most")
    found = turn(home, "ship on Monday")
    assert (found.commit, found.says) == (gone, False)


def test_where_nothing_changed_that_is_said(home: Home, write: Write) -> None:
    write(1, "other")
    never = turn(home, "no such words")
    assert (never.commit, never.says) == ("", False)
    always = turn(home, "<agent-home>")
    assert (always.commit, always.says) == ("", True)


def test_commits_that_no_prompt_is_made_of_are_not_searched(home: Home, write: Write, now: datetime) -> None:
    write(1, "other")
    with transaction(home, actor="test", message="Note", now=now) as edits:
        edits.write("Knowledge/deep/a.txt", "x\n")
    assert turn(home, "other").commits == 2
    assert turn(home, "other", until="HEAD~2").commit == ""


def test_a_commit_has_a_time_and_what_is_none_is_an_error(home: Home, write: Write) -> None:
    write(1, "other")
    assert abs(commit_time(home, "HEAD") - datetime.now().astimezone()) < timedelta(days=1)
    for revision in ("nothing", "--help"):
        with pytest.raises(HistoryError, match="no revision"):
            commit_time(home, revision)
    assert commit_time(home, head(home.root)) == commit_time(home, "HEAD")


def test_the_question_counts_when_memory_is_over_its_share(home: Home, now: datetime) -> None:
    """Of many entries only those that matter for the message are shown in full."""

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
