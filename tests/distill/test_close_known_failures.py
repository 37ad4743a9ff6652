"""What went wrong in memory systems before this one, each where no other test stands for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from agent_home import storage
from agent_home.documents import check, daily_log
from agent_home.documents.document import parse
from agent_home.documents.entry import Entry, superseded_by
from agent_home.home import MEMORY, Home
from agent_home.store import transcript
from agent_home.store.gateway import transaction
from distill.close import close, close_all, unclosed
from distill.entries.citation import cite
from distill.entries.decay import archive
from distill.entries.recurrence import standing_log_lines
from distill.nightly import distill_home
from distill.summary.daily_section import HEADINGS, render_body
from distill.summary.extraction import summarise

if TYPE_CHECKING:
    from .conftest import Talk


def memory(home: Home) -> dict[str, Entry]:
    return {entry.id: entry for entry in parse(storage.read_text(home.root / MEMORY)).entries()}


def add(home: Home, now: datetime, *entries: tuple[str, Entry]) -> None:
    with transaction(home, actor="test", message="Add", now=now) as edits:
        document = edits.read(MEMORY)
        for section, entry in entries:
            document = document.with_entry(section, entry)
        edits.write(MEMORY, document)


def say(home: Home, talk: Talk, session: str, *rows: tuple[str, str], first: int = 1) -> None:
    messages = talk(*rows, session=session, first=first)
    transcript.append(home, session, messages, actor="test", now=datetime.fromisoformat("2026-11-20T15:00:00+00:00"))


def test_a_purely_chinese_batch_stays_as_many_entries_as_were_said(home: Home, talk: Talk, now: datetime) -> None:
    """Fingerprints of Latin words alone took any two Chinese entries for the same."""
    said = ("合同由法务先看。", "发布改到周四。", "索引放在本机。", "预算每月检查一次。")
    say(home, talk, "zh", *(("user", f"决定：{text}") for text in said))
    closed = close(home, "zh", now=now)
    assert len(closed.entries) == len(said)
    assert distill_home(home, now=now).merged == ()
    assert len(memory(home)) == len(said)


def test_lines_of_provenance_that_are_alike_are_kept_in_every_entry(home: Home, now: datetime) -> None:
    """Repeated lines were taken out of the file, and with them where entries came from."""
    fields = {"Evidence": "verified, commit 3f9c2e1", "Sources": "s#m1"}
    entries = [Entry(id=f"LL-000{n}", date="2026-11-01", title=title, fields=fields)
               for n, title in enumerate(("Warm the cache.", "Ask legal first.", "Lock the parser."))]  # fmt: skip
    add(home, now, *(("Lessons Learned", entry) for entry in entries))
    distill_home(home, now=now)
    assert [dict(entry.fields) for entry in memory(home).values()] == [fields] * 3


def test_archiving_an_entry_takes_no_line_that_only_mentions_it(home: Home, now: datetime) -> None:
    """Every line that held the words went."""
    add(
        home, now,
        ("Lessons Learned", Entry(id="LL-0001", date="2026-01-01", title="Warm the cache")),
        ("Lessons Learned", Entry(id="LL-0002", date="2026-11-01", title="Warm the cache twice", body="as [LL-0001]")),
        ("Key Decisions", Entry(id="KD-0001", date="2026-01-01", title="Warm the cache", detail="Warm the cache")),
    )  # fmt: skip
    assert [one.id for one in archive(home, now=now, apply=True).candidates] == ["LL-0001"]
    assert memory(home)["KD-0001"].detail == "Warm the cache"
    assert memory(home)["LL-0002"].body == "as [LL-0001]"


def test_superseding_marks_the_entry_meant_and_no_other_with_the_same_lines(home: Home, now: datetime) -> None:
    """The mark went to the first identical line of the file."""
    alike = {"Sources": "s#m1"}
    add(
        home, now,
        ("Key Decisions", Entry(id="KD-0001", date="2026-11-01", title="We deploy billing on Monday.", fields=alike)),
        ("Key Decisions", Entry(id="KD-0002", date="2026-11-01", title="We deploy search on Monday.", fields=alike)),
        ("Key Decisions", Entry(id="KD-0003", date="2026-11-09",
                                title="We deploy billing on Thursday instead of Monday.", fields={"Sources": "t#m1"})),
    )  # fmt: skip
    distill_home(home, now=now)
    assert superseded_by(memory(home).values()) == {"KD-0001": "KD-0003"}
    assert dict(memory(home)["KD-0002"].fields) == alike


def test_a_comment_in_the_file_hides_no_mark_of_an_entry(home: Home, now: datetime) -> None:
    """Comments were stripped before entries were read, and with them what was superseded."""
    text = storage.read_text(home.root / MEMORY).replace("## Key Decisions", "<!-- note -->\n\n## Key Decisions")
    (home.root / MEMORY).write_text(text)
    older = Entry(id="KD-0001", date="2026-01-01", title="Monday", fields={"Superseded-By": "KD-0002"})
    add(home, now, ("Key Decisions", older), ("Key Decisions", Entry(id="KD-0002", date="2026-11-01", title="Friday")))
    assert [one.id for one in distill_home(home, now=now).archived] == ["KD-0001"]
    assert "<!-- note -->" in storage.read_text(home.root / MEMORY)


def test_a_reference_means_the_same_entry_after_others_were_put_on_top(home: Home, now: datetime) -> None:
    """Ids were positions: every new entry made references point elsewhere."""
    add(home, now, ("Lessons Learned", Entry(id="LL-0001", date="2026-01-01", title="Kept")))
    cite(home, ["LL-0001"], now=now)
    old = [Entry(id=f"LL-001{n}", date="2026-01-01", title=f"Old {n}") for n in range(3)]
    add(home, now, *(("Lessons Learned", entry) for entry in old))
    assert {one.id for one in distill_home(home, now=now).archived} == {entry.id for entry in old}
    assert "LL-0001" in memory(home)


def test_a_session_that_is_closed_at_every_pause_says_each_thing_once(home: Home, talk: Talk, now: datetime) -> None:
    """Every idle period summarised the whole session again."""
    for number in range(1, 5):
        say(home, talk, "long", ("user", f"Decision: part {number} ships in week {number}."), first=number)
        distill_home(home, now=now + timedelta(hours=number))
    text = storage.read_text(home.root / daily_log.daily_path("2026-11-20"))
    assert len({text.count(f"part {number} ships") for number in range(1, 5)}) == 1
    assert sum("ships in week" in entry.text for entry in memory(home).values()) == 4
    assert len(daily_log.closings(home)) == 4


def test_a_later_session_of_a_day_that_was_distilled_is_distilled_too(home: Home, talk: Talk, now: datetime) -> None:
    """A day was marked as done, and what was said later that day never counted."""
    for session, what in (("one", "the release ships on Monday"), ("two", "legal reads every contract")):
        say(home, talk, session, ("user", f"Decision: {what}."))
        assert distill_home(home, now=now).sessions == (session,)
    assert len(memory(home)) == 2


def test_sessions_are_found_in_every_folder_of_every_month(home: Home, talk: Talk, now: datetime) -> None:
    """A search that did not look into folders found no transcript at all, and one of a hundred and sixty files."""
    for year, month in ((2024, 2), (2025, 12), (2026, 11)):
        day = f"{year}-{month:02d}-03"
        messages = talk(("user", f"Decision: plan {year} stands."), session=f"s{year}", day=day)
        transcript.append(home, f"s{year}", messages, actor="test", now=now)
    assert unclosed(home) == ["s2024", "s2025", "s2026"]
    assert len(close_all(home, now=now).closed) == 3


def test_every_heading_and_line_that_the_daily_log_writes_is_read_back(talk: Talk) -> None:
    """What wrote the log and what read it spelled a heading differently, so nothing was ever resolved."""
    labels = ("Conclusion", "Decision", "Lesson", "Root cause", "Next step")
    rows = [("user", f"{label}: the {word} needs another look today.")
            for label, word in zip(labels, ("cedar", "ember", "fjord", "maple", "onyx"), strict=True)]  # fmt: skip
    summary = summarise(talk(*rows), [])
    body = render_body(summary, {}, 36)
    covers = "## 10:00 T (s-000001)\n\nSession: `fc-1` messages 1-5, bytes 0-9\n\n"
    read = {line.text.removesuffix(".") for line in standing_log_lines(covers + body) if line.sources}
    assert {item.text.removesuffix(".") for item in summary.items} == read
    assert len(read) == len(labels)
    assert {f"### {HEADINGS[item.kind]}" for item in summary.items} <= set(body.splitlines())


@pytest.mark.parametrize("nights", [1, 3])
def test_no_night_leaves_a_file_that_check_would_name(home: Home, talk: Talk, now: datetime, nights: int) -> None:
    for number in range(nights):
        say(home, talk, f"s{number}", ("user", f"Decision: use plan {number}."), ("assistant", "Lesson: ask first."))
        distill_home(home, now=now + timedelta(days=40 * number))
    assert check.problems(home) == []
