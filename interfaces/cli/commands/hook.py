"""Define ``memory guard staged`` and ``memory guard install``, which screen commits by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..exit_codes import REFUSED
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from agent_home.screening.inspector import Remark

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
    from agent_home.screening.staged import staged_remarks

    found = staged_remarks(invocation.home)
    failing = [remark for remark in found if remark.fails]
    if not invocation.as_json:
        _explain(invocation, found)
    invocation.show({"refused": bool(failing), "findings": [_row(remark) for remark in found]}, [])
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
    done = f"{state.state}: {state.path}" + (f"; {state.advice}" if state.advice else "")
    invocation.show({"state": state.state, "path": state.path, "advice": state.advice, "works": state.works}, [done])
    context.exit(0 if state.works else 1)


def _explain(invocation: Invocation, found: list[Remark]) -> None:
    """Print findings and remedies on standard error, which git shows to the person who commits."""
    ordered = sorted(found, key=lambda remark: not remark.fails)
    for remark in ordered[:_MAX_LISTED]:
        entry = f" in {remark.entry}" if remark.entry else ""
        invocation.warn(f"{remark.path}:{remark.line}: {remark.what} ({remark.kind}){entry}: {_advice(remark)}")
    if len(ordered) > _MAX_LISTED:
        invocation.warn(f"... and {len(ordered) - _MAX_LISTED} more")
    if any(remark.fails for remark in found):
        invocation.warn(
            "nothing was committed; correct it, `git add` it and commit again (`git commit --no-verify` skips this)"
        )


def _advice(remark: Remark) -> str:
    from agent_home.screening.inspector import UNAVAILABLE

    if remark.layer == "secret":
        return "remove it, and name the place where it is kept instead"
    if remark.fails and remark.layer == "unicode":
        return "remove the hidden characters"
    if remark.rule == UNAVAILABLE:
        return "the guard cannot run; `memory doctor` names the rule file of [guard] in agent.toml to correct"
    if remark.fails:
        return "reword it, or put it in quotation marks if it describes an attack"
    return "committed anyway; prompts leave it out"


def _row(remark: Remark) -> dict[str, Any]:
    return {
        "file": remark.path, "line": remark.line, "entry": remark.entry, "layer": remark.layer, "rule": remark.rule,
        "kind": remark.kind, "action": str(remark.action), "refused": remark.fails,
    }  # fmt: skip
