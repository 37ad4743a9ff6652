"""Define ``memory doctor``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..exit_codes import FINDINGS
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from interfaces.doctor.repair import Repair

__all__ = ["doctor"]


@home_command(
    "doctor",
    examples=(
        ("Check this home", "memory doctor"),
        ("Repair what can be repaired safely, then check", "memory doctor --fix"),
        ("Check another home and print JSON", "memory doctor --home ~/agent --json"),
    ),
)
@click.option("--fix", is_flag=True, help="Repair first what can be repaired safely.")
@click.pass_context
def doctor(context: click.Context, invocation: Invocation, *, fix: bool) -> None:
    """Check everything the home needs to work.

    Each line says what was found and, where something is missing, what to do. The exit code is 1 when a check fails. A
    degraded service, for example search without a model, is only a warning. What a fresh clone lacks is information.

    --fix completes an interrupted write, brings back entries that an edit by hand removed in bulk, removes locks that a
    killed command left, proposals that git cannot read and expired originals of messages, and installs the commit hook
    and the merge driver.
    """
    from interfaces.doctor.health import examine
    from interfaces.doctor.repair import repair

    fixed = repair(invocation.home, invocation.moment) if fix else []
    checks = examine(invocation.home, invocation.moment)
    lines = [f"{'fixed' if one.done else 'not fixed':8} {one.what}" for one in fixed]
    lines += [f"{check.status:8} {check.name:14} {check.detail}" for check in checks]
    shown = {"checks": [dataclasses.asdict(check) for check in checks], **_repairs(fixed, fix=fix)}
    invocation.show(shown, lines)
    unfinished = any(not one.done for one in fixed) or any(check.status == "failed" for check in checks)
    context.exit(FINDINGS if unfinished else 0)


def _repairs(found: Sequence[Repair], *, fix: bool) -> dict[str, list[str]]:
    """Return the keys of the JSON that tell of repairs."""
    done = {"fixed": [one.what for one in found if one.done], "not_fixed": [one.what for one in found if not one.done]}
    return done if fix else {}
