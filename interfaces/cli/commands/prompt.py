"""Define ``memory prompt``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from agent_home.audience import Audience

from ..invocation import Invocation, home_command
from ..render import write_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assembler.receipt import Receipt

__all__ = ["prompt", "receipt_lines"]


@home_command(
    "prompt",
    examples=(
        ("Assemble the prompt for a first message", 'memory prompt --message "Which database do we use?"'),
        ("Print it and the reason for every cut", "memory prompt --explain"),
        ("Continue a session in a small context window", "memory prompt --resume s-1a2b --window 32000"),
        ("Show the prompt of three commits ago", "memory prompt --at HEAD~3"),
    ),
)
@click.option("--message", default="", metavar="TEXT", help="First message of the session, which recall searches for.")
@click.option("--window", default=0, metavar="N", help="Context window of the model in tokens.")
@click.option("--used", default=0, metavar="N", help="Tokens of the window that the conversation uses already.")
@click.option(
    "--audience", default="owner", type=click.Choice([str(name) for name in Audience]), help="Who will see the prompt."
)
@click.option("--session", default="", metavar="ID", help="Session that will use the prompt. It is not recalled.")
@click.option("--resume", default="", metavar="ID", help="Session to continue. Its summary takes some 600 tokens.")
@click.option("--at", default="", metavar="REV", help="Revision whose prompt to show, as on the day of its commit.")
@click.option("--explain", is_flag=True, help="Also print the receipt as a table on standard error.")
def prompt(
    invocation: Invocation,
    message: str,
    window: int,
    used: int,
    audience: str,
    session: str,
    resume: str,
    at: str,
    explain: bool,
) -> None:
    """Assemble the system prompt and print it.

    With --message, the prompt includes what past conversations, knowledge and memory hold about that message. The
    command changes nothing. --json prints the receipt: the text, and every section and entry, kept or not and why.
    """
    from assembler.prompt import Request

    from ...continued_session import continued_session
    from ...prompting import prompt_for

    if window < 0 or used < 0:
        raise click.UsageError("--window and --used must be numbers of tokens, 0 or more")
    home = invocation.home
    if resume and at:
        raise click.UsageError("--resume continues a session today and --at shows a past prompt. Give only one of them")
    now = _day_of(invocation, at) if at else invocation.moment
    continued = continued_session(home, resume) if resume else None
    request = Request(
        message=message, window=window, used=used, audience=audience, session=session, continued=continued, at=at,
        now=now,
    )  # fmt: skip
    receipt = prompt_for(home, request)
    for problem in receipt.degraded:
        invocation.warn(problem)
    if explain:
        for line in receipt_lines(receipt):
            write_line(line, error=True)
    invocation.show_text(receipt.as_dict, receipt.text.rstrip("\n"))


def _day_of(invocation: Invocation, revision: str) -> datetime:
    """Return the present for a past prompt: the commit's time, unless --now is given."""
    from interfaces.prompt_bisect import commit_time

    on_command_line = click.get_current_context().get_parameter_source("moment") is ParameterSource.COMMANDLINE
    return invocation.moment if on_command_line else commit_time(invocation.home, revision)


def receipt_lines(receipt: Receipt) -> Iterator[str]:
    """Yield the receipt as a table, in lines."""
    yield (
        f"{receipt.tokens} of {receipt.budget} tokens (tier {receipt.tier}, window {receipt.window}): "
        f"{receipt.advice}. Stable prefix {receipt.stable_prefix_tokens}, sha256 {receipt.sha256[:12]}"
    )
    if receipt.unchanged_prefix_tokens is not None:
        yield f"unchanged since the last prompt: {receipt.unchanged_prefix_tokens} leading tokens"
    yield f"{'section':22} {'tokens':>7} {'of':>7}  action   reason"
    for section in receipt.sections:
        yield (
            f"{section.name:22} {section.tokens:7} {section.full_tokens:7}  {section.action:8} {section.reason}"
        ).rstrip()
    yield f"{'layer':22} {'tokens':>7} {'ms':>9}"
    for name, layer in receipt.layers.items():
        yield f"{name:22} {layer.tokens:7} {layer.ms:9.2f}  {'. '.join(layer.degraded)}".rstrip()
    yield f"{'loading':22} {'':7} {receipt.load_ms:9.2f}"
    yield f"{'entry or passage':34} {'score':>7} {'tokens':>7}  action   reason"
    for entry in receipt.entries:
        score = f"{entry.score:7.3f}" if entry.score is not None else " " * 7
        yield f"{entry.id:34} {score} {entry.tokens:7}  {entry.action:8} {entry.reason}"
