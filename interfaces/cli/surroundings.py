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

__all__ = ["CallSurroundings", "surrounded_by", "surroundings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSurroundings:
    """Environment variables, absolute working folder, standard output and standard error of a command."""

    environ: Mapping[str, str]
    folder: Path
    out: TextIO
    err: TextIO


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
