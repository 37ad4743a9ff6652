"""The record of the bot survives a restart, a kill in the middle of a line, and does not grow for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.slack import record as module
from interfaces.slack.record import AlreadyInSlack, SlackThread, slack_record


def file(home: Home) -> Path:
    return home.machine / "slack" / "record.jsonl"


def test_what_is_noted_is_known_after_a_restart(home: Home) -> None:
    thread = SlackThread(session="s", channel="C1", thread="1.0", began="1.0", shown=("KD-0001",), told="off")
    with slack_record(home) as record:
        assert record.claim("event Ev1")
        assert not record.claim("event Ev1")
        record.keep(thread)
        record.change("s", audience="owner")
        record.switch_off("C1", "", by="U1", since="5.0")
        record.switch_off("C1", "1.0", by="U2", since="6.0")
        assert {period.by for period in record.open_periods("C1", "1.0")} == {"U1", "U2"}
        assert {period.by for period in record.open_periods("C1", "")} == {"U1"}
        record.switch_on("C1", "1.0", until="9.0")
        record.switch_off("C2", "", by="U1", since="7.0")
    with slack_record(home) as record:
        assert not record.claim("event Ev1")
        assert record.thread("s") == replace(thread, audience="owner", told="")
        assert record.off_period("C1", "1.0", "5.5") is not None
        assert record.off_period("C1", "1.0", "9.0") is None
        assert record.off_period("C1", "2.0", "4.9") is None
        assert record.off_period("C2", "any", "100.0") is not None
    assert file(home).stat().st_mode & 0o077 == 0


def test_a_record_with_a_broken_line_is_read(home: Home) -> None:
    with slack_record(home) as record:
        record.claim("event Ev1")
    with file(home).open("a") as added:
        added.write('{"handled": "event Ev2"}\n[]\n{"thread": {"session": "x"}}\n{"off": {"odd": 1}}\n{"handled": "ev')
    with slack_record(home) as record:
        assert record.knows("event Ev1")
        assert record.knows("event Ev2")
        assert record.threads() == []


def test_one_process_serves_slack_for_a_home(home: Home) -> None:
    with slack_record(home), pytest.raises(AlreadyInSlack), slack_record(home):
        pass


def test_the_record_is_bounded_and_keeps_what_waits(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 2_000)
    monkeypatch.setattr(module, "_MOST_HANDLED", 20)
    monkeypatch.setattr(module, "_MOST_THREADS", 5)
    with slack_record(home) as record:
        for number in range(100):
            record.claim(f"event Ev{number:04d}")
            is_open = number == 0
            record.keep(SlackThread(session=f"s{number}", channel="C", thread="1.0", began="1.0", unclosed=is_open))
        assert file(home).stat().st_size < 4_000
        assert not record.claim("event Ev0099")
    with slack_record(home) as record:
        names = [thread.session for thread in record.threads()]
        assert "s0" in names
        assert names[-1] == "s99"
        assert len(names) <= 6
        assert not record.claim("event Ev0099")
