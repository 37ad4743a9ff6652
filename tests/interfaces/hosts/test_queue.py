"""The queue of host events: no line is lost to other hooks, to a worker that died, or to a line that was cut off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_home.home import Home
from interfaces.hosts import queue
from interfaces.hosts.event import HostEvent

APPEND = (
    "import sys; from pathlib import Path; from interfaces.hosts import queue; from interfaces.hosts.event import "
    "HostEvent; [queue.append(Path(sys.argv[1]), HostEvent('codex', 'stop', f'{sys.argv[2]}-{n}')) for n in range(20)]"
)


def test_events_come_back_in_order_and_once(home: Home) -> None:
    for number in range(3):
        queue.append(home.root, HostEvent("codex", "stop", f"s{number}", last_message="Done."))
    assert [row["session"] for row in queue.take(home.root)] == ["s0", "s1", "s2"]
    queue.drop(home.root)
    assert queue.take(home.root) == []


def test_the_words_of_the_user_are_not_queued(home: Home) -> None:
    queue.append(home.root, HostEvent("codex", "user-prompt", "s", prompt="my password is hunter2"))
    assert queue.take(home.root)[0]["prompt"] == ""


def test_a_worker_that_died_loses_no_event(home: Home) -> None:
    queue.append(home.root, HostEvent("codex", "stop", "first"))
    queue.take(home.root)
    queue.append(home.root, HostEvent("codex", "stop", "second"))
    assert [row["session"] for row in queue.take(home.root)] == ["first", "second"]


def test_a_line_that_was_cut_off_loses_itself_alone(home: Home) -> None:
    queue.append(home.root, HostEvent("codex", "stop", "first"))
    with (queue.folder(home.root) / "queue.jsonl").open("ab") as file:
        file.write(b'{"at": 1.0, "session"\n[]\n{"session": "x", "at": "soon"}\n\xff\n')
    queue.append(home.root, HostEvent("codex", "stop", "last"))
    assert [row["session"] for row in queue.take(home.root)] == ["first", "last"]


def test_hooks_that_write_at_once_lose_no_line(home: Home) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", APPEND, str(home.root), f"w{n}"]) for n in range(6)]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen |= {row["session"] for row in queue.take(home.root)}
    seen |= {row["session"] for row in queue.take(home.root)}
    assert [writer.returncode for writer in writers] == [0] * 6
    assert seen == {f"w{writer}-{number}" for writer in range(6) for number in range(20)}


def test_a_link_in_the_place_of_the_queue_is_not_followed(home: Home, tmp_path: Path) -> None:
    queue.folder(home.root).mkdir(parents=True)
    (queue.folder(home.root) / "queue.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"."):
        queue.append(home.root, HostEvent("codex", "stop", "s"))
    assert not (tmp_path / "elsewhere").exists()


def test_only_the_first_prompt_is_a_first_one_until_it_is_forgotten(home: Home) -> None:
    assert [queue.is_first_prompt(home.root, "s") for _ in range(3)] == [True, False, False]
    assert queue.is_first_prompt(home.root, "other")
    queue.forget_first_prompt(home.root, "s")
    assert queue.is_first_prompt(home.root, "s")


def test_the_files_are_their_owners_alone(home: Home) -> None:
    queue.append(home.root, HostEvent("codex", "stop", "s"))
    queue.take(home.root)
    queue.note_error(home.root, "2026-11-28 ValueError x.py:1")
    files = list(queue.folder(home.root).iterdir())
    assert len(files) == 3
    assert {file.stat().st_mode & 0o077 for file in files} == {0}


def test_a_large_log_begins_anew(home: Home) -> None:
    for _ in range(3):
        queue.note_error(home.root, "x" * 60_000)
    assert (queue.folder(home.root) / queue.ERRORS).stat().st_size < 140_000
