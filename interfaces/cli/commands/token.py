"""Define ``memory token``, with which a person gives programs access over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from agent_home import storage
from agent_home.audience import Audience

from ..command import Command, Group
from ..invocation import Invocation, options

__all__ = ["token"]

#: Copied from ``interfaces.service.http.tokens``, so that ``--help`` stays quick. A test compares them.
SCOPES = ("read", "write", "review", "metrics")


@click.group(
    "token",
    cls=Group,
    examples=(
        ("Let a pod read and write", "memory token add watchdog --scope read --scope write"),
        ("List the tokens", "memory token list"),
        ("Take one away", "memory token remove watchdog"),
    ),
)
def token() -> None:
    """Give programs access over HTTP.

    A token belongs to one home. It is shown once, and only its digest is kept, on this machine. The service of the home
    (`memory serve --http`) looks it up for each request, so a removed token is refused at once.
    """


@token.command(
    "add",
    cls=Command,
    examples=(
        ("Use a secret that a cluster hands out", "memory token add pods --token-file /run/secrets/token"),
        (
            "Let a crew of agents use its namespaces",
            "memory token add crew --scope read --scope write --namespace 'crew-*'",
        ),
        ("Let Prometheus read figures", "memory token add prometheus --scope metrics"),
        (
            "Let your own assistant read and write",
            "memory token add laptop --scope read --scope write --audience owner",
        ),
    ),
)
@click.argument("name", metavar="NAME")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="May be repeated (default: read).")
@click.option(
    "--audience", default="job", show_default=True, type=click.Choice([str(name) for name in Audience]),
    help="Who sees the answers.",
)  # fmt: skip
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME",
    help="A namespace that it may use, or with a star at the end all that begin so. May be repeated (default: none).",
)  # fmt: skip
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Use the token in FILE instead of a new one.",
)
@options
def add(
    invocation: Invocation,
    name: str,
    scopes: tuple[str, ...],
    audience: str,
    namespaces: tuple[str, ...],
    token_file: Path | None,
) -> None:
    """Make a token and print it.

    With the scope read it gets prompts and searches, as its audience may see them. With write it stores, appends,
    closes, cites and ends. With review it lists what waits, and with metrics it gets figures alone. No token decides.

    A token uses only the namespaces that it names, and none by default (`memory namespaces`).

    A token of another audience than owner speaks for itself: the user messages that it appends are a participant's, its
    notes name it, and its preferences and decisions wait for a person. Its sessions are its own.
    """
    from interfaces.service.http.tokens import add_token

    home = invocation.home
    given = storage.read_bytes(token_file).decode("utf-8", "replace").strip() if token_file else ""
    if token_file and not given:
        raise click.UsageError(f"{token_file} is empty. Put a token of 32 random characters or more into it")
    made = add_token(
        home, name, scopes=scopes or ("read",), audience=audience, now=invocation.moment, given=given,
        namespaces=namespaces,
    )  # fmt: skip
    data = {
        "name": name, "scopes": list(scopes or ("read",)), "audience": audience, "namespaces": list(namespaces),
    }  # fmt: skip
    if given:
        invocation.show(data, [f"added {name}"])
        return
    invocation.warn("this is the only time that the token is shown")
    invocation.show({**data, "token": made}, [made])


@token.command("list", cls=Command, examples=(("List them as JSON", "memory token list --json"),))
@options
def list_(invocation: Invocation) -> None:
    """List the tokens of the home, without their secrets."""
    from interfaces.service.http.tokens import tokens

    found = tokens(invocation.home)
    rows = [
        {
            "name": item.name, "scopes": list(item.scopes), "audience": item.audience, "made": item.made,
            "namespaces": list(item.namespaces),
        }
        for item in found
    ]  # fmt: skip
    lines = [
        f"{item.name:20}  {','.join(item.scopes):18}  {item.audience:8}  {item.made[:10]}  {' '.join(item.namespaces)}"
        for item in found
    ]
    invocation.show({"tokens": rows}, lines or ["no tokens"])


@token.command("remove", cls=Command, examples=(("Take a token away", "memory token remove watchdog"),))
@click.argument("name", metavar="NAME")
@options
def remove(invocation: Invocation, name: str) -> None:
    """Take a token away. Requests with it are refused from now on."""
    from interfaces.service.http.tokens import remove_token

    remove_token(invocation.home, name)
    invocation.show({"removed": name}, [f"removed {name}"])
