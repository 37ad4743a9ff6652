"""Define ``memory resume``."""

from __future__ import annotations

import click

from ..completion import sessions
from ..invocation import Invocation, home_command

__all__ = ["resume"]


@home_command(
    "resume",
    examples=(
        ("Summarize a session", "memory resume s-1a2b"),
        ("Summarize it in at most 300 tokens", "memory resume s-1a2b --tokens 300"),
    ),
)
@click.argument("session", shell_complete=sessions)
@click.option("--tokens", default=0, metavar="N", help="Limit in tokens (default: the setting, 600).")
def resume(invocation: Invocation, session: str, tokens: int) -> None:
    """Summarize a session so that it can be continued.

    The summary has the requests, findings, decisions and open questions of SESSION, the files and commits that it
    touched, and its last turns. It is made by rules alone, so the same transcript gives the same text. It is fenced as
    data, as `memory prompt --resume SESSION` puts it into a prompt. --json has every line with its turn, even lines
    that do not fit. The command changes nothing.
    """
    from agent_home.tokens import count_tokens
    from assembler.resume_hint import fence_continued
    from distill.resume import resume as found_in
    from distill.settings import DistillSettings

    from ...continued_session import fitting

    if tokens < 0:
        raise click.UsageError("--tokens must be a number of tokens, 1 or more")
    home = invocation.home
    room = tokens or home.manifest.settings("distill", DistillSettings).resume_tokens
    found = found_in(home, session)
    text = fence_continued(fitting(found, room), room, count_tokens)
    data = {**found.as_dict(), "text": text, "tokens": count_tokens(text)}
    invocation.show_text(data, text.rstrip("\n") or f"{found.session} does not fit in {room} tokens. Allow 100 or more")
