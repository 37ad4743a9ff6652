"""The file of a run's prompt is machine state, and goes with the run."""

from __future__ import annotations

import os
import socket
import subprocess
import time

from agent_home.home import Home
from interfaces.jobs.prompt_file import prompt_file


def test_the_file_is_there_for_the_block_and_only_for_this_user(home: Home) -> None:
    with prompt_file(home, "prompt \udc80") as path:
        assert path.read_text() == "prompt ?"
        assert path.is_relative_to(home.machine)
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not path.exists()


def test_files_of_processes_that_are_gone_and_old_ones_are_removed(home: Home) -> None:
    with prompt_file(home, "x") as path:
        folder = path.parent
    gone = subprocess.Popen(["true"])
    gone.wait()
    host = socket.gethostname()
    abandoned, old = folder / f"{host}-{gone.pid}-00.md", folder / "elsewhere-1-00.md"
    running, other = folder / f"{host}-{os.getppid()}-00.md", folder / f"elsewhere-{gone.pid}-00.md"
    for made in (abandoned, old, running, other):
        made.write_text("prompt")
    os.utime(old, (time.time() - 90_000,) * 2)
    with prompt_file(home, "y") as path:
        assert set(folder.iterdir()) == {path, running, other}
