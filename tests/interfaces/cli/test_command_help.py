"""Test the help of every command: examples that parse, summaries that agree, and suggestions for mistyped words."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from interfaces.cli import COMMANDS, OTHER_NAMES, cli
from interfaces.cli.command import Command, Group

MAX_SUMMARY_CHARS = 60


def command_paths(command: click.Command = cli, path: str = "memory") -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its path, groups before their commands."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from command_paths(subcommand, f"{path} {name}")


ALL = dict(command_paths())


def parse(words: list[str]) -> click.Context:
    """Parse a command line as ``memory`` does, without running the command."""
    context = cli.make_context(words[0], words[1:])
    while isinstance(context.command, click.Group):
        words = [*context._protected_args, *context.args]
        if not words:
            return context
        name, command, rest = context.command.resolve_command(context, words)
        assert command is not None
        context = command.make_context(name, rest, parent=context)
    return context


@pytest.mark.parametrize("path", ALL)
def test_every_command_has_examples_that_parse(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, _parameter, _context: value)  # files need not exist
    command = ALL[path]
    assert isinstance(command, Command | Group)
    assert 1 <= len(command.examples) <= 4
    for comment, line in command.examples:
        words = shlex.split(line.partition(" < ")[0])
        assert words[0] == "memory"
        assert parse(words).command_path.startswith("memory ")
        assert comment[0].isupper()
        assert not comment.endswith(".")
    assert any(line.startswith(path) for _, line in command.examples)


@pytest.mark.parametrize("path", ALL)
def test_help_ends_with_the_examples(path: str) -> None:
    result = CliRunner().invoke(cli, [*path.split()[1:], "--help"], prog_name="memory")
    block = result.output.partition("\nExamples:\n")[2].splitlines()
    examples = ALL[path].examples  # type: ignore[attr-defined]
    assert block == [f"  {text}" for comment, line in examples for text in (f"# {comment}", line)]


def test_an_example_with_an_unknown_option_does_not_parse() -> None:
    with pytest.raises((click.UsageError, click.exceptions.Exit)):
        parse(["memory", "search", "postgres", "--no-such-option"])


@pytest.mark.parametrize("path", ALL)
def test_every_option_has_a_help_text(path: str) -> None:
    options = [parameter for parameter in ALL[path].params if isinstance(parameter, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_summaries_are_the_first_sentences_of_the_commands() -> None:
    for heading in COMMANDS.values():
        for name, (_, summary) in heading.items():
            assert summary == (ALL[f"memory {name}"].help or "").partition("\n")[0]
            assert len(summary) <= MAX_SUMMARY_CHARS


def test_help_lists_every_command_under_a_heading() -> None:
    lines = CliRunner().invoke(cli, ["--help"]).output.splitlines()
    for heading, commands in COMMANDS.items():
        place = lines.index(f"{heading}:")
        assert [line.split()[0] for line in lines[place + 1 : place + 1 + len(commands)]] == list(commands)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("serach", "memory serach: no such command. Did you mean 'search'?"),
        ("review shwo", "memory review shwo: no such command. Did you mean 'show'?"),
        ("accept KD-7F3A", "memory accept: no such command. Did you mean 'review accept' or 'trust accept'?"),
        ("get", "memory get: no such command. Did you mean 'fetch' or 'context get'?"),
        ("rest", "memory rest: no such command. Did you mean 'restore' or 'restore-home'?"),
        ("evidence", "memory evidence: no such command. Did you mean 'verify'?"),
        ("Serach", "memory Serach: no such command. Did you mean 'search'?"),
        ("the", "memory the: no such command. `memory --help` lists the commands."),
        ("xylophone", "memory xylophone: no such command. `memory --help` lists the commands."),
        ("search x --jsn", "memory search --jsn: no such option. Did you mean '--json'?"),
        ("--hlep", "memory --hlep: no such option. Did you mean '--help'?"),
        ("diff --xylophone", "memory diff --xylophone: no such option. `memory diff --help` lists the options."),
        ("review show", "memory review show: missing argument 'ID'. For example: memory review show KD-7F3A"),
        (
            "resume s --tokens x",
            "memory resume: invalid value for '--tokens': 'x' is not a valid integer. See `memory resume --help`.",
        ),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line_that_names_the_next_step(arguments: str, message: str) -> None:
    result = CliRunner().invoke(cli, arguments.split(), prog_name="memory")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"{message}\n")


def test_resilient_parsing_of_an_unknown_command_raises_nothing() -> None:
    context: Any = click.Context(cli, info_name="memory", resilient_parsing=True)
    assert cli.resolve_command(context, ["serach"])[1] is None


def test_other_names_are_no_commands_and_lead_to_commands() -> None:
    for name, meant in OTHER_NAMES.items():
        assert f"memory {name}" not in ALL
        assert all(f"memory {path}" in ALL for path in meant)


def test_a_command_that_erases_is_never_offered_for_another_word() -> None:
    context = click.Context(cli, info_name="memory")
    for name in ("get", "got", "gets", "for", "target", "format"):
        assert "forget" not in cli._suggestions(context, name) or "forget".startswith(name)
