"""``memory guard staged`` and ``memory guard install``: what people commit by hand is screened as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..frame import Frame, home_command

if TYPE_CHECKING:
    from agent_home.screening.inspector import Remark

__all__ = ["install", "staged"]

#: Refused by the guard, as in ``frame.EXIT_CODES``; a commit hook that does not exit with 0 stops the commit.
_REFUSED = 4
_MOST = 20


@home_command("staged")
@click.pass_context
def staged(context: click.Context, frame: Frame) -> None:
    """Look at what is staged for the next commit; the home's commit hook calls this.

    Only what is added is looked at. Exit code 4, which stops the commit, when it holds a secret or an instruction that
    the guard would hold back. E-mail addresses and telephone numbers may be committed by hand; other personal data is
    named and does not stop the commit.
    """
    from agent_home.screening.staged import staged_remarks

    found = staged_remarks(frame.home)
    failing = [remark for remark in found if remark.fails]
    if not frame.as_json:
        _explain(frame, found)
    frame.show({"refused": bool(failing), "findings": [_row(remark) for remark in found]}, [])
    context.exit(_REFUSED if failing else 0)


@home_command("install")
@click.pass_context
def install(context: click.Context, frame: Frame) -> None:
    """Write the commit hook that screens what people commit by hand, where git looks for it.

    A hook that somebody else wrote is left alone, and so is a folder of hooks that other repositories share; what to
    add to it is said then, and the exit code is 1. `memory init` does this for a new home.
    """
    from agent_home.git.hook import install_hook

    state = install_hook(frame.home)
    done = f"{state.state}: {state.path}" + (f"; {state.advice}" if state.advice else "")
    frame.show({"state": state.state, "path": state.path, "advice": state.advice, "works": state.works}, [done])
    context.exit(0 if state.works else 1)


def _explain(frame: Frame, found: list[Remark]) -> None:
    """Say on standard error what was found and what to do: git shows a hook's words to the person who commits."""
    ordered = sorted(found, key=lambda remark: not remark.fails)
    for remark in ordered[:_MOST]:
        entry = f" in {remark.entry}" if remark.entry else ""
        frame.warn(f"{remark.path}:{remark.line}: {remark.what} ({remark.kind}){entry}: {_advice(remark)}")
    if len(ordered) > _MOST:
        frame.warn(f"... and {len(ordered) - _MOST} more")
    if any(remark.fails for remark in found):
        frame.warn(
            "nothing was committed; mend it, `git add` it and commit again (`git commit --no-verify` goes around)"
        )


def _advice(remark: Remark) -> str:
    from agent_home.screening.inspector import UNAVAILABLE

    if remark.layer == "secret":
        return "take it out, and name where it is kept instead"
    if remark.fails and remark.layer == "unicode":
        return "remove the hidden characters"
    if remark.rule == UNAVAILABLE:
        return "the guard cannot run; `memory doctor` names the rule file of [guard] in agent.toml to mend"
    if remark.fails:
        return "say it in other words, or in quotation marks if it is about an attack"
    return "committed all the same; prompts show it taken out"


def _row(remark: Remark) -> dict[str, Any]:
    return {
        "file": remark.path, "line": remark.line, "entry": remark.entry, "layer": remark.layer, "rule": remark.rule,
        "kind": remark.kind, "action": str(remark.action), "refused": remark.fails,
    }  # fmt: skip
