"""Define ``memory check``."""

from __future__ import annotations

import dataclasses

import click

from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command

__all__ = ["check"]


@home_command(
    "check",
    examples=(
        ("List the problems of this home", "memory check"),
        ("Check another home and print JSON", "memory check --home ~/agent --json"),
    ),
)
@click.pass_context
def check(context: click.Context, invocation: Invocation) -> None:
    """List every place in the home that breaks a rule.

    Each line names the file, the line, the rule and the remedy. The exit code is 1 when there is a problem.
    """
    from agent_home.documents.check import RULES, problems
    from agent_home.sharing.health import sharing_problems

    found = [*problems(invocation.home), *sharing_problems(invocation.home)]
    lines = [f"{p.file}:{p.line}: {p.rule}: {p.message}. {_sentence(RULES.get(p.rule, ''))}" for p in found]
    invocation.show({"problems": [dataclasses.asdict(p) for p in found]}, lines or ["no problems"])
    context.exit(FINDINGS if found else 0)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
