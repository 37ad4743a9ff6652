"""The command ``memory``. One module for each command or family of commands."""

from __future__ import annotations

from importlib import metadata

import click

from .frame import LazyGroup

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS = {
    "init": "interfaces.cli.commands.init:init",
    "import": "interfaces.cli.commands.imports:import_",
    "close": "interfaces.cli.commands.close:close",
    "distill": "interfaces.cli.commands.distill:distill",
    "prompt": "interfaces.cli.commands.prompt:prompt",
    "resume": "interfaces.cli.commands.resume:resume",
    "search": "interfaces.cli.commands.search:search",
    "sync": "interfaces.cli.commands.sync:sync",
    "watch": "interfaces.cli.commands.watch:watch",
    "reindex": "interfaces.cli.commands.index:reindex",
    "index": "interfaces.cli.commands.index:index",
    "eval": "interfaces.cli.commands.eval:eval_",
    "review": "interfaces.cli.commands.review:review",
    "cite": "interfaces.cli.commands.cite:cite",
    "archive": "interfaces.cli.commands.archive:archive",
    "restore": "interfaces.cli.commands.restore:restore",
    "evolve": "interfaces.cli.commands.evolve:evolve",
    "forget": "interfaces.cli.commands.forget:forget",
    "verify": "interfaces.cli.commands.verify:verify",
    "history": "interfaces.cli.commands.history:history",
    "diff": "interfaces.cli.commands.diff:diff",
    "revert": "interfaces.cli.commands.revert:revert",
    "bisect": "interfaces.cli.commands.bisect:bisect",
    "merge-driver": "interfaces.cli.commands.merge_driver:merge_driver",
    "guard": "interfaces.cli.commands.guard:guard",
    "check": "interfaces.cli.commands.check:check",
    "doctor": "interfaces.cli.commands.doctor:doctor",
    "model": "interfaces.cli.commands.model:model",
}


@click.command(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(metadata.version("agent-home"), prog_name="memory")
def cli() -> None:
    """The memory of an AI agent: a folder of Markdown in git, and the prompt made from it.

    Begin with `memory init DIR`, bring conversations in with `memory import`, turn one into memory with
    `memory close`, and assemble a system prompt with `memory prompt --message "..."`.

    Exit codes: 0 done; 1 done, with findings; 2 wrong usage; 3 no home; 4 refused by the guard; 5 could not lock;
    6 index unusable; 7 a file is not what it must be; 8 git, disk or model failed; 70 a defect of this program;
    130 interrupted.
    """


def main() -> None:
    """Entry point of the console script."""
    cli(prog_name="memory")
