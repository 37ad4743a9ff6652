"""Tests of the write lock: one holder at a time, and none that was killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from agent_home.errors import Changed, Locked
from agent_home.lock import hold
from agent_home.waiting import announce_wait, most_wait_s, shortened
from interfaces.cli.exit_codes import exit_code

HOLDER = """
import sys
from pathlib import Path
from agent_home.lock import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds *path* until it is released or killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def test_a_second_process_waits_and_then_gives_up_with_exit_code_5(tmp_path: Path) -> None:
    with holder(tmp_path / "x" / "lock"), pytest.raises(Locked) as caught, hold(tmp_path / "x" / "lock", 0.2):
        pass
    assert exit_code(caught.value) == 5
    assert "Try again" in str(caught.value)
    assert caught.value.waited_s == 0.2


def test_a_waiting_process_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as process:
        assert process.stdin is not None
        threading.Timer(0.1, process.stdin.close).start()
        with hold(tmp_path / "lock", 20):
            pass
        assert process.wait(20) == 0


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as process:
        os.kill(process.pid, signal.SIGKILL)
        with hold(tmp_path / "lock", 20):
            pass


def test_the_lock_file_is_never_removed_nor_replaced(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold(path):
        first = path.stat().st_ino
    assert path.stat().st_ino == first
    with hold(path):
        assert path.stat().st_ino == first
    with holder(path) as process:
        process.kill()
        process.wait()
    assert path.stat().st_ino == first


def test_a_folder_that_goes_before_the_lock_is_taken_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def acquire(given: FileLock, *_: object, **__: object) -> None:
        shutil.rmtree(Path(given.lock_file).parent)  # by another process, between both steps
        os.open(given.lock_file, os.O_RDWR | os.O_CREAT)

    monkeypatch.setattr(FileLock, "acquire", acquire)
    with pytest.raises(Changed, match="another program changed"), hold(tmp_path / "gone" / "lock"):
        pass


def test_an_error_in_the_block_frees_the_lock(tmp_path: Path) -> None:
    with pytest.raises(KeyError), hold(tmp_path / "lock"):
        raise KeyError
    with hold(tmp_path / "lock", 0.1):
        pass


def test_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(10):
            with hold(tmp_path / "lock", 60):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_wait_of_a_second_is_announced_once(tmp_path: Path) -> None:
    path, announced = tmp_path / "write.lock", list[str]()
    token = announce_wait.set(lambda: announced.append("waiting"))
    try:
        with holder(path), pytest.raises(Locked), hold(path, timeout_s=1.2):
            pass
    finally:
        announce_wait.reset(token)
    assert announced == ["waiting"]


def test_a_shorter_wait_of_the_context_counts(tmp_path: Path) -> None:
    path = tmp_path / "write.lock"
    token = most_wait_s.set(0.05)
    try:
        with holder(path), pytest.raises(Locked) as caught, hold(path, timeout_s=60):
            pass
        assert caught.value.waited_s == 0.05
        assert shortened(0.01) == 0.01
    finally:
        most_wait_s.reset(token)
    assert shortened(60) == 60
