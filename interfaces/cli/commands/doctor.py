"""``memory doctor``."""

from __future__ import annotations

import dataclasses

import click

from ..frame import FINDINGS, Frame, home_command

__all__ = ["doctor"]


@home_command("doctor")
@click.pass_context
def doctor(context: click.Context, frame: Frame) -> None:
    """Look at everything that a home needs, and say what to do where something is missing.

    Exit code 1 when a check fails; a degraded one (no model, for example) is a warning.
    """
    from interfaces.health import examine

    checks = examine(frame.home, frame.moment)
    lines = [f"{check.status:8} {check.name:14} {check.detail}" for check in checks]
    frame.show({"checks": [dataclasses.asdict(check) for check in checks]}, lines)
    context.exit(FINDINGS if any(check.status == "failed" for check in checks) else 0)
