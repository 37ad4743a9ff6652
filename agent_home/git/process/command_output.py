"""The input and the output of a running git command, with a timeout for the time spent waiting."""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

from ...errors import GitTimeout

__all__ = ["CommandOutput", "as_input", "await_exit"]

_CHUNK_BYTES = 1 << 16
#: Seconds without output after which the caller looks for a reason.
_SILENCE_S = 5.0
#: Git removes its lock files when it is asked to end; after this long it is killed.
_END_WAIT_S = 5.0


class CommandOutput:
    """The output of a running git command. Only the time spent waiting for git counts towards the timeout.

    *on_silence* is called once, when git has said nothing for a while. It raises an error to give up.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        command: str,
        timeout_s: float,
        *,
        leads_group: bool,
        on_silence: Callable[[], None] = lambda: None,
    ) -> None:
        assert process.stdout is not None  # noqa: S101 - it was started with a pipe
        self._process, self._command, self._timeout_s = process, command, timeout_s
        self._leads_group = leads_group
        self._on_silence = on_silence
        self._patience_s = _SILENCE_S
        self._file = process.stdout
        self._left_s = timeout_s
        self._poll = select.poll()
        self._poll.register(self._file, select.POLLIN | select.POLLHUP)
        self._buffer = bytearray()
        self._ended = False

    def read(self) -> bytes:
        """Return the next bytes, or nothing at the end of the output."""
        began = time.monotonic()
        ready = self._poll.poll(min(self._left_s, self._patience_s) * 1000)
        if not ready and self._patience_s < self._left_s:
            self._on_silence()
            ready = self._poll.poll((self._left_s - self._patience_s) * 1000)
            self._patience_s = math.inf
        self._left_s = max(0.0, self._left_s - (time.monotonic() - began))
        if not ready:
            raise GitTimeout(self._command, self._timeout_s)
        chunk = os.read(self._file.fileno(), _CHUNK_BYTES)
        self._ended = not chunk
        return chunk

    def line(self) -> bytes:
        """Return the next line without its line feed, or nothing at the end of the output."""
        while (at := self._buffer.find(b"\n")) < 0:
            if not self._more():
                return b""
        line = bytes(self._buffer[:at])
        del self._buffer[: at + 1]
        return line

    def exactly(self, size: int) -> bytes:
        """Return the next *size* bytes.

        Raises:
            EOFError: the output ends before.
        """
        while len(self._buffer) < size:
            if not self._more():
                raise EOFError
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def exit_code(self) -> int:
        """Return the exit code of a command whose output was read to its end, 0 for one that was left early."""
        if not self._ended:
            return 0
        await_exit(self._process, self._left_s)
        try:
            return self._process.wait(0)
        except subprocess.TimeoutExpired as error:
            raise GitTimeout(self._command, self._timeout_s) from error

    def end(self) -> None:
        """Close the output, and end git and the processes that it started, if git still runs."""
        self._file.close()
        if self._process.poll() is not None:
            return
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_WAIT_S)
        if self._leads_group:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def _more(self) -> bool:
        chunk = self.read()
        self._buffer += chunk
        return bool(chunk)


def await_exit(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Wait until *process* ends, at most *timeout_s* seconds.

    ``Popen.wait`` with a timeout sleeps between its looks, which costs milliseconds for each command.
    """
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # another system than Linux, or an old kernel
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout_s)
        return
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        ended.poll(timeout_s * 1000)
    finally:
        os.close(descriptor)


@contextmanager
def as_input(stdin: bytes | IO[bytes]) -> Iterator[IO[bytes] | int]:
    """Yield *stdin* as a file to read from: over a pipe, both sides could wait for each other."""
    if not stdin:
        yield subprocess.DEVNULL
    elif isinstance(stdin, bytes):
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            yield file
    else:
        yield stdin
