"""A child process is passed on and kept line by line."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interfaces.jobs.child_process import ChildNotStarted, ChildSignals, Spool, run_child


@pytest.fixture
def file() -> Iterator[FileIO]:
    with tempfile.TemporaryFile(buffering=0) as made:
        yield made


def content(spool: Spool) -> bytes:
    spool.file.seek(0)
    return spool.file.read()


def run(spool: Spool, *command: str) -> int:
    with ChildSignals() as signals, Path(os.devnull).open("rb+", buffering=0) as null:
        targets = (null.fileno(), null.fileno())
        return run_child(
            command, environ=os.environ, folder=Path.cwd(), spool=spool, targets=targets, signals=signals
        )  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([b"a", b"b\n", b"c\nd", b"\n", b"e\nf\n"]))))
def test_each_stream_keeps_its_bytes_and_lines_are_whole(parts: list[tuple[int, bytes]]) -> None:
    with tempfile.TemporaryFile(buffering=0) as made:
        spool = Spool(made)
        for stream, data in parts:
            spool.add(stream, data.upper() if stream else data)
        spool.finish()
        lines = content(spool).split(b"\n")
        errors = [content(spool)[start:end] for start, end in spool.errors]
    assert b"".join(errors) == b"".join(data.upper() for stream, data in parts if stream)
    assert not any(line.upper() != line != line.lower() for line in lines)
    for stream in (0, 1):
        printed = b"".join(data for number, data in parts if number == stream).split()
        own = [line.lower() for line in lines if line and line.isupper() == bool(stream)]
        assert own == printed


def test_a_line_without_an_end_is_kept_in_bounded_memory(file: FileIO) -> None:
    spool = Spool(file)
    for _ in range(100):
        spool.add(0, b"x" * 10_000)
    assert spool.kept > 900_000
    spool.add(1, b"err\n")
    spool.finish()
    assert b"xerr" not in content(spool)
    assert content(spool).count(b"x") == 1_000_000


def test_what_is_beyond_the_limit_is_passed_on_and_not_kept(file: FileIO) -> None:
    spool = Spool(file, most_bytes=100_000)
    script = (
        "import sys; sys.stdout.write('x' * 999 + '\\n'); sys.stdout.flush()\nfor _ in range(999): print('y' * 999)"
    )
    reading, writing = os.pipe()
    passed: list[int] = []
    reader = threading.Thread(target=lambda: passed.extend(iter(lambda: len(os.read(reading, 65_536)), 0)))
    reader.start()
    with ChildSignals() as signals:
        code = run_child(
            [sys.executable, "-c", script], environ=os.environ, folder=Path.cwd(), spool=spool,
            targets=(writing, writing), signals=signals,
        )  # fmt: skip
    os.close(writing)
    reader.join()
    os.close(reading)
    assert (code, sum(passed)) == (0, 1_000_000)
    assert spool.kept == len(content(spool)) <= 100_000
    assert spool.kept + spool.lost == 1_000_000


def test_a_full_disk_stops_the_keeping_and_not_the_command(file: FileIO) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        spool = Spool(full)
        assert run(spool, "echo", "lost") == 0
    assert (spool.kept, spool.lost) == (0, 5)


def test_the_exit_code_is_that_of_a_shell(file: FileIO) -> None:
    spool = Spool(file)
    assert run(spool, "sh", "-c", "echo a; exit 7") == 7
    assert content(spool) == b"a\n"
    assert run(Spool(file), "sh", "-c", "kill -15 $$") == 143
    with pytest.raises(ChildNotStarted, match=r"no-such-program cannot be run: No such file .* \$PATH") as error:
        run(Spool(file), "no-such-program")
    assert error.value.code == 127
