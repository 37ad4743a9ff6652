"""Define ``memory serve``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from ..invocation import Invocation, homes_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_home.home import Home

__all__ = ["serve"]

#: Seconds to wait for a service that was asked to end.
_STOP_S = 30.0


@homes_command(
    "serve",
    examples=(
        ("Keep the home here warm, until nobody asks for half an hour", "memory serve"),
        ("Serve two homes until Ctrl-C", "memory serve --home ~/agent --home ~/team --idle-minutes 0"),
        ("End the service of the home here", "memory serve --stop"),
    ),
)
@click.option(
    "--idle-minutes", type=click.FloatRange(min=0), metavar="N", help="End after N minutes without requests. 0: never."
)
@click.option("--http", "address", metavar="HOST:PORT", help="Also answer HTTP, for those who have a token.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="Name under which HTTP answers. May be repeated."
)
@click.option("--stop", is_flag=True, help="End the service that runs.")
def serve(
    invocations: Sequence[Invocation],
    idle_minutes: float | None,
    address: str | None,
    hosts: tuple[str, ...],
    stop: bool,
) -> None:
    """Answer commands from one warm process.

    While it runs, `memory prompt`, `search`, `remember`, `cite` and `done` ask it over a socket in the home's machine
    state, which only you can open. They run by themselves as before when it does not answer within 20 ms. It ends after
    30 minutes without a request, unless `[serve]` in agent.toml or --idle-minutes says otherwise. AGENT_HOME_SERVICE=0
    keeps a command from asking it.

    With --http, programs ask over HTTP with a bearer token (`memory token add`), and it does not end by itself.
    /openapi.json describes the requests. It is plain HTTP: put a proxy with TLS before an address that others reach.
    """
    named = [invocation.home for invocation in invocations]
    homes = list({home.root.resolve(): home for home in named}.values())
    if stop:
        _stop(invocations[0], homes)
        return
    try:
        from interfaces.service.server import serve as run
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"the service needs the package {error.name}. Install it with: pip install 'agent-home[service]'"
        ) from error
    from interfaces.service.settings import ServeSettings

    settings = homes[0].manifest.settings("serve", ServeSettings)
    port = _port(address) if address is not None else None
    usual = 0.0 if port is not None else settings.idle_minutes  # who asks over a port cannot start it again
    minutes = usual if idle_minutes is None else idle_minutes
    data = {"homes": [str(home.root) for home in homes], "idle_minutes": minutes, "http": address}
    run(
        homes, settings=settings, idle_s=minutes * 60, port=port, hosts=hosts,
        ready=lambda: invocations[0].show(data, _lines(homes, minutes, address)),
    )  # fmt: skip


def _port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"--http is {address!r}. Write an address and a port, like 127.0.0.1:8080")
    return host.strip("[]") or "127.0.0.1", int(port)


def _lines(homes: Sequence[Home], minutes: float, address: str | None) -> list[str]:
    until = f"until {minutes:g} minutes pass without a request, or Ctrl-C" if minutes else "until Ctrl-C"
    served = [f"serving {', '.join(str(home.root) for home in homes)} {until}"]
    return [
        *served, f"http://{address}/openapi.json describes the requests", "`memory page` prints a link to the page"
    ] if address else served  # fmt: skip


def _stop(invocation: Invocation, homes: Sequence[Home]) -> None:
    from interfaces.service.forwarding.client import exchange
    from interfaces.service.forwarding.socket_place import socket_path

    stopped = []
    for home in homes:
        try:
            if exchange(socket_path(home.root), "POST", "/stop", yes_s=2.0)[0] == 200:
                _wait_until_over(home)
                stopped.append(str(home.root))
        except (OSError, ValueError):
            continue
    invocation.show({"stopped": stopped}, [f"stopped: {root}" for root in stopped] or ["no service runs"])


def _wait_until_over(home: Home) -> None:
    """Wait until the service has given its lock back, so that another can be started. A long closing is not waited for.

    The lock is the last thing that it gives back, after its port and its socket.
    """
    from agent_home.errors import Locked
    from agent_home.lock import hold
    from interfaces.service.forwarding.socket_place import socket_path

    with contextlib.suppress(Locked), hold(socket_path(home.root).with_suffix(".lock"), _STOP_S):
        pass
