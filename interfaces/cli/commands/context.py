"""Define ``memory context``."""

from __future__ import annotations

import json
import re
import sys
from getpass import getpass
from typing import Any

import click

from ...answers import hot_item_answer
from ..command import Command, Group
from ..invocation import Invocation, options

__all__ = ["context"]

_TIME = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)?")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, None: 1.0}
_SESSION = click.option("--session", default="", metavar="NAME", help="Session that the value belongs to.")


@click.group(
    "context",
    cls=Group,
    examples=(
        ("Keep what is worked on for an hour", 'memory context set task "Fixing test_auth" --session s-1'),
        ("Show what is kept", "memory context list --session s-1"),
    ),
)
def context() -> None:
    """Keep the working context of a session for an hour.

    The prompt of the session shows it as its last part. It is kept in a file of this machine, or in the Redis server
    that AGENT_HOME_REDIS_URL names.
    """


def _seconds(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    match = _TIME.fullmatch(value.strip())
    if match is None:
        raise click.BadParameter("write a time such as 90s, 30m, 1h or 2d")
    return float(match[1]) * _UNITS[match[2]]


@context.command(
    "set", cls=Command, examples=(("Keep a value for two hours", "memory context set phase Testing --ttl 2h"),)
)
@click.argument("key", metavar="KEY")
@click.argument("value", metavar="VALUE")
@_SESSION
@click.option("--ttl", default="1h", show_default=True, callback=_seconds, metavar="TIME", help="How long it lives.")
@options
def set_(invocation: Invocation, key: str, value: str, session: str, ttl: float) -> None:
    """Keep a value. JSON is kept as what it says, and anything else as a text."""
    from recall.hot_state import hot_state

    try:
        parsed: Any = json.loads(value)
    except (ValueError, RecursionError):
        parsed = value
    state = hot_state(invocation.home)
    state.set_value(session, key, parsed, ttl_s=ttl)
    if state.problem:
        invocation.warn(state.problem)
    invocation.show({"key": key, "session": session, "ttl": ttl}, [f"kept: {key}"])


@context.command("get", cls=Command, examples=(("Print a value", "memory context get phase"),))
@click.argument("key", metavar="KEY")
@_SESSION
@options
@click.pass_context
def get(click_context: click.Context, invocation: Invocation, key: str, session: str) -> None:
    """Print a value. The exit code is 1 when there is none, or when its time is over."""
    from recall.hot_state import hot_state

    kept = hot_state(invocation.home).items(session, invocation.warn)
    found = {item.name: item.value for item in kept if item.kind == "context"}
    if key not in found:
        invocation.warn(f"no value {key!r}. `memory context list` shows what is kept")
        click_context.exit(1)
    value = found[key]
    invocation.show_text({"key": key, "value": value}, value if isinstance(value, str) else json.dumps(value))


@context.command("delete", cls=Command, examples=(("Forget a value", "memory context delete phase"),))
@click.argument("key", required=False, default="", metavar="[KEY]")
@_SESSION
@options
def delete(invocation: Invocation, key: str, session: str) -> None:
    """Forget a value, or without KEY everything of the session."""
    from recall.hot_state import hot_state

    count = hot_state(invocation.home).delete(session, key)
    invocation.show({"deleted": count}, [f"forgotten: {count}"])


@context.command("list", cls=Command, examples=(("List what is kept of all sessions", "memory context list --all"),))
@_SESSION
@click.option("--all", "every", is_flag=True, help="Values of all sessions.")
@options
def list_(invocation: Invocation, session: str, *, every: bool) -> None:
    """List what is kept, with the time that is left."""
    from recall.hot_state import hot_state

    found = hot_state(invocation.home).items(None if every else session, invocation.warn)
    lines = [
        f"{f'[{item.session}] ' if every and item.session else ''}{item.name} = "
        f"{json.dumps(item.value, ensure_ascii=False)[:80]} ({item.left_s / 60:.0f} min left)"
        for item in found
    ]
    invocation.show({"items": [hot_item_answer(item) for item in found]}, lines or ["nothing is kept"])


@context.command(
    "key",
    cls=Command,
    examples=(
        ("Print it, for another machine of the home", "memory context key"),
        ("Use the one that the other machine printed", "memory context key --use"),
    ),
)
@click.option("--use", is_flag=True, help="Read the key of another machine from standard input, and keep it.")
@options
def key(invocation: Invocation, *, use: bool) -> None:
    """Print the key of this home's values in Redis.

    Machines with the same key share the working context of a home. Each one makes a key of its own at the first use.
    The key signs the values, so whoever has it can put values into prompts. Keep it as secret as the memory. With
    --use, values under the earlier key are read no more.
    """
    from recall.hot_state import use_hot_state_key
    from recall.hot_state.home_key import ensure_key

    if use:
        given = getpass("Key: ") if sys.stdin.isatty() else sys.stdin.readline()
        use_hot_state_key(invocation.home, given)
        invocation.show({"kept": True}, ["kept: the key of the other machine"])
    else:
        made = ensure_key(invocation.home)
        invocation.show_text({"key": made.secret}, made.secret)
