"""Define ``memory brief``, what a chat host gets at the start of a session."""

from __future__ import annotations

import click

from ..invocation import Invocation, home_command

__all__ = ["brief"]

#: The cap of Claude Code, with some room.
_MOST_CHARS = 9_500


@home_command(
    "brief",
    examples=(
        ("Show what Claude Code gets when a session starts", "memory brief"),
        ("Show what the first prompt of a session adds", 'memory brief --recall "Which database do we use?"'),
    ),
)
@click.option("--session", default="", metavar="ID", help="Session that gets it. It is not recalled.")
@click.option(
    "--max-chars", "most_chars", default=_MOST_CHARS, show_default=True, metavar="N", help="Limit of the host."
)
@click.option("--cwd", default="", metavar="DIR", help="Folder of the session. Its project stands first.")
@click.option("--recall", "message", default="", metavar="TEXT", help="Print what is found about TEXT instead.")
def brief(invocation: Invocation, session: str, most_chars: int, cwd: str, message: str) -> None:
    """Print what a chat host gets of memory.

    The hooks that `memory install` sets up call this. The brief is the prompt for a small window, in at most as many
    characters as the host shows. With --recall it is what past conversations and knowledge hold about TEXT, or nothing.
    """
    from interfaces.hosts.brief import brief as for_start
    from interfaces.hosts.brief import recall

    if most_chars < 1000:
        raise click.UsageError("--max-chars must be 1000 or more")
    home = invocation.home
    if message.strip():
        text = recall(home, message, session=session, most_chars=most_chars, now=invocation.moment)
    else:
        text = for_start(home, session=session, most_chars=most_chars, now=invocation.moment, cwd=cwd)
    invocation.show_text({"text": text, "chars": len(text)}, text)
