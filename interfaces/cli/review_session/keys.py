"""Read single keys from the terminal, and keep Ctrl-C from breaking into a decision.

A key counts only if it is pressed after the question is on the screen: keys that were typed ahead, or pasted, are
dropped, so that nobody decides about a text that is not shown yet.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import click

__all__ = ["press", "uninterrupted"]

_INTERRUPT = b"\x03"
_MOST_BYTES = 1024


def press() -> str:
    """Wait for a key and return it in lower case. A paste or a function key is longer than one character.

    Raises:
        KeyboardInterrupt: the key is Ctrl-C.
        EOFError: the key is Ctrl-D, or the terminal is gone.
    """
    key = click.getchar()
    if not key:
        raise EOFError
    return key.lower()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Do what follows to its end, git commands included. Ctrl-C takes effect afterwards.

    The terminal sends no signal meanwhile, because it would reach the git commands as well.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed meanwhile, or the process got its signal. Raised at the end.
    """
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        with _quiet_terminal(came):
            yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


@contextmanager
def _quiet_terminal(came: list[int]) -> Iterator[None]:
    """Let the terminal hand over Ctrl-C as a character, and note it in *came*."""
    descriptor = sys.stdin.fileno()
    try:
        kept = termios.tcgetattr(descriptor)
    except termios.error:
        yield
        return
    quiet = termios.tcgetattr(descriptor)
    quiet[3] &= ~(termios.ISIG | termios.ICANON | termios.ECHO)
    quiet[6] = [*quiet[6]]
    quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 0, 0  # a read takes what is there and does not wait
    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    try:
        yield
        with suppress(OSError):
            if _INTERRUPT in os.read(descriptor, _MOST_BYTES):
                came.append(signal.SIGINT)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, kept)
