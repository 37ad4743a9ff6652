"""Define ``memory bisect``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from agent_home.audience import Audience

from ...counts import counted
from ..invocation import Invocation, home_command

if TYPE_CHECKING:
    from interfaces.prompt_bisect import BisectResult

__all__ = ["bisect"]


@home_command(
    "bisect",
    examples=(
        (
            "Find the commit since which the prompt names Postgres",
            'memory bisect --query "Which database do we use?" --expect Postgres',
        ),
        (
            "Look only at the last twenty commits",
            'memory bisect --query "Which database do we use?" --expect Postgres --since HEAD~20',
        ),
    ),
)
@click.option("--query", required=True, metavar="Q", help="The session's first message, as for `memory prompt`.")
@click.option("--expect", "expected", required=True, metavar="TEXT", help="Text to look for in the prompt.")
@click.option("--since", default="", metavar="REV", help="Oldest revision to look at (default: the first commit).")
@click.option("--until", default="HEAD", metavar="REV", show_default=True, help="Newest revision to look at.")
@click.option("--window", default=0, metavar="N", help="The model's context window in tokens.")
@click.option(
    "--audience", default="owner", type=click.Choice([str(name) for name in Audience]), help="Who will see the prompt."
)
def bisect(
    invocation: Invocation, query: str, expected: str, since: str, until: str, window: int, audience: str
) -> None:  # fmt: skip
    """Find the commit that changed what the prompt says.

    The commit is the one since which the prompt for the message Q says TEXT, or no longer says it. Prompts of the past
    are made from the files of that revision, without recall. Case and spacing of TEXT are ignored. Continue with
    `memory history` and `memory revert`.
    """
    from assembler.prompt import Request
    from interfaces.prompt_bisect import bisect_prompt

    if not expected.strip() or window < 0:
        raise click.UsageError("--expect must not be blank, and --window must be a number of tokens, 0 or more")
    request = Request(message=query, window=window, audience=audience, now=invocation.moment)
    found = bisect_prompt(invocation.home, request, expected, since=since, until=until)
    for problem in found.degraded:
        invocation.warn(problem)
    data = {"query": query, "expect": expected, **dataclasses.asdict(found), "commit": found.commit or None}
    invocation.show(data, _lines(found))


def _lines(found: BisectResult) -> Iterator[str]:
    searched = f"compared {counted(found.looked_at, 'prompt')} of {counted(found.commits, 'commit')}"
    if not found.commit:
        yield f"the prompt {'says' if found.says else 'does not say'} it, and no commit changed that. {searched}"
        return
    since = "says it since" if found.says else "no longer says it since"
    yield f"the prompt {since} commit {found.commit[:7]}. {searched}"
    for name, value in (
        ("made", found.ts), ("subject", found.subject), ("session", found.session),
        ("entries", ", ".join(found.entries)),
    ):  # fmt: skip
        if value:
            yield f"  {name + ':':9}{value}"
