"""The view over time: five charts with tables, drawn from git and the event log, in the reader's language."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest

from agent_home.documents.entry import Entry
from agent_home.events.recording import record_event
from agent_home.home import Home
from agent_home.store.gateway import transaction
from interfaces.page.language import translation
from interfaces.page.rendering import render
from interfaces.page.views.over_time import DAYS, OverTimeView, TimePanel, over_time_view


@pytest.fixture
def today() -> datetime:
    """The time of the machine, which commits have."""
    return datetime.now(UTC)


@pytest.fixture
def used(home: Home, today: datetime) -> Home:
    """A home with an entry, one that was taken back, and two prompts."""
    held = Entry(id="KD-0001", title="The <deploy> window is Friday", date=today.date().isoformat())
    gone = Entry(id="KD-0002", title="Deploy <b>daily</b>", fields={"State": f"retracted {today.date().isoformat()}"})
    with transaction(home, actor="close", message="Close", now=today) as edits:
        edits.write(
            "MEMORY.md", edits.read("MEMORY.md").with_entries([("Key Decisions", held), ("Key Decisions", gone)])
        )
    record_event(home, "prompt", now=today - timedelta(days=1), tokens=1000)
    record_event(home, "prompt", now=today, tokens=3000, recall_ms=12.5)
    return home


def view(home: Home, now: datetime) -> OverTimeView:
    return over_time_view(home, now, translation("en"))


def panel(home: Home, now: datetime, key: str) -> TimePanel:
    return next(panel for panel in view(home, now).panels if panel.chart.key == key)


def test_the_view_has_two_weeks_of_a_new_home_and_ninety_days_of_an_old_one(used: Home, today: datetime) -> None:
    shown = view(used, today)
    assert (shown.last, (shown.last - shown.first).days) == (today.date(), 13)
    assert (view(used, today + timedelta(days=30)).last - shown.last).days == 30
    later = view(used, today + timedelta(days=200))
    assert (later.last - later.first).days == DAYS - 1
    assert [panel.chart.key for panel in shown.panels] == ["growth", "archive", "tokens", "recall", "corrections"]


def test_growth_ends_with_the_entries_of_today(used: Home, today: datetime) -> None:
    table = panel(used, today, "growth").table
    assert table[-1] == (today.date().isoformat(), "2", "0", "0")
    assert table[1][1] == "0"
    assert len(table) == 15


def test_an_archived_entry_is_counted_in_the_archive(used: Home, today: datetime) -> None:
    with transaction(used, actor="archive", message="Archive", now=today) as edits:
        memory = edits.read("MEMORY.md")
        moved = memory.entry("KD-0001")
        assert moved is not None
        edits.write("MEMORY.md", memory.without_entry("KD-0001"))
        edits.write("Archive/MEMORY-2026-11.md", f"# Archive\n\n## Key Decisions\n\n{moved.render()}")
    assert panel(used, today, "growth").table[-1][1:] == ("1", "0", "1")
    assert panel(used, today, "archive").table[-1][1:] == ("1", "0", "0")


def test_prompts_have_tokens_and_where_recorded_a_time_of_recall(used: Home, today: datetime) -> None:
    tokens, recall = (panel(used, today, key).table for key in ("tokens", "recall"))
    assert [row[1] for row in tokens[-2:]] == ["1 000", "3 000"]
    assert [row[1] for row in recall[-2:]] == ["", "12.5"]


def test_an_entry_that_was_taken_back_is_a_correction(used: Home, today: datetime) -> None:
    table = panel(used, today, "corrections").table
    assert [row[3] for row in table[1:]] == ["1"]
    assert table[0][3] == "taken back"


def test_a_home_that_is_new_shows_that_nothing_happened(home: Home, today: datetime) -> None:
    empty = {panel.chart.key: panel.chart.is_empty for panel in view(home, today).panels}
    assert empty == {"growth": False, "archive": True, "tokens": True, "recall": True, "corrections": True}
    assert "No prompt was recorded" in panel(home, today, "tokens").picture


def test_a_home_without_commits_has_a_view(home: Home, today: datetime) -> None:
    (home.root / ".git" / "HEAD").write_text("ref: refs/heads/none\n")
    assert panel(home, today, "growth").table[-1][1] == "0"


def test_the_page_shows_every_chart_with_its_table_and_escapes_texts(used: Home, today: datetime) -> None:
    text = render(
        "over_time.html", "en", view=view(used, today), tab="over-time", visitor=None, agent="A", languages_links={},
        live=False,
    )  # fmt: skip
    root = ElementTree.fromstring(f"<main>{text}</main>")  # noqa: S314 - made here
    assert len(root.findall("figure")) == 5
    assert all(figure.find(".//{http://www.w3.org/2000/svg}svg") is not None for figure in root.findall("figure"))
    assert len(root.findall(".//table")) == 4
    assert "<b>" not in text
    assert " style=" not in text
    assert "<script" not in text


def test_titles_are_translated(used: Home, today: datetime) -> None:
    def shouted(text: str, /, **values: object) -> str:
        return text.upper() if not values else translation("en")(text, **values)

    first = over_time_view(used, today, shouted).panels[0]
    assert (first.chart.title, first.table[0][0]) == ("GROWTH OF MEMORY", "DAY")
