"""``memory bisect``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from agent_home.audience import Audience

from ..frame import Frame, home_command

if TYPE_CHECKING:
    from assembler.prompt_bisect import Turning

__all__ = ["bisect"]


@home_command("bisect")
@click.option("--query", required=True, metavar="Q", help="The session's first message, as for `memory prompt`.")
@click.option("--expect", "expected", required=True, metavar="TEXT", help="What the prompt says, or should say.")
@click.option("--since", default="", metavar="REV", help="Where to begin (default: the first commit).")
@click.option("--until", default="HEAD", metavar="REV", help="Where to end.")
@click.option("--window", default=0, metavar="N", help="The model's context window in tokens.")
@click.option(
    "--audience", default="owner", type=click.Choice([str(name) for name in Audience]), help="Who sees the prompt."
)
def bisect(
    frame: Frame, query: str, expected: str, since: str, until: str, window: int, audience: str
) -> None:  # fmt: skip
    """Find the memory commit since which the prompt for Q says TEXT, or no longer says it.

    Prompts of the past are made of the files as they were, without recall. Case and spacing of TEXT do not count.
    `memory history` and `memory revert` take it from there.
    """
    from assembler.prompt import Request
    from assembler.prompt_bisect import turning_point

    if not expected.strip() or window < 0:
        raise click.UsageError("--expect is a text that is not blank, and --window a number of tokens, 0 or more")
    request = Request(message=query, window=window, audience=audience, now=frame.moment)
    found = turning_point(frame.home, request, expected, since=since, until=until)
    for problem in found.degraded:
        frame.warn(problem)
    data = {"query": query, "expect": expected, **dataclasses.asdict(found), "commit": found.commit or None}
    frame.show(data, _lines(found))


def _lines(found: Turning) -> Iterator[str]:
    searched = f"{found.looked_at} prompts of {found.commits} commits looked at"
    if not found.commit:
        yield f"the prompt {'says' if found.says else 'does not say'} it, and no commit changed that; {searched}"
        return
    since = "says it since" if found.says else "no longer says it since"
    yield f"the prompt {since} commit {found.commit[:7]}; {searched}"
    for name, value in (
        ("made", found.ts), ("subject", found.subject), ("session", found.session),
        ("entries", ", ".join(found.entries)),
    ):  # fmt: skip
        if value:
            yield f"  {name + ':':9}{value}"
