"""Read single keys from the terminal, and keep Ctrl-C from breaking into a decision.

A key counts only if it is pressed after the question is on the screen. Keys that were typed ahead are dropped, so that
nobody decides about a text that is not shown yet.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["press", "uninterrupted"]

_INTERRUPT, _END = "\x03", "\x04"
_MOST_BYTES = 1024


def press(ask: Callable[[], None]) -> str:
    """Call *ask*, wait for a key and return it in lower case. A paste or a function key has several characters.

    Raises:
        KeyboardInterrupt: the key is Ctrl-C.
        EOFError: the key is Ctrl-D, or the terminal is gone.
    """
    with _keys_at_once(least=1) as descriptor:
        ask()
        try:
            key = os.read(descriptor, _MOST_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise EOFError from error
    if _INTERRUPT in key:
        raise KeyboardInterrupt
    if not key or _END in key:
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
        with _keys_at_once(least=0) as descriptor:
            yield
            pressed = os.read(descriptor, _MOST_BYTES).decode("utf-8", "replace")
    finally:
        signal.signal(signal.SIGINT, before)
    if came or _INTERRUPT in pressed:
        raise KeyboardInterrupt


@contextmanager
def _keys_at_once(*, least: int) -> Iterator[int]:
    """Let the terminal hand over each key at once and unseen, Ctrl-C included. A read waits for *least* bytes."""
    descriptor = sys.stdin.fileno()
    kept = termios.tcgetattr(descriptor)
    changed = termios.tcgetattr(descriptor)
    changed[3] &= ~(termios.ISIG | termios.ICANON | termios.ECHO)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = least, 0
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, changed)
    try:
        yield descriptor
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, kept)
