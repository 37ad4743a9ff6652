"""Show how memory changes over time: its growth, the archive, the prompts, recall, and what was corrected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from markupsafe import Markup

from agent_home.git import history
from agent_home.git.entries.entry_events import entry_histories
from agent_home.home import Home

from ..charts import Chart, Series, line_chart, stacked_bar, table_rows
from ..language import Translate
from .corrections import KINDS, TopicRow, corrected_entries, topic_rows
from .growth import DayOfEntries, day_of, days_of_entries, weeks_of_entries
from .prompt_figures import MOST_PROMPTS, DayOfPrompts, days_of_prompts

__all__ = ["DAYS", "OverTimeView", "TimePanel", "over_time_view"]

#: Days that are shown. The event log is kept as long.
DAYS = 90
_LEAST_DAYS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePanel:
    """A chart of the view, its picture, the table with the same numbers, and a *note* on what it counts."""

    chart: Chart
    picture: Markup
    table: Sequence[tuple[str, ...]]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OverTimeView:
    """The panels of the view, and its *first* and *last* day in the owner's time zone."""

    first: date
    last: date
    panels: tuple[TimePanel, ...]


def over_time_view(home: Home, now: datetime, translate: Translate) -> OverTimeView:
    """Return the last :data:`DAYS` days until *now*, in its time zone. A younger home has fewer, but two weeks.

    Raises:
        HistoryError: git refused.
    """
    last = now.date()
    first = last - timedelta(days=DAYS - 1)
    commits = entry_histories(home.root, history.head(home.root)).by_commit()
    prompts = days_of_prompts(home, datetime.combine(first, time.min, now.tzinfo), now.tzinfo)
    begun = min([*prompts, *filter(None, (day_of(commit.ts, now.tzinfo) for commit in commits[:1]))], default=last)
    first = max(first, min(begun, last - timedelta(days=_LEAST_DAYS - 1)))
    days = days_of_entries(commits, first, last, now.tzinfo)
    every = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    by_day = [prompts.get(day, DayOfPrompts()) for day in every]
    topics = topic_rows(corrected_entries(home, commits, first, last, now.tzinfo))
    panels = (
        _growth(days, translate), _archive(days, translate), _tokens(every, by_day, translate),
        _recall(every, by_day, translate), _corrections(topics, translate),
    )  # fmt: skip
    return OverTimeView(first=first, last=last, panels=panels)


def _panel(draw: Callable[[Chart], Markup], chart: Chart, note: str) -> TimePanel:
    return TimePanel(chart=chart, picture=draw(chart), table=table_rows(chart), note=note)


def _growth(days: Sequence[DayOfEntries], _: Translate) -> TimePanel:
    end = days[-1]
    chart = Chart(
        key="growth", title=_("Growth of memory"), label_name=_("Day"), labels=[day.day.isoformat() for day in days],
        description=_(
            "Entries at the end of each day. Today {memory} in memory, {lessons} lessons and {archive} in the archive.",
            memory=end.memory, lessons=end.lessons, archive=end.archive,
        ),
        series=[
            Series(name=_("Entries in memory"), values=[day.memory for day in days]),
            Series(name=_("Lessons"), values=[day.lessons for day in days]),
            Series(name=_("Entries in the archive"), values=[day.archive for day in days]),
        ],
    )  # fmt: skip
    return _panel(line_chart, chart, _("Entries at the end of each day, from the commits of the home."))


def _archive(days: Sequence[DayOfEntries], _: Translate) -> TimePanel:
    weeks = weeks_of_entries(days)
    moved = any(week.archived or week.restored or week.removed for week in weeks)
    sums = [sum(getattr(day, name) for day in days) for name in ("archived", "restored", "removed")]
    chart = Chart(
        key="archive", title=_("Archive"), label_name=_("Week from"),
        labels=[week.first.isoformat() for week in weeks] if moved else [],
        description=_(
            "Entries of each week. In all, {archived} were archived, {restored} came back and {removed} were removed.",
            archived=sums[0], restored=sums[1], removed=sums[2],
        ),
        series=[
            Series(name=_("archived"), values=[week.archived for week in weeks]),
            Series(name=_("restored"), values=[week.restored for week in weeks]),
            Series(name=_("removed"), values=[week.removed for week in weeks]),
        ],
        empty=_("No entry was archived, restored or removed in these days."),
    )  # fmt: skip
    return _panel(stacked_bar, chart, _("Entries that left memory or came back, by week."))


def _tokens(every: Sequence[date], days: Sequence[DayOfPrompts], _: Translate) -> TimePanel:
    chart = Chart(
        key="tokens", title=_("Tokens of the prompt"), label_name=_("Day"), unit=_("tokens"),
        labels=[day.isoformat() for day in every],
        description=_("Median and largest number of tokens of the prompts of each day."),
        series=[
            Series(name=_("Median"), values=[day.tokens for day in days]),
            Series(name=_("Largest"), values=[day.most_tokens for day in days]),
        ],
        empty=_("No prompt was recorded in these days."),
    )  # fmt: skip
    count = sum(day.prompts for day in days)
    if count == 1:
        text = _("One prompt, from the event log.")
    elif count >= MOST_PROMPTS:
        text = _("The newest {n} prompts, from the event log.", n=count)
    else:
        text = _("{n} prompts, from the event log.", n=count)
    return _panel(line_chart, chart, text)


def _recall(every: Sequence[date], days: Sequence[DayOfPrompts], _: Translate) -> TimePanel:
    chart = Chart(
        key="recall", title=_("Time of recall"), label_name=_("Day"), unit="ms",
        labels=[day.isoformat() for day in every],
        description=_("Median time of recall of each day, and the time that 95 % of the prompts stayed below."),
        series=[
            Series(name=_("Median"), values=[day.recall_ms for day in days]),
            Series(name=_("95 % below"), values=[day.high_recall_ms for day in days]),
        ],
        empty=_("No prompt of these days has a time of recall."),
    )  # fmt: skip
    return _panel(line_chart, chart, _("How long the search for a message took, from the event log."))


def _corrections(rows: Sequence[TopicRow], _: Translate) -> TimePanel:
    chart = Chart(
        key="corrections", title=_("Corrections by topic"), label_name=_("Topic"),
        labels=[row.topic or _("other topics") for row in rows],
        description=_("{n} corrections of entries by topic.", n=sum(sum(row.counts) for row in rows)),
        series=[
            Series(name=_(kind), values=[row.counts[place] for row in rows]) for place, kind in enumerate(KINDS)
        ],
        empty=_("Nothing was corrected in these days."),
    )  # fmt: skip
    note = _(
        "Corrections of the user, entries that were superseded or taken back, claims that git contradicts, "
        "and edits by hand."
    )
    return _panel(stacked_bar, chart, note)
