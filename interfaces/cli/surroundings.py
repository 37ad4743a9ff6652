"""Own what a command takes from its process: environment, working folder and streams.

A command that runs in the service (``interfaces.service``) has those of the process that asked for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ..terminal_size import terminal_columns

__all__ = ["CallSurroundings", "surrounded_by", "surroundings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSurroundings:
    """Environment variables, absolute working folder, standard output and standard error of a command.

    *terminals* has the columns of the streams of the process that asked, ``out`` and ``err``: 0 where one is no
    terminal. It is ``None`` where the streams are this process's own, which are asked.
    """

    environ: Mapping[str, str]
    folder: Path
    out: TextIO
    err: TextIO
    terminals: Mapping[str, int] | None = None

    def columns(self, *, error: bool = False) -> int:
        """Return the columns of the terminal that is standard output, or standard error, and 0 without one."""
        if self.terminals is not None:
            return self.terminals.get("err" if error else "out", 0)
        return terminal_columns(self.err if error else self.out)


_GIVEN: ContextVar[CallSurroundings | None] = ContextVar("surroundings", default=None)


def surroundings() -> CallSurroundings:
    """Return the surroundings of the running command: those of this process, unless others were given."""
    given = _GIVEN.get()
    if given is not None:
        return given
    return CallSurroundings(environ=os.environ, folder=Path.cwd(), out=sys.stdout, err=sys.stderr)


@contextmanager
def surrounded_by(given: CallSurroundings) -> Iterator[None]:
    """Run commands of this thread or task with the surroundings *given*."""
    token = _GIVEN.set(given)
    try:
        yield
    finally:
        _GIVEN.reset(token)
