"""Define ``memory serve``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from ..invocation import Invocation, homes_command
from ..surroundings import surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
        ("Answer for the homes of a fleet", "memory serve --http 0.0.0.0:8080 --fleet /srv/homes"),
    ),
)
@click.option(
    "--idle-minutes", type=click.FloatRange(min=0), metavar="N", help="End after N minutes without requests. 0: never."
)
@click.option("--http", "address", metavar="HOST:PORT", help="Also answer HTTP, for those who have a token.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="Name under which HTTP answers. May be repeated."
)
@click.option(
    "--fleet", "folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Answer for all homes of a fleet, from the host in DIR.",
)  # fmt: skip
@click.option("--redirect", is_flag=True, help="With --fleet: tell clients the right host instead of forwarding.")
@click.option("--stop", is_flag=True, help="End the service that runs.")
def serve(
    invocations: Sequence[Invocation],
    idle_minutes: float | None,
    address: str | None,
    hosts: tuple[str, ...],
    folder: Path | None,
    redirect: bool,
    stop: bool,
) -> None:
    """Answer commands from one warm process.

    While it runs, `memory prompt`, `search`, `remember`, `cite` and `done` ask it over a socket in the home's machine
    state, which only you can open. They run by themselves as before when it does not answer within 20 ms. It ends after
    30 minutes without a request, unless `[serve]` in agent.toml or --idle-minutes says otherwise. AGENT_HOME_SERVICE=0
    keeps a command from asking it.

    With --http, programs ask over HTTP with a bearer token (`memory token add`), and it does not end by itself.
    /openapi.json describes the requests. It is plain HTTP: put a proxy with TLS before an address that others reach.

    With --fleet, a request names its home by /homes/NAME before the path, or by the header X-Agent-Home. A request for
    a home on another host is forwarded there, and its token is checked there (docs/fleet.md).
    """
    if folder is not None:
        _serve_fleet(invocations[0], folder, address, hosts, redirect=redirect)
        return
    named = [invocation.home for invocation in invocations]
    homes = list({home.root.resolve(): home for home in named}.values())
    if stop:
        _stop(invocations[0], homes)
        return
    run = _service()
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


def _service() -> Callable[..., None]:
    try:
        from interfaces.service.server import serve as run
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"the service needs the package {error.name}. Install it with: pip install 'agent-home[service]'"
        ) from error
    return run


def _serve_fleet(
    invocation: Invocation, folder: Path, address: str | None, hosts: tuple[str, ...], *, redirect: bool
) -> None:
    """Serve the homes of the host in *folder* over HTTP."""
    if address is None:
        raise click.UsageError("--fleet needs --http. Name the address at which other hosts reach this one")
    run = _service()
    from interfaces.fleet.host_folder import HostFolder
    from interfaces.fleet.routing import HomeRoutes
    from interfaces.service.settings import ServeSettings
    from recall.servers import database_url

    routes = HomeRoutes(HostFolder(folder.absolute()), database_url(surroundings().environ))
    own = urlsplit(routes.address).hostname
    data = {"folder": str(folder), "http": address, "redirect": redirect}
    lines = [f"serving the homes of the fleet in {folder} at http://{address}/homes/NAME/ until Ctrl-C"]
    with contextlib.closing(routes):
        run(
            [], settings=ServeSettings(), idle_s=0.0, port=_port(address), hosts=(*hosts, *([own] if own else ())),
            fleet=routes, redirect=redirect, ready=lambda: invocation.show(data, lines),
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
