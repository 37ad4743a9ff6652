"""A limited process ends when it asks for too much, and starts no other."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from agent_home.git.process.process_limits import limit

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process need Linux")


def run(code: str, **named: int) -> subprocess.CompletedProcess[str]:
    """Run Python code under limits. It begins when they are set."""
    command = [sys.executable, "-I", "-c", f"input()\n{code}"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **named,  # type: ignore[call-overload]
    )
    limit(process.pid, 1.0)
    out, err = process.communicate("\n")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_memory_is_limited() -> None:
    assert "MemoryError" in run("x = bytearray(3 << 30)").stderr


def test_no_large_file_is_written() -> None:
    done = run("import tempfile\nwith tempfile.TemporaryFile() as f: f.write(bytes(2 << 20))")
    assert "File too large" in done.stderr


def test_no_process_is_started() -> None:
    """The system holds only ordinary users to this limit."""
    done = run("import os\nif os.getuid() == 0: os.setuid(65534)\nos.fork()")
    assert "Resource temporarily unavailable" in done.stderr


def test_a_process_that_has_ended_is_no_error() -> None:
    process = subprocess.Popen([sys.executable, "-I", "-c", ""])
    process.wait()
    limit(process.pid, 1.0)
