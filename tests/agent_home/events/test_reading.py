"""The log is read back by session, type and time, and followed across full files."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta

import pytest

from agent_home.events import reading, recording
from agent_home.events.event import LoggedEvent, parse_line
from agent_home.events.reading import EventFilter, events, follow_events
from agent_home.events.recording import log_event, record_event
from agent_home.home import Home
from interfaces.api import AgentHome


def test_times_are_honoured_and_the_end_does_not_belong(home: Home, now: datetime) -> None:
    ids = [log_event(home, "s", "tick", {"n": n}, now=now + timedelta(minutes=n)) for n in range(5)]
    wanted = EventFilter(type="tick", start=now + timedelta(minutes=1), end=now + timedelta(minutes=3))
    assert [event.id for event in events(home, wanted)] == ids[1:3]
    agent = AgentHome(home)
    seconds = (now + timedelta(minutes=4)).timestamp()
    assert [event.id for event in agent.event_log.retrieve_events(event_type="tick", start_time=seconds)] == ids[4:]
    assert [
        event.id for event in agent.event_log.retrieve_events("s", "tick", end_time=now + timedelta(minutes=1))
    ] == ids[:1]
    assert agent.event_log.retrieve_events("other") == []


def test_the_limit_keeps_the_newest_in_order_of_time(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MOST_FILE_BYTES", 1_000)
    ids = [record_event(home, "prompt", session="s") for _ in range(30)]
    assert [event.id for event in events(home, EventFilter(session="s"), limit=12)] == ids[-12:]


def test_a_limit_of_bytes_leaves_old_files_unread(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MOST_FILE_BYTES", 1_000)
    ids = [record_event(home, "prompt", session="s") for _ in range(30)]
    some = [event.id for event in events(home, EventFilter(type="prompt"), most_bytes=1_500)]
    assert 0 < len(some) < len(ids)
    assert some == ids[-len(some) :]
    assert [event.id for event in events(home, EventFilter(type="prompt"), most_bytes=10**9)] == ids


def test_many_events_within_a_second_have_names_of_their_own(home: Home, now: datetime) -> None:
    agent = AgentHome(home)
    assert len({agent.event_log.log_execution("s", "tick", {}, now=now) for _ in range(200)}) == 200


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"nonsense", b"[1]", b'{"id":1,"ts":"2026-01-01","type":"x","session":"","details":{}}', b"\xff",
     b'{"id":"a","ts":"never","type":"x","session":"","details":{}}', b"[" * 100_000,
     b'{"id":"a","ts":"2026-01-01","type":"x","session":"","details":[]}'],
)  # fmt: skip
def test_a_damaged_line_is_no_event(line: bytes) -> None:
    assert parse_line(line) is None


def test_following_sees_every_event_across_full_files(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MOST_FILE_BYTES", 5_000)
    monkeypatch.setattr(reading, "_POLL_S", 0.001)
    record_event(home, "prompt", number=-1)
    found: list[LoggedEvent] = []
    done = threading.Event()

    def follow() -> None:
        for event in follow_events(home, EventFilter(type="prompt"), ended=done.is_set):
            found.append(event)
            if event.details.get("number") == 99:
                done.set()

    follower = threading.Thread(target=follow)
    follower.start()
    time.sleep(0.05)
    for number in range(100):
        record_event(home, "prompt", number=number)
        time.sleep(0.002)
    follower.join(timeout=30)
    assert [event.details["number"] for event in found] == list(range(100))


def test_a_day_of_work_leaves_an_event_of_each_kind(home: Home, now: datetime) -> None:
    agent = AgentHome(home)
    agent.append("s1", [{"role": "user", "content": "We decided to use apsw for the index. Please remember that."}])
    agent.close("s1", now=now)
    note = agent.remember("The backup runs at noon", kind="fact", now=now)
    agent.cite([note.id], session="s1", now=now)
    stored = agent.outputs.store("a line\n", tool="echo", session="s1")
    assert b"".join(agent.outputs.fetch(stored.id)) == b"a line\n"
    agent.prompt(session="s1", now=now)
    found = agent.event_log.retrieve_events(limit=1000)
    assert {"append", "closing", "write", "citation", "output", "fetch", "prompt"} <= {event.type for event in found}
    (cited,) = [event for event in found if event.type == "citation"]
    assert (cited.session, cited.details["entries"]) == ("s1", [note.id])
    assert "apsw" not in (home.machine / "events.jsonl").read_text()


def test_an_event_between_the_list_and_the_following_is_not_missed(home: Home) -> None:
    coming = follow_events(home, EventFilter(type="prompt"))
    between = record_event(home, "prompt")
    assert next(coming).id == between
