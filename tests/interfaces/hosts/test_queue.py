"""The queue of host events: no line is lost to other hooks, to a worker that died, or to a line that was cut off."""

from __future__ import annotations

import errno
import fcntl
import json
import os
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


def write_queue(home: Home, data: bytes) -> Path:
    path = queue.folder(home.root) / "queue.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)
    return path


def sessions(home: Home) -> list[str]:
    return [row["session"] for row in queue.take(home.root)]


def test_twenty_processes_lose_no_line(home: Home) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", APPEND, str(home.root), f"w{number}"]) for number in range(20)]
    assert [writer.wait() for writer in writers] == [0] * 20
    taken = sessions(home)
    assert sorted(taken) == sorted(f"w{writer}-{number}" for writer in range(20) for number in range(20))
    for writer in range(20):  # each writer's lines keep their order
        assert [name for name in taken if name.startswith(f"w{writer}-")] == [f"w{writer}-{n}" for n in range(20)]


def test_a_line_that_its_writer_did_not_end_loses_itself_alone(home: Home) -> None:
    queue.append(home.root, HostEvent("codex", "stop", "first"))
    write_queue(home, b'{"at": 1.0, "sess')
    queue.append(home.root, HostEvent("codex", "stop", "last"))
    assert sessions(home) == ["first", "last"]


#: Take events on a disk with room for 400 bytes in a file: a longer write is cut off there, and is no error.
TAKE_ON_A_FULL_DISK = (
    "import resource, sys; from pathlib import Path; from agent_home import storage; "
    "from interfaces.hosts import queue; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400)); queue.take(Path(sys.argv[1]))"
)


def test_a_disk_that_fills_up_while_events_are_taken_loses_none(home: Home) -> None:
    for number in range(5):
        queue.append(home.root, HostEvent("codex", "stop", f"s{number}"))
    subprocess.run([sys.executable, "-c", TAKE_ON_A_FULL_DISK, str(home.root)], capture_output=True, check=False)
    assert sessions(home) == [f"s{number}" for number in range(5)]


def test_a_full_disk_is_an_error_and_keeps_what_was_there(home: Home) -> None:
    queue.append(home.root, HostEvent("codex", "stop", "first"))
    size = (queue.folder(home.root) / "queue.jsonl").stat().st_size
    code = (
        "import resource, sys; from pathlib import Path; from interfaces.hosts import queue; "
        "from interfaces.hosts.event import HostEvent; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "try:\n    queue.append(Path(sys.argv[1]), HostEvent('codex', 'stop', 'second'))\n"
        "except OSError as error:\n    print(error.errno)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(home.root)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(errno.EFBIG)
    assert sessions(home) == ["first"]


def test_a_worker_that_died_before_it_emptied_the_queue_takes_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_descriptor: int, _length: int) -> None:
        raise KeyboardInterrupt

    queue.append(home.root, HostEvent("codex", "stop", "first"))
    queue.append(home.root, HostEvent("codex", "session-end", "first"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", killed)
        with pytest.raises(KeyboardInterrupt):
            queue.take(home.root)
    rows = queue.take(home.root)
    assert {row["session"] for row in rows} == {"first"}
    assert rows[-1]["kind"] == "session-end"
    queue.drop(home.root)
    assert sessions(home) == []


@pytest.mark.parametrize("name", ["queue.jsonl", "taken.jsonl"])
def test_a_link_is_not_read(home: Home, tmp_path: Path, name: str) -> None:
    queue.append(home.root, HostEvent("codex", "stop", "kept"))
    queue.take(home.root)
    path = queue.folder(home.root) / name
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.write_text(json.dumps({"at": 1.0, "session": "planted"}) + "\n")
    path.unlink()
    path.symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"."):
        queue.take(home.root)
    assert "planted" in elsewhere.read_text()


def test_a_link_in_the_place_of_the_log_is_not_followed(home: Home, tmp_path: Path) -> None:
    queue.folder(home.root).mkdir(parents=True)
    (queue.folder(home.root) / queue.ERRORS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"."):
        queue.note_error(home.root, "x")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("text", ['a "quoted"\nname', "港口", "a\0b", "lone \ud800", "\u2028line"])
def test_every_text_comes_back_as_it_was(home: Home, text: str) -> None:
    event = HostEvent("codex", "stop", text, transcript=text, cwd=text, last_message=text)
    queue.append(home.root, event)
    queue.append(home.root, HostEvent("codex", "stop", "after"))
    first, _ = queue.take(home.root)
    assert HostEvent(**{name: first[name] for name in HostEvent._fields}) == event
    assert [queue.is_first_prompt(home.root, text) for _ in range(2)] == [True, False]


def test_a_long_last_message_is_kept_to_a_limit_and_the_next_line_whole(home: Home) -> None:
    queue.append(home.root, HostEvent("codex", "stop", "long", last_message="港" * 3_000_000))
    queue.append(home.root, HostEvent("codex", "stop", "after"))
    long, after = queue.take(home.root)
    assert len(long["last_message"]) == 200_000
    assert after["session"] == "after"


def test_events_of_a_lock_that_is_held_wait_for_it(home: Home) -> None:
    path = write_queue(home, b"")
    code = f"import sys; sys.argv[2:] = ['x']; {APPEND}"
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        writer = subprocess.Popen([sys.executable, "-c", code, str(home.root)])
        with pytest.raises(subprocess.TimeoutExpired):
            writer.wait(timeout=0.7)
        assert os.fstat(held.fileno()).st_size == 0
    assert writer.wait() == 0
    assert len(sessions(home)) == 20
