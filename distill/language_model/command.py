"""Run a program of this machine that reads a prompt from standard input and prints an answer.

The command line is split into words and never given to a shell. The program gets a process group of its own, which is
ended with it when it runs too long or prints too much. Its error output is not read.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

__all__ = ["CommandFailed", "run_command"]

_CHUNK_BYTES = 65_536


class CommandFailed(Exception):
    """The command gave no usable answer. The message says why."""


def run_command(
    line: str, text: str, *, timeout_s: float, max_bytes: int, environ: Mapping[str, str] | None = None
) -> str:
    """Return what the command *line* prints after reading *text*. Without *environ* it gets this process's variables.

    Raises:
        CommandFailed: it cannot be started, fails, or prints no UTF-8 text of at most *max_bytes* within *timeout_s*.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise CommandFailed(f"the command line cannot be split into words: {error}") from error
    if not words:
        raise CommandFailed("the command line is empty")
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=None if environ is None else dict(environ),
        )
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{words[0]} cannot be started: {error}") from error
    deadline = time.monotonic() + timeout_s
    timer = threading.Timer(timeout_s, _end, [process])
    timer.start()
    try:
        printed = _exchange(process, text.encode("utf-8", "replace"), max_bytes)
        code = process.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"no complete answer within {timeout_s:g} s") from error
    finally:
        timer.cancel()
        _end(process)
    if time.monotonic() >= deadline:
        raise CommandFailed(f"no complete answer within {timeout_s:g} s")
    if len(printed) > max_bytes:
        raise CommandFailed(f"the answer is longer than {max_bytes} bytes")
    if code != 0:
        raise CommandFailed(f"{words[0]} ended with code {code}")
    try:
        return printed.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandFailed("the answer is not UTF-8") from error


def _exchange(process: subprocess.Popen[bytes], text: bytes, max_bytes: int) -> bytes:
    """Write *text* while the answer is read, up to a little more than *max_bytes*."""
    assert process.stdin is not None  # noqa: S101  # both are pipes
    assert process.stdout is not None  # noqa: S101
    stdin = process.stdin

    def write() -> None:
        with suppress(OSError, ValueError), stdin:
            stdin.write(text)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    printed = bytearray()
    with process.stdout as out:
        while len(printed) <= max_bytes and (chunk := out.read1(_CHUNK_BYTES)):  # type: ignore[attr-defined]
            printed += chunk
    if len(printed) > max_bytes:
        _end(process)
    return bytes(printed)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group of a command. A child may outlive its parent and hold the output open."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
