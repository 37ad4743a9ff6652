"""Run a child process, pass on what it prints at once, and keep it in a spool line by line.

The child ends as it would without us. When nobody reads its output any more, its pipe is closed, so it gets SIGPIPE.
Signals reach it. A process that it left behind, and that holds its pipes, is not waited for.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, BinaryIO, Self

__all__ = ["GRACE_S", "KEPT_BYTES", "ChildNotStarted", "ChildSignals", "Spool", "run_child", "silence"]

#: Bytes of one run that are kept. The rest is passed on alone, so that no run fills the disk.
KEPT_BYTES = 1 << 30
#: Seconds for the pipes to reach their end once the child has ended: a pipe holds at most a megabyte, which takes
#: milliseconds. A pipe that is still open then belongs to a process that the child left behind.
GRACE_S = 2.0
_PART = 1 << 16
#: Bytes of an unfinished line that wait for its end.
_LONGEST_LINE = 1 << 16
#: Places that are known. What lies behind them counts as of the first stream.
_MOST_PLACES = 200_000
_STEP_S = 0.02
#: Exit codes of shells for a command that is not there, and for one that cannot be run.
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ChildNotStarted(Exception):
    """The command cannot be started. *code* is the exit code that shells give."""

    def __init__(self, name: str, error: OSError) -> None:
        self.code = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
        advice = "Check its name and $PATH" if self.code == _NOT_FOUND else "Check that it is a program, and its mode"
        super().__init__(f"{name} cannot be run: {error.strerror}. {advice}")


class Spool:
    """An unbuffered file with the lines of several streams, each line whole. A line of more than 64 KB may be divided.

    *kept* are the bytes in it, and *lost* those that were not kept, because they are beyond *most_bytes* or because
    the disk is full. *errors* are the places of what is not of the first stream, in order: its start and its end.
    """

    def __init__(self, file: BinaryIO, *, most_bytes: int = KEPT_BYTES) -> None:
        self.file, self.kept, self.lost = file, 0, 0
        self.errors: list[tuple[int, int]] = []
        self._most = most_bytes
        self._lock = threading.Lock()
        self._waiting: dict[int, bytearray] = {}
        self._unfinished = -1
        self._done = False

    def add(self, stream: int, data: bytes) -> None:
        """Keep *data* of the stream with that number, as far as its lines are complete."""
        with self._lock:
            if self._done:
                return
            waiting = self._waiting.setdefault(stream, bytearray())
            end = data.rfind(b"\n") + 1
            if not end and len(waiting) + len(data) > _LONGEST_LINE:
                end = len(data)
            if end:
                self._write(stream, bytes(waiting) + data[:end])
                waiting.clear()
            waiting += data[end:]

    def finish(self) -> None:
        """Keep the unfinished lines, and nothing more after them."""
        with self._lock:
            self._done = True
            for stream, waiting in sorted(self._waiting.items()):
                if waiting:
                    self._write(stream, bytes(waiting))

    def _write(self, stream: int, data: bytes) -> None:
        divider = b"\n" if self._unfinished not in {-1, stream} else b""
        if self.lost or self.kept + len(divider) + len(data) > self._most or not self._written(divider + data):
            self.lost += len(data)
            return
        if stream and len(self.errors) < _MOST_PLACES:
            start, end = self.kept + len(divider), self.kept + len(divider) + len(data)
            if self.errors and self.errors[-1][1] == start:
                start = self.errors.pop()[0]
            self.errors.append((start, end))
        self.kept += len(divider) + len(data)
        self._unfinished = -1 if data.endswith(b"\n") else stream

    def _written(self, data: bytes) -> bool:
        """Write *data*, or nothing of it where the disk is full."""
        left = memoryview(data)
        try:
            while left:
                left = left[self.file.write(left) :]
        except OSError:
            with contextlib.suppress(OSError):
                self.file.truncate(self.kept)
                self.file.seek(self.kept)
            return False
        return True


class ChildSignals:
    """Signals for this process while it runs a child and keeps what the child printed.

    SIGINT, SIGTERM and SIGHUP go to the child. A first Ctrl-C at a terminal reaches it by itself, a second one is sent
    as well. After the child has ended, one signal shortens the wait for its pipes, and a second SIGINT interrupts.
    """

    def __init__(self) -> None:
        self.hurry = False
        self._child: subprocess.Popen[bytes] | None = None
        self._over = False
        self._interrupts = 0
        self._early: list[int] = []
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in _PASSED_ON:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks
                self._before[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def started(self, child: subprocess.Popen[bytes]) -> None:
        """Send signals to *child* from now on."""
        self._child = child
        for number in self._early:
            child.send_signal(number)

    def ended(self) -> None:
        """Note that the child has ended."""
        self._over = True

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        if self._over:
            if self.hurry and number == signal.SIGINT:
                raise KeyboardInterrupt
            self.hurry = True
        elif number == signal.SIGINT and self._typed_first():
            return
        elif self._child is None:
            self._early.append(number)
        else:
            self._child.send_signal(number)

    def _typed_first(self) -> bool:
        """Return whether this is the first Ctrl-C at a terminal, which signals the child too."""
        self._interrupts += 1
        return self._interrupts == 1 and any(_is_ours(descriptor) for descriptor in range(3))


def _is_ours(descriptor: int) -> bool:
    """Return whether *descriptor* is the terminal whose Ctrl-C signals our process group."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False


def run_child(
    command: Sequence[str], *, environ: Mapping[str, str], folder: Path, spool: Spool, targets: tuple[int, int],
    signals: ChildSignals,
) -> int:  # fmt: skip
    """Run *command*, pass on what it prints to *targets*, keep it in *spool*, and return its exit code.

    Args:
        command: program and arguments.
        environ: its environment variables.
        folder: its working folder.
        spool: gets what it prints. It is finished afterwards.
        targets: descriptors that get its standard output and its standard error.
        signals: passes signals on to it.

    Returns:
        The exit code as shells give it: 128 and the number for a signal.

    Raises:
        ChildNotStarted: there is no such program, or it cannot be run.
    """
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, cwd=folder, bufsize=0
        )
    except OSError as error:
        raise ChildNotStarted(command[0], error) from error
    signals.started(process)
    sources = [source for source in (process.stdout, process.stderr) if source is not None]
    pairs = enumerate(zip(sources, targets, strict=True))
    readers = [_Reader(stream, source, target, spool) for stream, (source, target) in pairs]
    for reader in readers:
        reader.start()
    code = process.wait()
    signals.ended()
    _wait_for_ends(readers, signals)
    spool.finish()
    return code if code >= 0 else 128 - code


def _wait_for_ends(readers: Sequence[_Reader], signals: ChildSignals) -> None:
    """Wait until the pipes are read to their ends. Time in which a slow terminal takes the rest does not count."""
    left = GRACE_S
    while left > 0 and not signals.hurry and any(reader.is_alive() for reader in readers):
        began = time.monotonic()
        for reader in readers:
            reader.join(_STEP_S)
        if not any(reader.writing for reader in readers):
            left -= time.monotonic() - began


class _Reader(threading.Thread):
    """Reads a pipe of the child to its end, or until nobody takes what comes. The interpreter's exit ends it too."""

    def __init__(self, stream: int, source: IO[bytes], target: int, spool: Spool) -> None:
        super().__init__(daemon=True)
        self.writing = False
        self._stream, self._source, self._target, self._spool = stream, source, target, spool

    def run(self) -> None:
        with self._source as source:  # closing it is what gives the child SIGPIPE
            number = source.fileno()
            while data := os.read(number, _PART):
                self._spool.add(self._stream, data)
                if not self._passed_on(data):
                    return

    def _passed_on(self, data: bytes) -> bool:
        """Return whether the target took *data*."""
        left = memoryview(data)
        self.writing = True
        try:
            while left:
                try:
                    left = left[os.write(self._target, left) :]
                except BlockingIOError:  # a terminal that another program uses without waiting
                    select.select([], [self._target], [])
        except OSError:
            return False
        finally:
            self.writing = False
        return True


def silence(descriptor: int) -> None:
    """Send what is still written to *descriptor*, whose reader is gone, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, descriptor)
    os.close(null)
