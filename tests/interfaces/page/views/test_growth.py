"""Entries are counted by the day of the owner, from the acts of commits."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

from agent_home.git.entries.entry_events import CommitActs
from interfaces.page.views.growth import DayOfEntries, days_of_entries, weeks_of_entries

TODAY = date(2026, 11, 21)


def commit(ts: str, *acts: tuple[str, str, str]) -> CommitActs:
    return CommitActs(ts=ts, actor="close", acts=acts)


def added(name: str, file: str = "MEMORY.md") -> tuple[str, str, str]:
    return name, "added", file


def counts(days: list[DayOfEntries]) -> list[tuple[int, int, int]]:
    return [(day.memory, day.lessons, day.archive) for day in days]


def test_each_day_has_the_entries_of_its_end() -> None:
    commits = [
        commit("2026-11-10T09:00:00+00:00", added("KD-0001")),
        commit("2026-11-19T09:00:00+00:00", added("KD-0002"), added("CR-0001", "EVOLUTION.md")),
        commit("2026-11-21T08:00:00+00:00", ("KD-0001", "archived", "Archive/MEMORY-2026-11.md")),
        commit(
            "2026-11-21T09:00:00+00:00", ("KD-0002", "changed", "MEMORY.md"), ("CR-0001", "removed", "EVOLUTION.md")
        ),
    ]
    days = days_of_entries(commits, date(2026, 11, 18), TODAY, UTC)
    assert [day.day.day for day in days] == [18, 19, 20, 21]
    assert counts(days) == [(1, 0, 0), (2, 1, 0), (2, 1, 0), (1, 0, 1)]
    assert [(day.archived, day.restored, day.removed) for day in days] == [(0, 0, 0)] * 3 + [(1, 0, 1)]


def test_a_restored_entry_is_in_memory_again() -> None:
    commits = [
        commit("2026-11-20T09:00:00+00:00", added("KD-0001", "Archive/MEMORY-2026-10.md")),
        commit("2026-11-21T09:00:00+00:00", ("KD-0001", "restored", "MEMORY.md")),
    ]
    assert counts(days_of_entries(commits, date(2026, 11, 20), TODAY, UTC)) == [(0, 0, 1), (1, 0, 0)]


def test_days_are_those_of_the_zone() -> None:
    late = [commit("2026-11-20T23:30:00+00:00", added("KD-0001"))]
    first = date(2026, 11, 20)
    assert counts(days_of_entries(late, first, TODAY, UTC)) == [(1, 0, 0), (1, 0, 0)]
    assert counts(days_of_entries(late, first, TODAY, timezone(timedelta(hours=8)))) == [(0, 0, 0), (1, 0, 0)]


def test_a_wrong_clock_moves_no_other_commit() -> None:
    commits = [
        commit("2026-11-19T09:00:00+00:00", added("KD-0001")),
        commit("2999-01-01T00:00:00+00:00", added("KD-0002")),
        commit("0001-01-01T00:00:00+14:00", added("KD-0003")),
        commit("no time", added("KD-0004")),
        commit("2026-11-20T09:00:00+00:00", added("KD-0005")),
    ]
    assert counts(days_of_entries(commits, date(2026, 11, 18), TODAY, UTC)) == [
        (0, 0, 0), (4, 0, 0), (5, 0, 0), (5, 0, 0),
    ]  # fmt: skip


def test_an_entry_that_came_twice_counts_once() -> None:
    commits = [
        commit("2026-11-20T09:00:00+00:00", added("KD-0001")),
        commit("2026-11-20T10:00:00+00:00", added("KD-0001")),
        commit("2026-11-21T09:00:00+00:00", ("KD-0001", "removed", "MEMORY.md"), ("KD-0009", "removed", "MEMORY.md")),
    ]
    assert counts(days_of_entries(commits, date(2026, 11, 20), TODAY, UTC)) == [(1, 0, 0), (0, 0, 0)]


def test_a_home_without_commits_has_days() -> None:
    assert counts(days_of_entries([], TODAY, TODAY, UTC)) == [(0, 0, 0)]


def test_weeks_end_today() -> None:
    commits = [
        commit(f"{datetime(2026, 11, day, 12, tzinfo=UTC).isoformat()}", (f"KD-00{day}", "archived", "Archive/M.md"))
        for day in range(10, 22)
    ]
    weeks = weeks_of_entries(days_of_entries(commits, date(2026, 11, 10), TODAY, UTC))
    assert [(week.first.day, week.archived) for week in weeks] == [(10, 5), (15, 7)]
