"""Define ``memory mcp``."""

from __future__ import annotations

import importlib
import signal

import click

from agent_home.audience import Audience

from ..invocation import Invocation, home_command

__all__ = ["mcp"]

#: Names of the packages that the extra brings. Another missing module is a defect.
_OF_THE_EXTRA = frozenset({"mcp", "mcp_types", "pydantic", "starlette", "uvicorn"})


@home_command(
    "mcp",
    examples=(
        ("The command that a host runs, such as Claude Code", "memory mcp --home ~/agent"),
        ("Serve a channel that anybody may read", "memory mcp --audience group"),
        ("Serve programs that have a token over HTTP", "memory mcp --http 127.0.0.1:8765"),
    ),
)
@click.option(
    "--audience", type=click.Choice([str(name) for name in Audience]), help="Who sees the answers (default: owner)."
)
@click.option("--connector", is_flag=True, help="Add the tools search and fetch that ChatGPT's connectors ask for.")
@click.option("--http", "address", metavar="HOST:PORT", help="Serve HTTP at /mcp instead of standard input and output.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="Name under which HTTP answers. May be repeated."
)
def mcp(
    invocation: Invocation, audience: str | None, connector: bool, address: str | None, hosts: tuple[str, ...]
) -> None:
    """Serve memory to a chat host over the Model Context Protocol.

    The host starts the command and speaks with it over standard input and output. The tools search, show, remember, end
    and cite entries and assemble the prompt. No tool decides about a text that waits for a person.

    With --http, programs ask with a bearer token (`memory token add`), whose scopes and audience apply.
    """
    if address and audience:
        raise click.UsageError("--audience is for standard input and output. Over HTTP each token has its audience")
    try:
        importlib.import_module("interfaces.mcp.http_app")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _OF_THE_EXTRA:
            raise
        raise click.ClickException(
            f"`memory mcp` needs the package {package}. Install it with: pip install 'agent-home[mcp]'"
        ) from error
    if address:
        _serve_http(invocation, address, hosts, connector=connector)
    else:
        _serve_pipe(invocation, audience or Audience.owner, connector=connector)


def _serve_pipe(invocation: Invocation, audience: str, *, connector: bool) -> None:
    from interfaces.mcp.server import MemoryServer
    from interfaces.service.http.callers import Caller
    from interfaces.service.http.tokens import SCOPES

    # A thread that waits for standard input would keep the process after Ctrl-C. A killed write is completed later.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    caller = Caller(name="stdio", home=invocation.home, scopes=SCOPES, audience=audience)
    MemoryServer(caller, connector=connector).run("stdio")


def _serve_http(invocation: Invocation, address: str, hosts: tuple[str, ...], *, connector: bool) -> None:
    from interfaces.mcp.http_app import PATH, serve_http
    from interfaces.service.settings import ServeSettings

    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"--http is {address!r}. Write an address and a port, like 127.0.0.1:8765")
    host = host.strip("[]") or "127.0.0.1"
    home = invocation.home

    def ready(number: int) -> None:
        url = f"http://{f'[{host}]' if ':' in host else host}:{number}{PATH}"
        invocation.show({"home": str(home.root), "url": url}, [f"serving {home.root} at {url} until Ctrl-C"])

    settings = home.manifest.settings("serve", ServeSettings)
    serve_http(home, (host, int(port)), settings=settings, hosts=hosts, connector=connector, ready=ready)
