"""``memory check``."""

from __future__ import annotations

import dataclasses

import click

from ..frame import FINDINGS, Frame, home_command

__all__ = ["check"]


@home_command("check")
@click.pass_context
def check(context: click.Context, frame: Frame) -> None:
    """Name every place in the home's files that breaks a rule: file, line, rule.

    Exit code 1 when there is one.
    """
    from agent_home.documents.check import RULES, problems

    found = problems(frame.home)
    lines = [f"{p.file}:{p.line}: {p.rule}: {p.message}; {RULES.get(p.rule, '')}" for p in found]
    frame.show({"problems": [dataclasses.asdict(p) for p in found]}, lines or ["no problems"])
    context.exit(FINDINGS if found else 0)
