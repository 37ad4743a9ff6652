"""Own the options that every command shares: the home it works on, ``--json`` and ``--now``.

A command parses, calls one function and prints. It imports slow libraries inside the function that needs them, so that
``memory --help`` stays quick.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from agent_home.clock import now, parse_time
from agent_home.consent.settings_in_effect import accept_settings, settings_digest
from agent_home.errors import SettingsInvalid
from agent_home.home import Home, find_home
from agent_home.last_manifest import with_last_manifest
from agent_home.settings import MANIFEST, load_manifest

from .columns import Span
from .command import Command, Example, no_colours
from .render import write_json, write_line, write_spans, write_text
from .surroundings import surroundings

if TYPE_CHECKING:
    from distill.summary.composition import Models

__all__ = ["Invocation", "home_command", "homes_command", "options", "options_without_home"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """Values of the shared options in one call of a command. *moment* is ``--now`` or the present."""

    home_option: str | None
    as_json: bool
    moment: datetime

    @property
    def home(self) -> Home:
        """The home to work on. A broken ``agent.toml`` is named, and its last good version is used.

        Raises:
            NoHome: if there is none.
            SettingsBroken: ``agent.toml`` is broken, and git has no good version.
        """
        given = surroundings()
        found = find_home(self.home_option, given.environ, given.folder)
        home, problem = with_last_manifest(found)
        if problem:
            self._warn_once(problem)
        return _with_operators_consent(home, given.environ.get("AGENT_HOME_TRUST_SETTINGS", ""))

    def models(self, home: Home) -> Models:
        """Return the models of *home*, with keys and command lines from the variables of this call."""
        from interfaces.models import home_models

        return home_models(home, surroundings().environ, self.warn)

    def clock(self) -> Callable[[], datetime]:
        """Return what gives the time of each step of a long command: ``--now`` if it was given, else the present."""
        context = click.get_current_context()
        fixed = context.get_parameter_source("moment") is ParameterSource.COMMANDLINE
        return (lambda: self.moment) if fixed else now

    def show(self, data: Mapping[str, Any], lines: Iterable[str]) -> None:
        """Print *data* as one JSON document under ``--json``, else each of *lines* as one line for a person."""
        if self.as_json:
            write_json(data, indent=2)
            return
        for line in lines:
            write_line(line)

    def show_spans(self, data: Mapping[str, Any], lines: Iterable[Sequence[Span]]) -> None:
        """Print *data* as one JSON document under ``--json``, else each of *lines* with its colours."""
        if self.as_json:
            write_json(data, indent=2)
            return
        for spans in lines:
            write_spans(spans)

    def show_text(self, data: Mapping[str, Any] | Callable[[], Mapping[str, Any]], text: str) -> None:
        """Print *data* as one JSON document under ``--json``, else *text*, which may have several lines."""
        if self.as_json:
            write_json(data() if callable(data) else data, indent=2)
        else:
            write_text(text)

    def _warn_once(self, message: str) -> None:
        context = click.get_current_context(silent=True)
        said: set[str] = context.find_root().meta.setdefault(f"{__name__}.said", set()) if context else set()
        if message not in said:
            said.add(message)
            self.warn(message)

    def warn(self, message: str) -> None:
        """Print *message* on standard error, so that it never mixes with the data."""
        write_line(f"memory: {message}", error=True)


def _with_operators_consent(home: Home, digest: str) -> Home:
    """Return *home* with the settings that wait in effect, if *digest* names exactly them."""
    if digest:
        with contextlib.suppress(SettingsInvalid):  # the command that needs a setting names what is wrong
            if settings_digest(home.manifest.waiting) == digest:
                accept_settings(load_manifest(home.root / MANIFEST), home.machine)
                return Home(home.root)
    return home


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--home``, ``--json`` and ``--now``, and pass them as its first argument."""

    @click.option("--home", "home_option", metavar="DIR", help="The home (default: $AGENT_HOME, or the nearest above).")
    @_json_and_now
    @functools.wraps(function)
    def wrapped(home_option: str | None, as_json: bool, moment: datetime, **arguments: Any) -> Any:
        return function(Invocation(home_option=home_option, as_json=as_json, moment=moment), **arguments)

    return wrapped


def options_without_home(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that works on no home ``--json`` and ``--now``, and pass them as its first argument."""

    @_json_and_now
    @functools.wraps(function)
    def wrapped(as_json: bool, moment: datetime, **arguments: Any) -> Any:
        return function(Invocation(home_option=None, as_json=as_json, moment=moment), **arguments)

    return wrapped


def home_command(
    name: str, *, examples: Sequence[Example] = ()
) -> Callable[[Callable[..., Any]], Command]:  # fmt: skip
    """Make a command with the shared options. Its function receives the :class:`Invocation` first."""

    def decorate(function: Callable[..., Any]) -> Command:
        return click.command(name, cls=Command, examples=examples)(options(function))

    return decorate


def homes_command(name: str, *, examples: Sequence[Example] = ()) -> Callable[[Callable[..., Any]], Command]:
    """Make a command for several homes. ``--home`` may be repeated, and each home has its :class:`Invocation`."""

    def decorate(function: Callable[..., Any]) -> Command:
        @click.option(
            "--home", "homes", multiple=True, metavar="DIR",
            help="A home. May be repeated (default: $AGENT_HOME, or the nearest above).",
        )  # fmt: skip
        @_json_and_now
        @functools.wraps(function)
        def wrapped(homes: tuple[str, ...], as_json: bool, moment: datetime, **arguments: Any) -> Any:
            named = dict.fromkeys(homes) or [None]
            invocations = [Invocation(home_option=home, as_json=as_json, moment=moment) for home in named]
            return function(invocations, **arguments)

        return click.command(name, cls=Command, examples=examples)(wrapped)

    return decorate


def _json_and_now(function: Callable[..., Any]) -> Callable[..., Any]:
    add_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
    add_now = click.option(
        "--now", "moment", metavar="TIME", callback=_moment, help="Use this ISO 8601 time as the present."
    )
    add_no_colours = no_colours(hidden=True)
    decorated: Callable[..., Any] = add_json(add_now(add_no_colours(function)))
    return decorated


def _moment(_context: click.Context, _parameter: click.Parameter, value: str | None) -> datetime:
    if value is None:
        return now()
    try:
        return parse_time(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
