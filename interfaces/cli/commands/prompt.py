"""Define ``memory prompt``."""

from __future__ import annotations

from datetime import datetime

import click
from click.core import ParameterSource

from agent_home.audience import Audience

from ..completion import sessions
from ..invocation import Invocation, home_command
from ..receipt_table import receipt_table
from ..render import line_width, write_spans

__all__ = ["prompt"]


@home_command(
    "prompt",
    examples=(
        ("Assemble the prompt for a first message", 'memory prompt --message "Which database do we use?"'),
        ("Print it and the reasons for what is cut", "memory prompt --explain"),
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
@click.option(
    "--session",
    default="",
    metavar="ID",
    shell_complete=sessions,
    help="Session that will use the prompt. It is not recalled.",
)
@click.option(
    "--resume",
    default="",
    metavar="ID",
    shell_complete=sessions,
    help="Session to continue. Its summary takes some 600 tokens.",
)
@click.option("--at", default="", metavar="REV", help="Revision whose prompt to show, as on the day of its commit.")
@click.option("--explain", is_flag=True, help="Also print a summary of the receipt on standard error.")
@click.option(
    "--details", is_flag=True, help="Like --explain, with every entry and passage, and the time of each layer."
)
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
    details: bool,
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
    if explain or details:
        for spans in receipt_table(receipt, width=line_width(error=True), details=details):
            write_spans(spans, error=True)
    invocation.show_text(receipt.as_dict, receipt.text.rstrip("\n"))


def _day_of(invocation: Invocation, revision: str) -> datetime:
    """Return the present for a past prompt: the commit's time, unless --now is given."""
    from interfaces.prompt_bisect import commit_time

    on_command_line = click.get_current_context().get_parameter_source("moment") is ParameterSource.COMMANDLINE
    return invocation.moment if on_command_line else commit_time(invocation.home, revision)
