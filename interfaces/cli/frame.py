"""What every command shares: the home it works on, ``--json``, ``--now``, and errors as one line and an exit code.

A command parses, calls one function and prints. Slow libraries are imported inside the function that needs them, so
that ``memory --help`` stays quick.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import click

from agent_home.clock import now, parse_time
from agent_home.home import Home, find_home

__all__ = ["EXIT_CODES", "FINDINGS", "INTERRUPTED", "Frame", "LazyGroup", "home_command", "homes_command", "options"]

#: Done, but with findings.
FINDINGS = 1
#: A defect of this program.
DEFECT = 70
#: Ended by Ctrl-C, as shells count it: 128 and the signal's number.
INTERRUPTED = 130
#: Error class, by name because importing its package may be slow, to exit code. Subclasses share their parent's.
EXIT_CODES: Mapping[str, int] = {
    "click.exceptions.UsageError": 2,
    "agent_home.errors.NoSuchEntry": 2,
    "distill.errors.NoSuchSession": 2,
    "distill.errors.NoSuchProposal": 2,
    "distill.errors.NotAllowed": 2,
    "distill.errors.NotPlaceable": 7,
    "distill.errors.NotRevertable": 7,
    "distill.errors.EmptySession": 7,
    "distill.errors.Contended": 5,
    "assembler.errors.WindowTooSmall": 2,
    "agent_home.errors.NoHome": 3,
    "agent_home.errors.GuardRefused": 4,
    "guard.policy.GuardError": 4,
    "agent_home.errors.Locked": 5,
    "agent_home.errors.Changed": 5,
    "recall.errors.IndexUnusable": 6,
    "agent_home.errors.DocumentInvalid": 7,
    "agent_home.errors.SettingsInvalid": 7,
    "agent_home.errors.HomeError": 8,
    "recall.errors.RecallError": 8,
    "apsw.Error": 8,
    "assembler.errors.AssemblerError": 8,
    "distill.errors.DistillError": 8,
    "builtins.OSError": 8,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What the shared options said. *moment* is ``--now`` or the present."""

    home_option: str | None
    as_json: bool
    moment: datetime

    @property
    def home(self) -> Home:
        """The home that is meant.

        Raises:
            NoHome: there is none.
        """
        return find_home(self.home_option, os.environ, Path.cwd())

    def show(self, data: Mapping[str, Any], lines: Iterable[str]) -> None:
        """Print *data* as one JSON document under ``--json``, and *lines* for a person otherwise."""
        if self.as_json:
            click.echo(json.dumps(data, ensure_ascii=False, indent=2))
            return
        for line in lines:
            click.echo(line)

    def warn(self, message: str) -> None:
        """Say something on standard error: it never mixes with the data."""
        click.echo(f"memory: {message}", err=True)


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--home``, ``--json`` and ``--now``, gathered in a :class:`Frame` as its first argument."""

    @click.option("--home", "home_option", metavar="DIR", help="The home (else $AGENT_HOME, else the nearest above).")
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
    @click.option("--now", "moment", metavar="TIME", callback=_moment, help="Take this ISO 8601 time for the present.")
    @functools.wraps(function)
    def wrapped(home_option: str | None, as_json: bool, moment: datetime, **arguments: Any) -> Any:
        return function(Frame(home_option=home_option, as_json=as_json, moment=moment), **arguments)

    return wrapped


def home_command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """A click command with the shared options; its function gets the :class:`Frame` first."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        make: Callable[[Callable[..., Any]], click.Command] = click.command(name, **attributes)
        return make(options(function))

    return decorate


def homes_command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command over several homes: ``--home`` may be repeated; its function gets a :class:`Frame` for each."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.option(
            "--home", "homes", multiple=True, metavar="DIR",
            help="A home, may be repeated (else $AGENT_HOME, else the nearest above).",
        )  # fmt: skip
        @click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
        @click.option(
            "--now", "moment", metavar="TIME", callback=_moment, help="Take this ISO 8601 time for the present."
        )
        @functools.wraps(function)
        def wrapped(homes: tuple[str, ...], as_json: bool, moment: datetime, **arguments: Any) -> Any:
            named = dict.fromkeys(homes) or [None]
            frames = [Frame(home_option=home, as_json=as_json, moment=moment) for home in named]
            return function(frames, **arguments)

        make: Callable[[Callable[..., Any]], click.Command] = click.command(name)
        return make(wrapped)

    return decorate


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for.

    *lazy* maps a command's name to ``module:attribute``, in the order in which ``--help`` lists them. Errors of the
    packages become one line on standard error and an exit code.
    """

    def __init__(self, *arguments: Any, lazy: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.lazy:
            return None
        module, attribute = self.lazy[cmd_name].split(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.lazy[cmd_name]} is no command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            _refuse(ctx, error)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _refuse(error.ctx or ctx, error)
        except click.ClickException:
            raise
        except BrokenPipeError:
            _discard_output()
            ctx.exit(0)
        except click.exceptions.Exit:
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("memory: interrupted; what was committed stays, run the command again to go on", err=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if os.environ.get("AGENT_HOME_DEBUG"):
                raise
            click.echo(f"memory: {_message(error)}", err=True)
            ctx.exit(exit_code(error) or DEFECT)


def exit_code(error: BaseException) -> int | None:
    """The exit code of an error that is expected to happen; ``None`` for a defect of the program."""
    for kind in type(error).__mro__:
        code = EXIT_CODES.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return code
    return None


def _message(error: Exception) -> str:
    text = " ".join(str(error).split())
    if exit_code(error) is not None:
        return text
    return f"internal error, {type(error).__name__}: {text}; report it with what AGENT_HOME_DEBUG=1 shows"


def _refuse(context: click.Context, error: click.UsageError) -> NoReturn:
    """Wrong usage as one line: click would print three."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message())
        context.exit(2)
    hint = f"`{context.command_path} --help` explains"
    click.echo(f"memory: {' '.join(error.format_message().split()).rstrip('.')}; {hint}", err=True)
    context.exit(2)


def _moment(_context: click.Context, _parameter: click.Parameter, value: str | None) -> datetime:
    if value is None:
        return now()
    try:
        return parse_time(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _discard_output() -> None:
    """The reader of our output is gone: let the interpreter's last flush go nowhere instead of complaining."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
