"""Run a command of ``memory`` in this process for another one, with its surroundings and its streams."""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import click

from agent_home.visible import visible_line
from interfaces.cli import cli
from interfaces.cli.exit_codes import DEFECT
from interfaces.cli.surroundings import CallSurroundings, surrounded_by, surroundings

from .client import FORWARDED, Answer

__all__ = ["run_command"]


class _CallersHandler(logging.Handler):
    """Handler of warnings: they go to the standard error of the command that they belong to."""

    def emit(self, record: logging.LogRecord) -> None:
        surroundings().err.write(f"memory: {visible_line(record.getMessage())}\n")


#: Columns of streams that are no terminal.
_NO_TERMINAL: Mapping[str, int] = MappingProxyType({})
_HANDLER = _CallersHandler(logging.WARNING)


def run_command(
    arguments: Sequence[str], folder: Path, environ: Mapping[str, str], terminals: Mapping[str, int] = _NO_TERMINAL
) -> Answer:
    """Run the command line *arguments* as if it had been started in *folder* with the variables *environ*.

    *terminals* has the columns of its streams, see ``CallSurroundings``.

    Raises:
        ValueError: the command is none that the service runs.
    """
    if not arguments or arguments[0] not in FORWARDED:
        raise ValueError(f"the service does not run {arguments[:1]!r}")
    root = logging.getLogger()
    if _HANDLER not in root.handlers:
        root.addHandler(_HANDLER)
    out, err = io.StringIO(), io.StringIO()
    given = CallSurroundings(environ=environ, folder=folder, out=out, err=err, terminals=terminals)
    with surrounded_by(given):
        try:
            code = cli.main(list(arguments), prog_name="memory", standalone_mode=False)
        except click.exceptions.Exit as stop:
            code = stop.exit_code
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else DEFECT
    return Answer(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
