"""What was corrected is counted by kind, day and topic."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from agent_home.documents.entry import Entry
from agent_home.git import history
from agent_home.git.entries.entry_events import CommitActs, entry_histories
from agent_home.home import Home
from agent_home.store.gateway import transaction
from interfaces.page.views.corrections import KINDS, EntryCorrection, corrected_entries, topic_rows


def entry(name: str, title: str, date: str = "2026-11-20", detail: str = "", **fields: str) -> Entry:
    named = {key.replace("_", "-"): value for key, value in fields.items()}
    return Entry(id=name, title=title, date=date, detail=detail, fields=named)


def write(home: Home, now: datetime, *entries: Entry, file: str = "MEMORY.md", section: str = "Key Decisions") -> None:
    with transaction(home, actor="close", message="Close", now=now) as edits:
        edits.write(file, edits.read(file).with_entries([(section, made) for made in entries]))


def found(home: Home, now: datetime) -> list[tuple[str, str, str]]:
    commits = entry_histories(home.root, history.head(home.root)).by_commit()
    made = corrected_entries(home, commits, now.date() - timedelta(days=89), now.date(), now.tzinfo)
    return [(item.day.isoformat(), item.kind, item.text) for item in made]


def test_a_correction_counts_on_each_day_on_which_it_was_made(home: Home, now: datetime) -> None:
    detail = "Wrong: Port 80\nOccurrences: 3 (2026-11-18, 2026-11-20)"
    made = entry("CR-0001", "The port is 8080", detail=detail, Sources="s-1#m1")
    write(home, now, made, file="EVOLUTION.md", section="Corrections")
    assert [(day, kind) for day, kind, _ in found(home, now)] == [
        ("2026-11-20", "corrected"), ("2026-11-18", "corrected"),
    ]  # fmt: skip


def test_superseded_and_retracted_entries_count_on_the_day_of_their_end(home: Home, now: datetime) -> None:
    write(
        home, now, entry("KD-0001", "Ship on Monday", "2026-11-01"),
        entry("KD-0002", "Ship on Friday", "2026-11-19", Supersedes="KD-0001"),
        entry("KD-0003", "Use tabs", "2026-11-02", State="retracted 2026-11-18, s-1#m4: no tabs"),
        entry("KD-0004", "Fix the tap", "2026-11-02", State="resolved 2026-11-18"),
    )  # fmt: skip
    assert found(home, now) == [
        ("2026-11-19", "superseded", "Ship on Monday"), ("2026-11-18", "taken back", "Use tabs"),
    ]  # fmt: skip


def test_a_contradicted_claim_counts_on_the_day_of_its_last_commit(home: Home, now: datetime) -> None:
    write(home, now, entry("KD-0001", "Fixed it", "2026-11-01", Evidence="contradicted, no such commit"))
    today = datetime.now(UTC)  # commits have the time of the machine
    assert found(home, today) == [(today.date().isoformat(), "contradicted", "Fixed it")]


def test_an_edit_by_hand_counts_and_one_of_the_agent_does_not(home: Home, now: datetime) -> None:
    write(home, now, entry("KD-0001", "Ship on Monday"), entry("KD-0002", "Use tabs"))
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("Monday", "Tuesday"))
    with transaction(home, actor="close", message="Close", now=now) as edits:
        edits.write("MEMORY.md", edits.read("MEMORY.md").with_entry_changed(entry("KD-0002", "Use spaces")))
    today = datetime.now(UTC)
    assert found(home, today) == [(today.date().isoformat(), "edited by hand", "Ship on Tuesday")]


def test_what_is_older_than_the_first_day_or_has_no_day_is_left_out(home: Home, now: datetime) -> None:
    write(
        home, now, entry("KD-0001", "Old", "2026-01-01", State="retracted 2026-02-01"),
        entry("KD-0002", "Odd", "2026-11-10", State="retracted"), entry("KD-0003", "None", "", State="retracted"),
        entry("KD-0004", "Later", "2026-12-24", State="retracted"),
    )  # fmt: skip
    path = home.root / "MEMORY.md"
    path.write_text(path.read_text().replace("2026-11-10", "2026-11-31"))
    assert found(home, now) == []


def test_a_file_that_cannot_be_read_hides_no_other(home: Home, now: datetime) -> None:
    write(home, now, entry("KD-0001", "Use tabs", State="retracted 2026-11-18"))
    (home.root / "EVOLUTION.md").write_bytes(b"\xff\xfe")
    commits: list[CommitActs] = []
    (item,) = corrected_entries(home, commits, now.date() - timedelta(days=9), now.date(), now.tzinfo)
    assert item.text == "Use tabs"


def test_entries_are_counted_by_the_topic_that_they_share(now: datetime) -> None:
    texts = ["The deploy window is Friday", "Never deploy on Monday", "The deploy needs two people", "Tabs, not spaces"]
    texts += ["发布窗口是周五", "周一的发布窗口取消"]
    made = [EntryCorrection(day=now.date(), kind=KINDS[at % 2], text=text) for at, text in enumerate(texts)]
    rows = {row.topic: row.counts for row in topic_rows(made)}
    assert rows["deploy"] == (2, 1, 0, 0, 0)
    assert rows["发布窗口"] == (1, 1, 0, 0, 0)
    assert sum(sum(counts) for counts in rows.values()) == len(texts)
    assert list(rows)[-1] == ""


def test_a_term_that_is_as_long_as_a_key_is_no_topic(now: datetime) -> None:
    key = "a1b2c3d4e5f6" * 3
    made = [EntryCorrection(day=now.date(), kind="corrected", text=f"Token {key}") for _ in range(5)]
    assert [row.topic for row in topic_rows(made)] == ["Token"]
    assert [row.topic for row in topic_rows([EntryCorrection(day=now.date(), kind="corrected", text=key)])] == [""]


def test_without_corrections_there_are_no_topics() -> None:
    assert topic_rows([]) == []
