"""Start processes that a test may kill: forks of one process that has the product loaded already.

A new interpreter spends most of a second of processor time on imports. The process here loads the product once, and
forks itself for each script that a test runs. A fork is a real process with a session of its own, so that it can be
killed together with the git commands that it runs.

The second half are tools for scripts that kill themselves at one step of their work.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Self
from unittest import mock

__all__ = ["Child", "ForkServer", "die", "dying", "git_command", "into"]

ROOT = Path(__file__).resolve().parents[1]
_SERVE = "import sys; from tests.doomed import serve; serve(int(sys.argv[1]))"
#: Libraries that start threads when they are loaded. A fork copies one thread alone, with the locks of all.
_THREADED = ("fastembed", "onnxruntime", "tokenizers")


class Child:
    """A forked process, with the methods of ``subprocess.Popen``. Its process id is the id of its group too."""

    def __init__(self, status: socket.socket, stdin: IO[str], stdout: IO[str], stderr: IO[str]) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.returncode: int | None = None
        self._status = status.makefile("r")
        status.close()
        self.pid = self._next()

    def poll(self) -> int | None:
        """Return the exit code, or ``None`` while the process runs. A killed one has the negative signal number."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout_s: float | None = None) -> int:
        """Return the exit code as soon as there is one.

        Raises:
            subprocess.TimeoutExpired: the process still runs after *timeout_s* seconds.
        """
        if self.returncode is None:
            ready, _, _ = select.select([self._status], [], [], timeout_s)
            if not ready:
                raise subprocess.TimeoutExpired("a fork", timeout_s or 0.0)
            self.returncode = self._next()
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process alone, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill_group(self) -> None:
        """Kill the process and the processes that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """Return what the process wrote to its output and to its error output until its end."""
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.append(self.stderr.read()))
        reader.start()
        output = self.stdout.read()
        reader.join()
        self.close()
        self.wait()
        return output, errors[0]

    def close(self) -> None:
        """Close the streams."""
        for stream in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _next(self) -> int:
        line = self._status.readline()
        assert line, "the process that forks has ended"
        return int(line)


class ForkServer:
    """The process that forks. It ends with the ``with`` statement, or with the process that started it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-c", _SERVE, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
                # The algebra library of numpy starts a thread for each further processor.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.wait()

    def start(self, script: str, *arguments: str, **environment: str) -> Child:
        """Run *script* in a fork, with *arguments* in ``sys.argv`` and this environment with changes."""
        request = {
            "script": script, "arguments": ["-c", *arguments], "environment": {**os.environ, **environment},
            "folder": os.getcwd(),  # noqa: PTH109
        }  # fmt: skip
        (their_input, stdin), (stdout, their_output), (stderr, their_errors) = os.pipe(), os.pipe(), os.pipe()
        status, their_status = socket.socketpair()
        with tempfile.TemporaryFile("w+") as file, their_status:
            json.dump(request, file)
            file.flush()
            theirs = [file.fileno(), their_status.fileno(), their_input, their_output, their_errors]
            socket.send_fds(self._socket, [b"\n"], theirs)
            for descriptor in theirs[2:]:
                os.close(descriptor)
        return Child(status, os.fdopen(stdin, "w"), os.fdopen(stdout), os.fdopen(stderr))

    def run(self, script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run *script* in a fork to its end."""
        child = self.start(script, *arguments, **environment)
        output, errors = child.communicate()
        return subprocess.CompletedProcess(["-c", *arguments], child.wait(), output, errors)


def serve(descriptor: int) -> None:
    """Load the product, and fork for each request until the other side has gone."""
    _warm()
    gc.collect()
    gc.freeze()  # what is loaded is not looked at again, so that forks share its memory
    assert not [name for name in _THREADED if name in sys.modules]
    threads = Path("/proc/self/task")
    assert (len(list(threads.iterdir())) if threads.exists() else threading.active_count()) == 1
    running: dict[int, int] = {}

    def reap(*_: object) -> None:
        while running:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return  # a second signal came between the wait for the last process and the next line
            if not pid:
                return
            told = running.pop(pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
            os.close(told)

    signal.signal(signal.SIGCHLD, reap)
    with socket.socket(fileno=descriptor) as requests:
        while True:
            received, files, _, _ = socket.recv_fds(requests, 1, 5)
            if not received:
                return None
            # A child that ends at once must be among the running ones before it is reaped.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
            pid = os.fork()
            if not pid:
                requests.close()
                for other in running.values():
                    os.close(other)
                return _live(*files)
            running[pid] = files[1]
            for file in (files[0], *files[2:]):
                os.close(file)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _live(request: int, status: int, stdin: int, stdout: int, stderr: int) -> None:
    """Run a script in this new process. What it raises ends the interpreter, as in any process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    os.setsid()
    os.write(status, b"%d\n" % os.getpid())  # the group is there: from now on it can be killed
    os.close(status)
    for number, descriptor in enumerate((stdin, stdout, stderr)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    with open(request) as file:
        file.seek(0)
        asked = json.load(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["arguments"]
    exec(compile(asked["script"], "<script>", "exec"), {"__name__": "__main__"})  # noqa: S102


def _warm() -> None:
    """Do once, in a home that nobody else has, what would load something in each fork."""
    from agent_home.creation import create
    from agent_home.screening import verdicts
    from agent_home.store import transcript
    from agent_home.store.transcript import Message
    from distill.close import close
    from distill.entries.decay import archive
    from distill.review.queue import waiting
    from guard.secrets.told.reader import told_reader
    from interfaces.cli import cli
    from recall.index.sync import sync
    from recall.index.verify import verify
    from recall.settings import RecallSettings

    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    os.environ.pop("AGENT_HOME", None)
    now = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
    # The network's library starts threads, so each fork loads it where it needs it.
    without_network = mock.patch("guard.inference.passage_network._opened", return_value="not before a fork")
    with without_network, tempfile.TemporaryDirectory() as folder:
        home = create(Path(folder) / "home", name="Warm", now=now).home
        said = "Decision: ship on Monday.\nLesson: warm the cache before a load test.\nPreference: sort by risk."
        messages = [Message(session="s", id=f"m{n}", ts="2026-11-20T10:00:00", content=said) for n in range(2)]
        transcript.append(home, "s", messages, actor="test", now=now)
        close(home, "s", now=now)
        archive(home, now=now, apply=True)
        waiting(home, now)
        sync(home, RecallSettings(), None)
        verify(home, RecallSettings())
        for name in cli.list_commands(None):  # type: ignore[arg-type]
            cli.get_command(None, name)  # type: ignore[arg-type]
    verdicts._shared.cache_clear()
    told_reader.cache_clear()


def die(*_: object, **__: object) -> None:
    """Kill this process with the git commands that it runs."""
    os.killpg(0, signal.SIGKILL)


def dying(
    owner: Any, name: str, *, before: bool = False, when: Callable[..., bool] = lambda *_: True, after: int = 1
) -> Callable[[], None]:
    """Return a function that lets this process die at a call of ``owner.name``.

    Args:
        owner: module or class whose function is replaced.
        name: the function's name.
        before: whether the process dies before the call does its work, instead of behind it.
        when: calls with other arguments are not counted.
        after: which of the counted calls it is, from 1.
    """
    real, seen = getattr(owner, name), [0]

    def wrapped(*arguments: Any, **named: Any) -> Any:
        counted = bool(when(*arguments))
        seen[0] += counted
        hit = counted and seen[0] == after
        if hit and before:
            die()
        result = real(*arguments, **named)
        if hit:
            die()
        return result

    return lambda: setattr(owner, name, wrapped)


def into(word: str) -> Callable[..., bool]:
    """Choose calls with *word* in one of their arguments."""
    return lambda *arguments: any(word in str(part) for part in arguments)


def git_command(word: str) -> Callable[..., bool]:
    """Choose calls of ``GitClient.change`` with the argument *word*."""
    return lambda _git, *arguments: word in arguments
