"""The prompts of a day are summed up from the event log, also those that older versions recorded."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from agent_home.events.recording import record_event
from agent_home.home import Home
from interfaces.page.views import prompt_figures
from interfaces.page.views.prompt_figures import DayOfPrompts, days_of_prompts


def test_a_day_has_its_median_and_its_highest(home: Home, now: datetime) -> None:
    for tokens, recall_ms in ((100, 10.0), (300, 30.0), (200, 20.0)):
        record_event(home, "prompt", now=now, tokens=tokens, recall_ms=recall_ms)
    record_event(home, "append", now=now, rows=3, tokens=9)
    days = days_of_prompts(home, now - timedelta(days=1), now.tzinfo)
    assert days == {
        now.date(): DayOfPrompts(prompts=3, tokens=200, most_tokens=300, recall_ms=20.0, high_recall_ms=30.0)
    }  # fmt: skip


def test_a_prompt_without_a_time_of_recall_has_tokens(home: Home, now: datetime) -> None:
    record_event(home, "prompt", now=now, tokens=100)
    assert days_of_prompts(home, now, now.tzinfo) == {now.date(): DayOfPrompts(prompts=1, tokens=100, most_tokens=100)}


def test_days_are_those_of_the_zone_and_begin_with_the_first(home: Home, now: datetime) -> None:
    late = now.replace(hour=23)
    for moment in (late - timedelta(days=2), late):
        record_event(home, "prompt", now=moment, tokens=1)
    east = timezone(timedelta(hours=8))
    assert list(days_of_prompts(home, now - timedelta(days=1), east)) == [late.date() + timedelta(days=1)]


@pytest.mark.parametrize("value", ["5", None, True, -1, 1e300, [1], {"a": 1}])
def test_a_figure_that_is_none_is_left_out(home: Home, now: datetime, value: object) -> None:
    record_event(home, "prompt", now=now, tokens=100, recall_ms=1)
    log = home.machine / "events.jsonl"
    row = json.loads(log.read_text().splitlines()[-1])
    row["details"] |= {"tokens": value, "recall_ms": value}
    log.write_text(log.read_text() + json.dumps(row) + "\n{\n")
    (day,) = days_of_prompts(home, now, now.tzinfo).values()
    assert (day.prompts, day.tokens, day.recall_ms) == (2, 100, 1)


def test_only_the_newest_prompts_are_read(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_figures, "MOST_PROMPTS", 2)
    for number in range(4):
        record_event(home, "prompt", now=now + timedelta(days=number), tokens=number)
    assert [day.tokens for day in days_of_prompts(home, now, now.tzinfo).values()] == [2, 3]


def test_a_home_without_a_log_has_no_days(home: Home, now: datetime) -> None:
    (home.machine / "events.jsonl").unlink(missing_ok=True)
    assert days_of_prompts(home, now, now.tzinfo) == {}
