"""A home of a fleet on its host, with a bare repository as its remote."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.home import Home
from tests.fleet import FleetHost, arrive, bare, entrusted


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return bare(tmp_path / "remote.git")


@pytest.fixture
def host(tmp_path: Path) -> FleetHost:
    return FleetHost(tmp_path / "one")


@pytest.fixture
def held(home: Home, host: FleetHost, remote: str) -> Home:
    """The home ``ada``, which the host holds under the epoch 1."""
    entrusted(home, host, "ada", remote)
    return arrive(host, "ada", 1, remote)
