"""The command ``memory``. One module for each command or family of commands."""

from __future__ import annotations

from importlib import metadata

import click

from .frame import LazyGroup

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS = {
    "init": "interfaces.cli.init:init",
    "import": "interfaces.cli.imports:import_",
    "close": "interfaces.cli.close:close",
    "distill": "interfaces.cli.distill:distill",
    "prompt": "interfaces.cli.prompt:prompt",
    "resume": "interfaces.cli.resume:resume",
    "search": "interfaces.cli.search:search",
    "sync": "interfaces.cli.sync:sync",
    "watch": "interfaces.cli.watch:watch",
    "reindex": "interfaces.cli.index:reindex",
    "index": "interfaces.cli.index:index",
    "eval": "interfaces.cli.eval:eval_",
    "review": "interfaces.cli.review:review",
    "cite": "interfaces.cli.cite:cite",
    "archive": "interfaces.cli.archive:archive",
    "restore": "interfaces.cli.restore:restore",
    "evolve": "interfaces.cli.evolve:evolve",
    "forget": "interfaces.cli.forget:forget",
    "verify": "interfaces.cli.verify:verify",
    "history": "interfaces.cli.history:history",
    "diff": "interfaces.cli.diff:diff",
    "revert": "interfaces.cli.revert:revert",
    "bisect": "interfaces.cli.bisect:bisect",
    "merge-driver": "interfaces.cli.merge_driver:merge_driver",
    "guard": "interfaces.cli.guard:guard",
    "check": "interfaces.cli.check:check",
    "doctor": "interfaces.cli.doctor:doctor",
    "model": "interfaces.cli.model:model",
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
