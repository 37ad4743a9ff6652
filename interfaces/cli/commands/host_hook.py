"""Define ``memory hook``, which the hooks of chat hosts call."""

from __future__ import annotations

import click

from ..command import Command

__all__ = ["hook"]

#: Copied from ``interfaces.hosts.event``, so that ``--help`` stays quick. A test compares them.
EVENTS = ("session-start", "user-prompt", "stop", "pre-compact", "session-end")


@click.command(
    "hook",
    cls=Command,
    examples=(("What Claude Code runs when a session starts", "memory hook session-start --host claude-code"),),
)
@click.argument("event", type=click.Choice(EVENTS))
@click.option("--host", required=True, type=click.Choice(["claude-code", "codex", "gemini"]), help="The chat host.")
@click.option("--home", metavar="DIR", help="The home (default: $AGENT_HOME).")
@click.option("--max-chars", type=int, metavar="N", help="Characters of context that the host takes.")
def hook(event: str, host: str, home: str | None, max_chars: int | None) -> None:
    """Answer a hook of a chat host.

    The command reads the host's JSON on standard input and prints the host's JSON. `memory install HOST` sets it up. It
    always exits with 0, and prints nothing when something is wrong, so that it never stops a session. `memory doctor`
    names what went wrong. AGENT_HOME_HOOKS=0 switches it off.
    """
    from interfaces.hosts.hook import run

    given = {"--home": home, "--max-chars": str(max_chars) if max_chars else None}
    run([event, "--host", host, *(word for name, value in given.items() if value for word in (name, value))])
