"""Forks for crash tests are processes of their own: their group, environment, streams and end are theirs alone."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.doomed import ForkServer

#: Starts a process, as a git command is started, and kills itself with it.
WITH_CHILD = """
import subprocess
from tests import doomed
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
doomed.dying(doomed, "into", after=2)()
doomed.into("x")
print("once", flush=True)
doomed.into("x")
print("twice", flush=True)
"""


def ended(pid: int) -> bool:
    """Tell whether a process ends within a minute. Nobody may have waited for it yet."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True)
        if done.stdout.strip()[:1] in {"", "Z"}:
            return True
        time.sleep(0.02)
    return False


def test_a_fork_leads_a_group_and_sees_its_arguments_and_the_present_environment(
    forks: ForkServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OF_THE_TEST", "now")
    monkeypatch.chdir(tmp_path)
    script = """
import os, sys, threading
print(os.getpgid(0) == os.getsid(0) == os.getpid(), sys.argv[1:], os.getcwd(), threading.active_count())
print(os.environ["OF_THE_TEST"], os.environ["ADDED"], os.environ.get("OPENBLAS_NUM_THREADS"), file=sys.stderr)
"""
    done = forks.run(script, "a b", ADDED="too")
    assert (done.returncode, done.stdout) == (0, f"True ['a b'] {tmp_path} 1\n")
    assert done.stderr == f"now too {os.environ.get('OPENBLAS_NUM_THREADS')}\n"
    assert "ADDED" not in forks.run("import os; print(*os.environ)").stdout.split()


@pytest.mark.parametrize(
    ("script", "code"),
    [("", 0), ("import sys; sys.exit(7)", 7), ("1 / 0", 1), ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL)],
)
def test_a_fork_ends_as_its_script_ends(forks: ForkServer, script: str, code: int) -> None:
    done = forks.run(script)
    assert done.returncode == code
    assert ("ZeroDivisionError" in done.stderr) == (code == 1)


def test_a_process_that_dies_at_a_step_takes_its_children_along(forks: ForkServer) -> None:
    done = forks.run(WITH_CHILD)
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid, *said = done.stdout.split()
    assert said == ["once"]
    assert ended(int(pid))


def test_many_forks_at_once_end_each_with_its_own_code(forks: ForkServer) -> None:
    children = [forks.start(f"import sys; sys.stdin.read(); print({n}); sys.exit({n})") for n in range(20)]
    assert [child.poll() for child in children] == [None] * 20
    for child in children[::-1]:
        child.stdin.close()
    assert [child.communicate()[0] for child in children] == [f"{n}\n" for n in range(20)]
    assert [child.returncode for child in children] == list(range(20))


def test_a_fork_is_killed_with_what_it_started(forks: ForkServer) -> None:
    child = forks.start("import subprocess\nwith subprocess.Popen(['sleep', '60']) as p: print(p.pid, flush=True)")
    pid = int(child.stdout.readline())
    child.kill_group()
    assert child.communicate() == ("", "")
    assert child.returncode == -signal.SIGKILL
    assert ended(pid)
