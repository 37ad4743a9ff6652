"""Define ``memory guard staged`` and ``memory guard install``, which screen commits by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..exit_codes import REFUSED
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from agent_home.screening.personal_text import LocatedFinding

__all__ = ["install", "staged"]

#: Findings listed. The rest is counted.
_MAX_LISTED = 20


@home_command(
    "staged",
    examples=(
        ("Scan what is staged for the next commit", "memory guard staged"),
        ("Print the findings as JSON", "memory guard staged --json"),
    ),
)
@click.pass_context
def staged(context: click.Context, invocation: Invocation) -> None:
    """Scan what is staged for the next commit.

    The home's commit hook calls this command. It scans only added lines. The exit code is 4, which stops the commit,
    when they hold a secret or an instruction that the guard would quarantine. E-mail addresses and telephone numbers
    may be committed by hand. Other personal data is reported and does not stop the commit.
    """
    from agent_home.screening.scan.staged import staged_findings

    found = staged_findings(invocation.home)
    failing = [finding for finding in found if finding.fails]
    if not invocation.as_json:
        _explain(invocation, found)
    invocation.show({"refused": bool(failing), "findings": [_row(finding) for finding in found]}, [])
    context.exit(REFUSED if failing else 0)


@home_command(
    "install",
    examples=(
        ("Install the commit hook in this home", "memory guard install"),
        ("Install it in another home", "memory guard install --home ~/agent"),
    ),
)
@click.pass_context
def install(context: click.Context, invocation: Invocation) -> None:
    """Install the commit hook that screens commits by hand.

    The command does not change a hook that somebody else wrote, or a folder of hooks that other repositories share. It
    then prints what to add to that hook, and the exit code is 1. `memory init` installs the hook in a new home.
    """
    from agent_home.git.hook import install_hook

    state = install_hook(invocation.home)
    done = f"{state.state}: {state.path}" + (f". {state.advice}" if state.advice else "")
    invocation.show({"state": state.state, "path": state.path, "advice": state.advice, "works": state.works}, [done])
    context.exit(0 if state.works else 1)


def _explain(invocation: Invocation, found: list[LocatedFinding]) -> None:
    """Print findings and remedies on standard error, which git shows to the person who commits."""
    ordered = sorted(found, key=lambda finding: not finding.fails)
    for finding in ordered[:_MAX_LISTED]:
        entry = f" in {finding.entry}" if finding.entry else ""
        invocation.warn(f"{finding.path}:{finding.line}: {finding.name} ({finding.kind}){entry}: {_advice(finding)}")
    if len(ordered) > _MAX_LISTED:
        invocation.warn(f"... and {len(ordered) - _MAX_LISTED} more")
    if any(finding.fails for finding in found):
        invocation.warn(
            "nothing was committed. Correct it, `git add` it and commit again (`git commit --no-verify` skips this)"
        )


def _advice(finding: LocatedFinding) -> str:
    from agent_home.screening.personal_text import UNAVAILABLE

    if finding.layer == "secret":
        return "remove it, and name the place where it is kept instead"
    if finding.fails and finding.layer == "unicode":
        return "remove the hidden characters"
    if finding.rule == UNAVAILABLE:
        return "the guard cannot run. `memory doctor` names the rule file of [guard] in agent.toml to correct"
    if finding.fails:
        return "reword it, or put it in quotation marks if it describes an attack"
    return "committed anyway. Prompts leave it out"


def _row(finding: LocatedFinding) -> dict[str, Any]:
    return {
        "file": finding.path, "line": finding.line, "entry": finding.entry, "layer": finding.layer,
        "rule": finding.rule, "kind": finding.kind, "action": str(finding.action), "refused": finding.fails,
    }  # fmt: skip
