"""The record of how far transcripts are written: the last row of each counts, and the record is bounded."""

from __future__ import annotations

import pytest

from agent_home.home import Home
from agent_home.store import appended
from agent_home.store.appended import Written


def written(home: Home, name: str, size: int) -> Written:
    return Written(session=name, path=f"sessions/2026/11/{name}.jsonl", size=size)


def test_the_last_row_of_each_transcript_counts(home: Home) -> None:
    for name, size in (("a", 900), ("b", 50), ("a", 10)):
        appended.note(home, written(home, name, size))
    path = home.root / "sessions/2026/11/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * 10)
    assert appended.shortened(home) == [written(home, "b", 50)]
    path.write_bytes(b"x" * 9)
    assert appended.shortened(home) == [written(home, "a", 10), written(home, "b", 50)]


def test_lines_that_are_no_row_are_passed_over(home: Home) -> None:
    appended.note(home, written(home, "a", 10))
    with (home.machine / "appended.jsonl").open("ab") as record:
        record.write(b'[]\n{"path": 3}\n\xff\n{"session": "b", "pa')
    appended.note(home, written(home, "c", 10))
    assert [row.session for row in appended.shortened(home)] == ["a", "c"]


def test_the_record_is_bounded_and_keeps_the_newest(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appended, "MAX_RECORD_BYTES", 1000)
    for number in range(100):
        appended.note(home, written(home, f"s-{number}", 10))
    assert (home.machine / "appended.jsonl").stat().st_size <= 1000
    kept = [row.session for row in appended.shortened(home)]
    assert "s-99" in kept
    assert "s-0" not in kept
