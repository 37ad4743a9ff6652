"""Sessions have the watermark of their furthest closing, by the daily log and by this machine's record."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent_home.documents import daily_log
from agent_home.documents.daily_log import Closing, anchor_of
from agent_home.home import Home
from agent_home.store import closings, transcript
from agent_home.store.transcript import Message


def made(session: str, start: int, end: int) -> Closing:
    return Closing(session=session, date="2026-11-20", time="10:00", title="T", first=1, last=2, start=start, end=end)


def file(home: Home, *sections: str) -> None:
    path = home.root / daily_log.daily_path("2026-11-20")
    path.parent.mkdir(exist_ok=True)
    path.write_text("# 2026-11-20\n\n" + "\n".join(sections), encoding="utf-8")


def test_the_larger_watermark_counts(home: Home, now: datetime) -> None:
    file(home, *(daily_log.render_closing(made(name, 0, 50), "- x") for name in ("a", "b")))
    closings.record(home, made("a", 0, 80), "c0ffee", now)
    closings.record(home, made("a", 0, 70), "c0ffee", now)
    closings.record(home, made("b", 0, 10), None, now)
    ends = closings.closed_ends(home)
    assert [ends.of(name) for name in ("a", "b", "never")] == [80, 50, 0]
    assert closings.recorded_end(home, "a") == 80
    assert closings.closed_ends(home, "2026-11-21").of("b") == 10


@pytest.mark.parametrize("session", ["a\nb", "`c`", "50%", "lone \ud800", "会话"])
def test_any_name_is_found_again_in_both(home: Home, session: str, now: datetime) -> None:
    file(home, daily_log.render_closing(made(session, 0, 50), "- x"))
    assert closings.closed_ends(home).of(session) == 50
    closings.record(home, made(session, 50, 90), None, now)
    assert closings.closed_ends(home).of(session) == 90


def test_a_name_that_the_guard_took_away_is_known_by_its_anchor(home: Home) -> None:
    section = daily_log.render_closing(made("secret", 7, 50), "- x").replace("`secret`", "`[REDACTED:credential]`")
    file(home, section)
    assert anchor_of("secret", 7) in section
    ends = closings.closed_ends(home)
    assert (ends.of("secret"), ends.of("other"), ends.of("[REDACTED:credential]")) == (50, 0, 0)


def test_lines_that_are_no_record_are_passed_over(home: Home, now: datetime) -> None:
    closings.record(home, made("a", 0, 80), None, now)
    with (home.machine / "closings.jsonl").open("ab") as record:
        record.write(b'[]\n{"session": "a"}\n\xff\n{"session": "a", "end": "900"}\n{"session": "a", "end": 9')
    assert closings.recorded_end(home, "a") == 80
    closings.record(home, made("a", 80, 90), None, now)
    assert closings.recorded_end(home, "a") == 90


def said(home: Home, session: str, *days: str) -> None:
    messages = [
        Message(session=session, id=f"m{number}", ts=f"{day}T10:00:00+00:00" if day else "", content="x")
        for number, day in enumerate(days)
    ]
    transcript.append(home, session, messages, actor="test", now=datetime(2026, 11, 20, tzinfo=UTC))


def test_open_sessions_are_those_with_turns_that_nothing_covers_oldest_first(home: Home, now: datetime) -> None:
    for session, day in (
        ("late", "2026-11-20"),
        ("early", "2026-11-18"),
        ("done", "2026-11-19"),
        ("old", "2026-11-20"),
    ):
        said(home, session, day)
    sizes = {one.session: one.size for one in transcript.sessions(home)}
    closings.record(home, made("done", 0, sizes["done"]), "c0ffee", now)
    file(home, daily_log.render_closing(made("old", 0, sizes["old"]), "- closed on another machine"))
    assert [session for session, _ in closings.open_sessions(home)] == ["early", "late"]
    said(home, "done", "2026-11-19", "2026-11-20")
    assert [(session, [turn.message.id for turn in turns]) for session, turns in closings.open_sessions(home)] == [
        ("early", ["m0"]), ("done", ["m1"]), ("late", ["m0"]),
    ]  # fmt: skip


def test_what_this_machine_closed_is_known_without_reading_a_daily_log(
    home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(home, "done", "2026-11-20")
    (one,) = transcript.sessions(home)
    closings.record(home, made("done", 0, one.size), "c0ffee", now)
    monkeypatch.setattr(closings, "daily_files", None)
    assert closings.open_sessions(home) == []


def test_only_days_are_read_under_which_what_is_open_can_be_filed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = closings.closed_ends

    def watched(home: Home, since: str) -> closings.ClosedEnds:
        asked.append(since)
        return real(home, since)

    monkeypatch.setattr(closings, "closed_ends", watched)
    said(home, "one", "2026-11-20")
    assert [session for session, _ in closings.open_sessions(home)] == ["one"]
    said(home, "timeless", "")
    assert len(closings.open_sessions(home)) == 2
    assert asked == ["2026-11-18", ""]
