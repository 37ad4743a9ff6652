"""Click commands and groups of ``memory``: help with examples, suggestions for mistyped words, errors in one line."""

from __future__ import annotations

import difflib
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from agent_home.visible import visible_line
from agent_home.waiting import announce_wait

from .exit_codes import DEFECT, INTERRUPTED, MEANINGS, WRONG_USAGE, exit_code
from .render import clear_progress, write_line, write_text
from .surroundings import surroundings

__all__ = ["Command", "Example", "Group", "LazyGroup", "no_colours"]

#: Options of most commands, which stand after the command's name.
_SHARED_OPTIONS = ("--home", "--json", "--now")
#: How alike a mistyped word and a command must be: "forget" is not offered for "get". Most commands that are offered.
_LEAST_ALIKE, _MOST_SUGGESTED = 0.7, 3
#: What the example does, and the command line.
Example = tuple[str, str]


def _without_colours(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        context.color = False


def no_colours(*, hidden: bool = False) -> Callable[[Any], Any]:
    """Return the decorator of ``--no-color``. It may stand before a subcommand and, *hidden* in the help, after it."""
    return click.option(
        "--no-color", is_flag=True, expose_value=False, is_eager=True, hidden=hidden, callback=_without_colours,
        help="Print no colours. NO_COLOR and TERM=dumb do the same, and a pipe gets none.",
    )  # fmt: skip


class Command(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *arguments: Any, examples: Sequence[Example] = (), **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        _write_examples(formatter, self.examples)


class Group(click.Group):
    """A group whose help ends with examples, and which suggests a command for a mistyped one."""

    def __init__(self, *arguments: Any, examples: Sequence[Example] = (), **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        _write_examples(formatter, self.examples)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not (ctx.resilient_parsing or name.startswith("-")) and self.get_command(ctx, name) is None:
            raise _UnknownCommand(name, self._suggestions(ctx, name), ctx)
        return super().resolve_command(ctx, args)

    def _suggestions(self, ctx: click.Context, name: str) -> list[str]:
        """Return commands that begin like *name* or are spelled like it, else subcommands that are called *name*."""
        known, folded = self.list_commands(ctx), name.casefold()
        begun = [other for other in known if len(folded) > 1 and other.startswith(folded)]
        own = begun or difflib.get_close_matches(folded, known, cutoff=_LEAST_ALIKE)
        return own[:_MOST_SUGGESTED] or [path for path in self._subcommands(ctx) if path.split()[-1] == folded]

    def _subcommands(self, ctx: click.Context) -> Iterator[str]:
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if isinstance(command, click.Group):
                yield from (f"{name} {subcommand}" for subcommand in command.list_commands(ctx))


class LazyGroup(Group):
    """A group that imports a command when it is called, and lists commands under headings without importing them.

    *sections* maps each heading of the help to its commands: a command's name to its ``module:attribute`` and its
    summary. *other_names* maps names that people try to the commands that they mean. An error of this project's
    packages becomes one line on standard error and an exit code.
    """

    def __init__(
        self,
        *arguments: Any,
        sections: Mapping[str, Mapping[str, tuple[str, str]]],
        other_names: Mapping[str, Sequence[str]] = MappingProxyType({}),
        **attributes: Any,
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.sections = sections
        self.other_names = other_names
        self._targets = {name: target for section in sections.values() for name, (target, _) in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._targets)

    def _suggestions(self, ctx: click.Context, name: str) -> list[str]:
        return list(self.other_names.get(name.casefold(), ())) or super()._suggestions(ctx, name) or self._about(name)

    def _about(self, word: str) -> list[str]:
        """Return the commands whose summary has *word*, if they are few: a word of all of them says nothing."""
        stem = word.casefold().removesuffix("s")
        found = [
            name
            for section in self.sections.values()
            for name, (_, summary) in section.items()
            if stem in {other.strip(".,").removesuffix("s") for other in summary.casefold().split()}
        ]
        return found if len(found) <= _MOST_SUGGESTED else []

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return commands that begin with *incomplete*, without importing one, and else the options of the group."""
        named = (item for section in self.sections.values() for item in section.items())
        found = [CompletionItem(name, help=told) for name, (_, told) in named if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        target = self._targets.get(cmd_name)
        if target is None:
            return None
        module, attribute = target.split(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{target} is not a command. Correct the table of commands.")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, self._targets))
        for heading, section in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), summary) for name, (_, summary) in section.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(f"{code:3}", meaning) for code, meaning in MEANINGS.items()])
        super().format_epilog(ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            _report_wrong_usage(ctx, error)

    def invoke(self, ctx: click.Context) -> Any:
        announce_wait.set(_announce_wait)
        ctx.call_on_close(clear_progress)
        if logging.lastResort is not None:
            logging.lastResort.setFormatter(_LineFormatter("memory: %(message)s"))
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _report_wrong_usage(error.ctx or ctx, error)
        except click.ClickException as error:  # such as a file that cannot be opened
            write_line(f"memory: {error.format_message()}", error=True)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            _discard_output()
            ctx.exit(0)
        except click.exceptions.Exit:
            raise
        except (KeyboardInterrupt, click.Abort):
            write_line("memory: interrupted. Commits made so far stay. Run the command again to continue.", error=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            if surroundings().environ.get("AGENT_HOME_DEBUG"):
                raise
            write_line(f"memory: {_message(error)}", error=True)
            ctx.exit(exit_code(error) or DEFECT)


class _LineFormatter(logging.Formatter):
    """Formatter of warnings that go to standard error: one line each, whatever names they hold."""

    def format(self, record: logging.LogRecord) -> str:
        return visible_line(super().format(record))


class _UnknownCommand(click.UsageError):
    """A group has no command of this name."""

    def __init__(self, name: str, suggestions: Sequence[str], context: click.Context) -> None:
        super().__init__(f"no such command {name!r}", context)
        self.name = name
        self.suggestions = suggestions


def _write_examples(formatter: click.HelpFormatter, examples: Sequence[Example]) -> None:
    """Write each example as a comment and a command line, which is never wrapped so that it can be copied."""
    if not examples:
        return
    with formatter.section("Examples"):
        indent = " " * formatter.current_indent
        for comment, line in examples:
            formatter.write(f"{indent}# {comment}\n{indent}{line}\n")


def _message(error: Exception) -> str:
    text = " ".join(str(error).split())
    if exit_code(error) is not None:
        return text
    return (
        f"internal error, {type(error).__name__}: {text}. Run it again with AGENT_HOME_DEBUG=1 and report the output."
    )


def _report_wrong_usage(context: click.Context, error: click.UsageError) -> NoReturn:
    """Print wrong usage and the next step in one line, where click would print three, and exit.

    A group called without a command prints its help instead.
    """
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        write_text(error.format_message())
    else:
        write_line(" ".join(_usage_message(context, error).split()), error=True)
    context.exit(WRONG_USAGE)


def _usage_message(context: click.Context, error: click.UsageError) -> str:
    path = context.command_path
    match error:
        case _UnknownCommand():
            advice = _did_you_mean(error.suggestions) or f"`{path} --help` lists the commands."
            return f"{path} {error.name}: no such command. {advice}"
        case click.NoSuchOption() if isinstance(context.command, LazyGroup) and error.option_name in _SHARED_OPTIONS:
            return f"{path} {error.option_name}: Write {error.option_name} after the subcommand. See `{path} --help`."
        case click.NoSuchOption():
            advice = _did_you_mean(_close_options(error)) or f"`{path} --help` lists the options."
            return f"{path} {error.option_name}: no such option. {advice}"
    text = error.format_message().rstrip(".")
    text = f"{path}: {_first_lower(text)}{'' if text.endswith('?') else '.'}"
    examples = getattr(context.command, "examples", ())
    if isinstance(error, click.MissingParameter) and examples:
        return f"{text} For example: {examples[0][1]}"
    return f"{text} See `{path} --help`."


def _first_lower(text: str) -> str:
    """Return *text* with a small first letter, unless its first word is in capitals, like QUERY."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def _close_options(error: click.NoSuchOption) -> list[str]:
    """Return the option spelled most like the wrong one, compared without the dashes that all options share."""
    words = {option.lstrip("-"): option for option in error.possibilities or ()}
    return [words[word] for word in difflib.get_close_matches(error.option_name.lstrip("-"), words, n=1)]


def _did_you_mean(suggestions: Sequence[str]) -> str:
    return f"Did you mean {' or '.join(map(repr, suggestions))}?" if suggestions else ""


def _announce_wait() -> None:
    write_line("memory: waiting for another process", error=True)


def _discard_output() -> None:
    """Send the interpreter's last flush to the null device, because nobody reads our output any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
