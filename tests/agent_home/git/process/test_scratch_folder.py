"""What a killed process left in the temporary folder goes with the next one, and nobody else's goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_home.git.process.scratch_folder import _Scratch

_MAKE = """
import sys
from agent_home.git.process.scratch_folder import scratch_folder
print(scratch_folder(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def running(temporary: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    environment = os.environ | {"TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", _MAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    with process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_process_left_goes_with_the_next_one(temporary: Path, how: signal.Signals) -> None:
    with running(temporary) as (process, folder):
        (folder / "config").write_text("x")
        living = _Scratch()
        assert folder.is_dir()
        assert living.folder().parent == folder.parent
        process.send_signal(how)
        process.wait()
        assert folder.is_dir()
        other = _Scratch()
        other.folder()
        assert not folder.exists()
        assert living.folder().is_dir()
        living.remove()
        other.remove()
        assert list(folder.parent.iterdir()) == []


def test_a_process_that_ends_takes_its_folder_with_it(temporary: Path) -> None:
    with running(temporary) as (_, folder):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_a_folder_that_somebody_else_prepared_is_not_used(temporary: Path) -> None:
    (temporary / f"agent-home-{os.geteuid()}").mkdir()
    (temporary / f"agent-home-{os.geteuid()}").chmod(0o777)
    scratch = _Scratch()
    assert scratch.folder().parent != temporary / f"agent-home-{os.geteuid()}"
    scratch.remove()


def test_a_folder_that_is_being_made_stays(temporary: Path) -> None:
    scratch = _Scratch()
    users = scratch.folder().parent
    for name, age_s in (("new", 0), ("old", 1000)):
        (users / name).mkdir()
        os.utime(users / name, (users.stat().st_mtime - age_s,) * 2)
    other = _Scratch()
    other.folder()
    assert (users / "new").is_dir()
    assert not (users / "old").exists()
    scratch.remove()
    other.remove()
