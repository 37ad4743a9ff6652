"""Count the entries of each day from the commits that added, archived, restored and removed them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo

from agent_home.clock import moment_of
from agent_home.git.entries.entry_events import CommitActs
from agent_home.home import MEMORY

__all__ = ["DayOfEntries", "WeekOfEntries", "day_of", "days_of_entries", "weeks_of_entries"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfEntries:
    """Entries at the end of a day, in *memory*, *lessons* in EVOLUTION.md and *archive*, and those that moved on it."""

    day: date
    memory: int
    lessons: int
    archive: int
    archived: int
    restored: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekOfEntries:
    """Numbers of entries that moved in the seven days from *first* on."""

    first: date
    archived: int
    restored: int
    removed: int


def days_of_entries(commits: Sequence[CommitActs], first: date, last: date, zone: tzinfo | None) -> list[DayOfEntries]:
    """Return the days from *first* to *last*, which is today. Those without commits have the entries of the day before.

    *commits* are oldest first, and days are those of *zone*. A commit with a date before that of the one before it, or
    after today, belongs to the day of the one before it.
    """
    tally, found, before = _EntryCount(), [], date.min
    waiting = list(reversed(commits))
    for day in (first + timedelta(days=number) for number in range((last - first).days + 1)):
        tally.acts.clear()
        while waiting:
            own = day_of(waiting[-1].ts, zone)
            own = before if own is None or own > last else max(before, own)
            if own > day:
                break
            tally.add(waiting.pop(), counts=own == day)
            before = own
        found.append(tally.at(day))
    return found


def weeks_of_entries(days: Sequence[DayOfEntries]) -> list[WeekOfEntries]:
    """Return the weeks that end with the last of *days*. The first one may be shorter."""
    weeks = [days[max(0, end - 7) : end] for end in range(len(days), 0, -7)]
    return [
        WeekOfEntries(
            first=week[0].day, archived=sum(day.archived for day in week), restored=sum(day.restored for day in week),
            removed=sum(day.removed for day in week),
        )
        for week in reversed(weeks)
    ]  # fmt: skip


def day_of(ts: str, zone: tzinfo | None) -> date | None:
    """Return the day of *zone* on which the time *ts* is, or ``None`` for what is no time."""
    try:
        return moment_of(ts).astimezone(zone).date()
    except (ValueError, OverflowError):
        return None


class _EntryCount:
    """Places of all entries, how many there are in each, and the acts of the day."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self.sums: Counter[str] = Counter()
        self.acts: Counter[str] = Counter()

    def add(self, commit: CommitActs, *, counts: bool) -> None:
        """Follow a commit. Its acts count for the day if *counts* is set."""
        for name, action, file in commit.acts:
            if action == "changed":
                continue
            before = self.places.pop(name, "")
            if before:
                self.sums[before] -= 1
            if action != "removed":
                self.places[name] = place = _place(file)
                self.sums[place] += 1
            if counts:
                self.acts[action] += 1

    def at(self, day: date) -> DayOfEntries:
        """Return the counts of now as those of *day*."""
        return DayOfEntries(
            day=day, memory=self.sums["memory"], lessons=self.sums["lessons"], archive=self.sums["archive"],
            archived=self.acts["archived"], restored=self.acts["restored"], removed=self.acts["removed"],
        )  # fmt: skip


def _place(file: str) -> str:
    if file.startswith("Archive/"):
        return "archive"
    return "memory" if file == MEMORY else "lessons"
