"""The worker: sessions become memory when they end, once, whatever was cut off before."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agent_home.home import Home
from agent_home.lock import hold
from agent_home.store import transcript
from interfaces.hosts import queue, worker
from interfaces.hosts.captured import read_open
from interfaces.hosts.event import HostEvent
from interfaces.hosts.worker import work

SAID = "From now on, put the result first and the reasons after it."


def line(kind: str, number: int, text: str) -> str:
    return json.dumps({
        "type": kind, "uuid": f"u{number}", "sessionId": "s1", "timestamp": f"2026-11-28T10:00:{number:02d}Z",
        "cwd": "/", "message": {"role": kind, "content": [{"type": "text", "text": text}]},
    }) + "\n"  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "s1.jsonl"
    path.parent.mkdir()
    path.write_text(line("user", 1, SAID) + line("assistant", 2, "Understood."))
    return path


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_LAG_S", 0.0)


def tell(home: Home, kind: str, file: Path, last: str = "") -> None:
    queue.append(home.root, HostEvent("claude-code", kind, "s1", transcript=str(file), last_message=last))


def turns(home: Home) -> list[str]:
    return [turn.message.content for item in transcript.sessions(home) for turn in transcript.read(item.path)]


def test_a_session_that_ended_becomes_memory(home: Home, file: Path) -> None:
    tell(home, "session-start", file)
    assert work(home) == []
    assert len(read_open(home.root)) == 1
    tell(home, "session-end", file)
    assert work(home) == ["s1"]
    assert SAID in (home.root / "MEMORY.md").read_text()
    assert read_open(home.root) == {}
    assert work(home) == []


def test_a_last_message_that_the_file_lacks_is_kept_once(home: Home, file: Path) -> None:
    tell(home, "stop", file, last="The report is sent.")
    work(home)
    assert turns(home) == [SAID, "Understood.", "The report is sent."]
    tell(home, "stop", file, last="The report is sent.")
    work(home)
    assert turns(home).count("The report is sent.") == 1


def test_a_last_message_that_the_file_has_is_not_added(home: Home, file: Path) -> None:
    tell(home, "session-end", file, last="Understood.")
    work(home)
    assert turns(home) == [SAID, "Understood."]


def test_a_session_without_a_file_keeps_its_last_message(home: Home, tmp_path: Path) -> None:
    tell(home, "session-end", tmp_path / "none.jsonl", last="The report is sent.")
    work(home)
    assert turns(home) == ["The report is sent."]


def test_a_quiet_session_counts_as_ended(home: Home, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(home, "stop", file)
    assert work(home) == []
    later = time.time() + 4 * 3600
    monkeypatch.setattr("interfaces.hosts.worker.time.time", lambda: later)
    assert work(home) == ["s1"]


def test_a_worker_that_was_killed_doubles_nothing(home: Home, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(home, "session-end", file)
    monkeypatch.setattr(queue, "drop", _killed)
    with pytest.raises(KeyboardInterrupt):
        work(home)
    monkeypatch.undo()
    work(home)
    assert turns(home) == [SAID, "Understood."]
    assert (home.root / "MEMORY.md").read_text().count(SAID) == 1


def _killed(_root: Path) -> None:
    raise KeyboardInterrupt


def test_two_workers_do_the_work_once(home: Home, file: Path) -> None:
    tell(home, "session-end", file)
    with hold(queue.folder(home.root) / "worker.lock", 0):
        assert work(home) == []
    assert work(home) == ["s1"]


def test_a_session_that_cannot_be_saved_is_tried_again_and_named(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    tell(home, "session-end", file)
    with monkeypatch.context() as broken:
        broken.setattr(worker, "import_host", full)
        for _ in range(3):
            work(home)
        (item,) = read_open(home.root).values()
        assert item.failures >= 3
        assert "No space left" in item.problem
    assert work(home) == ["s1"]
    assert read_open(home.root) == {}
