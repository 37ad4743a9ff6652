"""Events are appended whole, in order, under names of their own, and hold nothing secret."""

from __future__ import annotations

import json
import multiprocessing
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_home.events import recording
from agent_home.events.reading import EventFilter, events
from agent_home.events.recording import EventRefused, event_files, log_event, record_event
from agent_home.home import Home
from agent_home.store.gateway import transaction
from distill.forget import forget


def _write_many(root: Path, name: str, count: int) -> None:
    home = Home(root)
    for number in range(count):
        record_event(home, "write", session=name, number=number)


def test_processes_that_write_at_once_lose_nothing_and_keep_the_order_of_each_session(home: Home) -> None:
    spawning = multiprocessing.get_context("spawn")
    writers = [spawning.Process(target=_write_many, args=(home.root, f"s{n}", 200)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = events(home, EventFilter(type="write"), limit=10_000)
    for n in range(4):
        own = [event.details["number"] for event in found if event.session == f"s{n}"]
        assert own == list(range(200))
    assert len({event.id for event in found}) == len(found)


def test_full_files_are_numbered_and_old_ones_are_dropped(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MOST_FILE_BYTES", 2_000)
    monkeypatch.setattr(recording, "_MOST_FILES", 3)
    for number in range(100):
        record_event(home, "write", number=number)
    names = [path.name for path in event_files(home)]
    assert len(names) <= 4
    assert names == sorted(names, key=lambda name: (name == "events.jsonl", name))
    found = [event.details["number"] for event in events(home, EventFilter(type="write"), limit=1000)]
    assert found == list(range(found[0], 100))
    assert 0 < found[0] < 95


def test_a_file_older_than_its_days_is_dropped_when_the_next_is_full(
    home: Home, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    monkeypatch.setattr(recording, "_MOST_FILE_BYTES", 300)
    record_event(home, "write", now=now, text="x" * 300)
    (old,) = [path for path in event_files(home) if path.name != "events.jsonl"]
    stamp = (now - timedelta(days=recording.KEEP_DAYS + 1)).timestamp()
    os.utime(old, (stamp, stamp))
    record_event(home, "write", now=now, text="y" * 300)
    assert old not in event_files(home)


def test_a_half_line_of_a_killed_process_costs_only_itself(home: Home) -> None:
    first = record_event(home, "write")
    with (home.machine / "events.jsonl").open("ab") as file:
        file.write(b'{"id": "ev-1", "ts": "2026-')
    second = record_event(home, "write")
    assert [event.id for event in events(home, EventFilter(type="write"))][-2:] == [first, second]


@pytest.mark.parametrize("obstacle", ["a folder", "a link"])
def test_no_write_of_memory_fails_because_of_the_log(home: Home, now: datetime, obstacle: str, tmp_path: Path) -> None:
    path = home.machine / "events.jsonl"
    path.unlink(missing_ok=True)
    if obstacle == "a folder":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "theirs")
    assert record_event(home, "write") == ""
    with transaction(home, actor="test", message="Write", now=now) as edits:
        edits.write("Knowledge/crane.md", "# Crane\n\nIt is tall.\n")
    assert edits.outcome.commit
    assert not (tmp_path / "theirs").exists()


def test_a_programs_event_loses_its_secrets(home: Home) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log_event(home, f"run {token}", "test_run", {"output": ["ok", {"token": token, token: 1}], "count": 3})
    raw = (home.machine / "events.jsonl").read_text()
    assert token not in raw
    (event,) = events(home, EventFilter(type="test_run"))
    assert event.details["count"] == 3
    assert event.details["output"][0] == "ok"


@pytest.mark.parametrize(
    ("kind", "details"),
    [
        ("Test Run", {}), ("", {}), ("write", {}), ("review", {}), ("a" * 70, {}),
        ("x", {"n": float("nan")}), ("x", {"o": object()}), ("x", {"long": "y" * 20_000}),
    ],
)  # fmt: skip
def test_an_event_that_is_none_is_refused(home: Home, kind: str, details: dict[str, Any]) -> None:
    before = len(events(home, limit=1000))
    with pytest.raises(EventRefused):
        log_event(home, "s", kind, details)
    assert len(events(home, limit=1000)) == before


def test_a_forgotten_text_is_taken_out_of_the_log(home: Home, now: datetime) -> None:
    log_event(home, "s", "note", {"about": "the zanzibarite harbour"})
    forget(home, "zanzibarite harbour", now=now)
    assert "zanzibarite" not in (home.machine / "events.jsonl").read_text()
    assert json.loads((home.machine / "events.jsonl").read_text().splitlines()[-1])


@pytest.mark.parametrize(
    "details", [{"password": "hunter2Horse!x9"}, {"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEX"}]
)
def test_a_detail_is_read_beside_its_name(home: Home, details: dict[str, str]) -> None:
    log_event(home, "s1", "deploy", details)
    assert next(iter(details.values())) not in event_files(home)[-1].read_text()


@pytest.mark.parametrize("session", ["password is hunter2Horse!x9", "4111-1111-1111-1111"])
def test_a_session_is_screened_unless_its_name_is_plain(home: Home, session: str) -> None:
    record_event(home, "prompt", session=session)
    assert session.rpartition(" ")[2] not in event_files(home)[-1].read_text()
