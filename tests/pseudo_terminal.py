"""A command in a pseudo-terminal of its own, with a person's keys and what a person would see."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Self

#: A busy machine takes long to start a process.
_WAIT_S = 30.0
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: Makes the terminal that of the process, so that its keys send signals.
_OWN_TERMINAL = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
MEMORY = "from interfaces.cli import main; main()"


class PseudoTerminal:
    """The Python *script*, by default ``memory``, with *arguments*, run in a terminal with so many *columns*."""

    def __init__(
        self, arguments: Sequence[str] = (), environ: Mapping[str, str] | None = None, *, columns: int = 80,
        script: str = MEMORY,
    ) -> None:  # fmt: skip
        self.raw = ""
        self._seen = 0
        self.exit_code: int | None = None
        self._descriptor, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _OWN_TERMINAL + script, *arguments], stdin=follower, stdout=follower,
            stderr=follower, env={**os.environ, "TERM": "xterm", **(environ or {})}, start_new_session=True,
        )  # fmt: skip
        os.close(follower)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.exit_code is None:
            self.process.kill()
            self.process.wait()
        os.close(self._descriptor)

    @property
    def text(self) -> str:
        """What was printed, without colours."""
        return _ESCAPE.sub("", self.raw).replace("\r\n", "\n")

    def press(self, keys: str, *, after: str) -> str:
        """Wait until *after* is printed, press *keys*, and return what was printed since the last keys."""
        shown = self.wait_for(after)
        os.write(self._descriptor, keys.encode())
        return shown

    def wait_for(self, expected: str) -> str:
        """Wait until *expected* is printed, and return what was printed since the last wait."""
        until = time.monotonic() + _WAIT_S
        while expected not in self.text[self._seen :]:
            if not self._read(until - time.monotonic()):
                raise AssertionError(f"{expected!r} was not printed, but: {self.text[self._seen :]!r}")
        begun = self._seen
        self._seen = self.text.index(expected, begun) + len(expected)
        return self.text[begun : self._seen]

    def end(self) -> str:
        """Wait for the end of the command, and return what was printed since the last wait."""
        until = time.monotonic() + _WAIT_S
        while self._read(until - time.monotonic()):
            pass
        self.exit_code = self.process.wait()
        return self.text[self._seen :]

    def _read(self, left_s: float) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], max(left_s, 0))
        if not ready:
            raise AssertionError(f"the command does not go on after {self.text[-500:]!r}")
        try:
            part = os.read(self._descriptor, 1 << 16)
        except OSError as error:  # how Linux says that the other side is closed
            if error.errno != errno.EIO:
                raise
            part = b""
        self.raw += part.decode("utf-8", "replace")
        return bool(part)
