"""Define ``memory doctor``."""

from __future__ import annotations

import dataclasses

import click

from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command

__all__ = ["doctor"]


@home_command(
    "doctor",
    examples=(
        ("Check this home", "memory doctor"),
        ("Check another home and print JSON", "memory doctor --home ~/agent --json"),
    ),
)
@click.pass_context
def doctor(context: click.Context, invocation: Invocation) -> None:
    """Check everything the home needs to work.

    Each line says what was found and, where something is missing, what to do. The exit code is 1 when a check fails. A
    degraded service, for example search without a model, is only a warning.
    """
    from interfaces.health import examine

    checks = examine(invocation.home, invocation.moment)
    lines = [f"{check.status:8} {check.name:14} {check.detail}" for check in checks]
    invocation.show({"checks": [dataclasses.asdict(check) for check in checks]}, lines)
    context.exit(FINDINGS if any(check.status == "failed" for check in checks) else 0)
