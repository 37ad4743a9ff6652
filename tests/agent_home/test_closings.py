"""How far a session is closed, by the daily log and by the machine's own record."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_home import closings, journal
from agent_home.home import Home
from agent_home.journal import Closing, anchor_of


def made(session: str, start: int, end: int) -> Closing:
    return Closing(session=session, date="2026-11-20", time="10:00", title="T", first=1, last=2, start=start, end=end)


def file(home: Home, *sections: str) -> None:
    path = home.root / journal.daily_path("2026-11-20")
    path.parent.mkdir(exist_ok=True)
    path.write_text("# 2026-11-20\n\n" + "\n".join(sections), encoding="utf-8")


def test_the_larger_watermark_counts(home: Home, now: datetime) -> None:
    file(home, *(journal.render_closing(made(name, 0, 50), "- x") for name in ("a", "b")))
    closings.record(home, made("a", 0, 80), "c0ffee", now)
    closings.record(home, made("a", 0, 70), "c0ffee", now)
    closings.record(home, made("b", 0, 10), None, now)
    ends = closings.closed_ends(home)
    assert [ends.of(name) for name in ("a", "b", "never")] == [80, 50, 0]
    assert closings.recorded_end(home, "a") == 80
    assert closings.closed_ends(home, "2026-11-21").of("b") == 10


@pytest.mark.parametrize("session", ["a\nb", "`c`", "50%", "lone \ud800", "会话"])
def test_any_name_is_found_again_in_both(home: Home, session: str, now: datetime) -> None:
    file(home, journal.render_closing(made(session, 0, 50), "- x"))
    assert closings.closed_ends(home).of(session) == 50
    closings.record(home, made(session, 50, 90), None, now)
    assert closings.closed_ends(home).of(session) == 90


def test_a_name_that_the_guard_took_away_is_known_by_its_anchor(home: Home) -> None:
    section = journal.render_closing(made("secret", 7, 50), "- x").replace("`secret`", "`[REDACTED:credential]`")
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
