"""``memory prompt``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from agent_home.audience import Audience

from ..frame import Frame, home_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assembler.receipt import Receipt

__all__ = ["prompt", "receipt_lines"]


@home_command("prompt")
@click.option("--message", default="", metavar="TEXT", help="The session's first message: what recall looks for.")
@click.option("--window", default=0, metavar="N", help="The model's context window in tokens.")
@click.option("--used", default=0, metavar="N", help="Tokens of the window that the conversation has used.")
@click.option(
    "--audience", default="owner", type=click.Choice([str(name) for name in Audience]), help="Who will see the prompt."
)
@click.option("--session", default="", metavar="ID", help="The session that will use it; it is not recalled to itself.")
@click.option("--resume", default="", metavar="ID", help="A session to continue: what it came to, in some 600 tokens.")
@click.option("--at", default="", metavar="REV", help="The prompt as it was at a revision, on the day of its commit.")
@click.option("--explain", is_flag=True, help="Print the receipt as a table on standard error as well.")
def prompt(
    frame: Frame, message: str, window: int, used: int, audience: str, session: str, resume: str, at: str, explain: bool
) -> None:
    """Assemble the system prompt and print it.

    With --message it holds what past conversations, knowledge and memory have to say about that message. Nothing is
    changed by it. --json prints the receipt with the text in it: every section and entry, kept or not and why.
    """
    from assembler.prompt import Request, assemble

    from .resume import continued_session

    if window < 0 or used < 0:
        raise click.UsageError("--window and --used are numbers of tokens, 0 or more")
    home = frame.home
    if resume and at:
        raise click.UsageError("--resume continues a session of today, --at shows a day of the past: give one of them")
    now = _day_of(frame, at) if at else frame.moment
    continued = continued_session(home, resume) if resume else None
    request = Request(
        message=message, window=window, used=used, audience=audience, session=session, continued=continued, at=at,
        now=now,
    )  # fmt: skip
    searcher = None
    if message.strip() and not at:
        from assembler.searcher import HomeSearcher

        searcher = HomeSearcher(home)
        searcher.refresh(message)
    receipt = assemble(home, request, searcher)
    for problem in receipt.degraded:
        frame.warn(problem)
    if explain:
        for line in receipt_lines(receipt):
            click.echo(line, err=True)
    frame.show(receipt.as_dict(), [receipt.text.rstrip("\n")])


def _day_of(frame: Frame, revision: str) -> datetime:
    """The present of a prompt of the past: the commit's own time, unless --now says another."""
    from assembler.prompt_bisect import commit_time

    given = click.get_current_context().get_parameter_source("moment") is ParameterSource.COMMANDLINE
    return frame.moment if given else commit_time(frame.home, revision)


def receipt_lines(receipt: Receipt) -> Iterator[str]:
    """The receipt as a table, in lines."""
    yield (
        f"{receipt.tokens} of {receipt.budget} tokens (tier {receipt.tier}, window {receipt.window}): "
        f"{receipt.advice}; stable prefix {receipt.stable_prefix_tokens}, sha256 {receipt.sha256[:12]}"
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
        yield f"{name:22} {layer.tokens:7} {layer.ms:9.2f}  {'; '.join(layer.degraded)}".rstrip()
    yield f"{'loading':22} {'':7} {receipt.load_ms:9.2f}"
    yield f"{'entry or passage':34} {'score':>7} {'tokens':>7}  action   reason"
    for entry in receipt.entries:
        score = f"{entry.score:7.3f}" if entry.score is not None else " " * 7
        yield f"{entry.id:34} {score} {entry.tokens:7}  {entry.action:8} {entry.reason}"
