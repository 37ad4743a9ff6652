"""``memory doctor`` says whether a home of a fleet can be written, and whether its remote is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_home.errors import NotPublished
from agent_home.home import Home
from agent_home.moving.departure import mark_left
from interfaces.api import AgentHome
from interfaces.doctor.fleet_check import fleet_check
from interfaces.doctor.health import examine
from tests.conftest import NOW
from tests.fleet import FleetHost, arrive, bare, entrusted
from tests.interfaces.fleet.conftest import Fleet, fleet

__all__ = ["fleet"]


def said(home: Home) -> str:
    return "\n".join(f"{status} {text}" for status, text in fleet_check(home))


def test_a_home_of_no_fleet_has_no_line(home: Home) -> None:
    assert [check for check in examine(home, NOW) if check.name == "fleet"] == []


def test_a_held_home_is_well(fleet: Fleet, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_HOME_DATABASE_URL", fleet.url)
    one = fleet.host("one")
    fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    checks = [check for check in examine(held, NOW) if check.name == "fleet"]
    assert [check.status for check in checks] == ["ok", "ok", "ok"]
    assert "epoch 1: the lease holds for" in checks[0].detail
    assert f"failed the home ada on the host one, epoch 0, has left, and {home.root} is an old copy" in said(home)
    fleet.registry.remove_home("ada")
    assert "failed the fleet has no home 'ada'" in said(held)


def test_what_is_wrong_is_named(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote, host = bare(tmp_path / "remote.git"), FleetHost(tmp_path / "one")
    entrusted(home, host, "ada", remote)
    held = arrive(host, "ada", 1, remote)
    monkeypatch.setenv("AGENT_HOME_DATABASE_URL", f"postgresql://ann:secret@/none?host={tmp_path}")
    assert "warning PostgreSQL at postgresql://ann@/none does not answer" in said(held)
    assert "secret" not in said(held)
    monkeypatch.setenv("AGENT_HOME_DATABASE_URL", "")
    assert "info AGENT_HOME_DATABASE_URL is not set here" in said(held)
    Path(remote).rename(f"{remote}.away")
    with pytest.raises(NotPublished):
        AgentHome(held).remember("We use PostgreSQL for billing.")
    assert f"failed the remote {remote} does not answer" in said(held)
    Path(f"{remote}.away").rename(remote)
    assert "warning something here is not on the remote" in said(held)
    host.session(0)
    assert "failed the home ada on the host one, epoch 1: the lease has ended" in said(held)
    mark_left(held)
    assert "has left" in said(held)
