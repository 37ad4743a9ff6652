"""Errors of a fleet. Every message names what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_home.errors import HomeError
from agent_home.git.isolation import without_credentials

__all__ = [
    "FleetError",
    "HostNameTaken",
    "NoSuchHost",
    "NotInFleet",
    "NotJoined",
    "OtherKey",
    "UnknownHost",
    "WrongAddress",
    "WrongName",
]


class FleetError(HomeError):
    """Root of the errors of a fleet."""


class NotJoined(FleetError):
    """A folder is not that of a host."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is not the folder of a host. Run `memory fleet join {folder} --name NAME`")
        self.folder = folder


class WrongName(FleetError, ValueError):
    """A name cannot be that of a home or a host."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the name {name!r} cannot be used. Write up to 63 small letters, digits, '.', '_' and '-', and begin with"
            " a letter or a digit"
        )
        self.name = name


class WrongAddress(FleetError, ValueError):
    """Requests cannot be forwarded to an address."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"the address {without_credentials(address)!r} cannot be used. Write where other hosts reach `memory serve`"
            " on this one, like http://10.0.0.1:8080"
        )


class NotInFleet(FleetError):
    """The registry has no home of that name."""

    def __init__(self, home: str) -> None:
        super().__init__(f"the fleet has no home {home!r}. `memory fleet status` lists them")
        self.home = home


class NoSuchHost(FleetError):
    """No host of that name can take a home now."""

    def __init__(self, host: str, live: Sequence[str]) -> None:
        super().__init__(f"the host {host!r} takes no homes now. Hosts that do: {', '.join(live) or 'none'}")
        self.host = host


class UnknownHost(NoSuchHost):
    """No host of that name ever joined the fleet."""

    def __init__(self, host: str) -> None:
        FleetError.__init__(self, f"the fleet has no host {host!r}. `memory fleet status` lists them")
        self.host = host


class HostNameTaken(FleetError):
    """Another process is the host of that name."""

    def __init__(self, host: str, address: str) -> None:
        super().__init__(
            f"another process is the host {host}, with the address {address}. Give each host a name of its own with"
            " `memory fleet join`"
        )
        self.host = host


class OtherKey(FleetError):
    """The machine key of this user is not that of the fleet."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is another key than that of the fleet, and all hosts of a fleet share one. Set AGENT_HOME_STATE to"
            " a folder for the fleet alone, for every program on this host, and join again"
        )
        self.path = path
