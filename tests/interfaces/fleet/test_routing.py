"""Where a request for a home belongs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from agent_home.home import Home
from agent_home.moving.departure import mark_left
from interfaces.fleet.moves import move
from interfaces.fleet.registry import Holder, Registry
from interfaces.fleet.routing import AtHost, HomeRoutes, Nowhere
from recall.servers import ServerUnavailable

from .conftest import Fleet, until


def test_a_request_goes_to_the_holder_and_follows_a_move(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    two = fleet.host("two")
    with closing(HomeRoutes(one.folder, fleet.url)) as first, closing(HomeRoutes(two.folder, fleet.url)) as second:
        assert first.find("ada") == held
        assert [found.root for found in first.held()] == [held.root]
        assert second.find("ada") == AtHost(host="one", address="http://one:8080")
        move(fleet.registry, "ada", "two")
        fleet.await_holder("ada", "two")
        assert second.find("ada") == two.home("ada")
        until(lambda: first.find("ada") == AtHost(host="two", address="http://two:8080"))
        fleet.registry._run(lambda conn: conn.execute("UPDATE fleet_hosts SET address = '10.0.0.2:8080'"))
        first.forget("ada")
        found = first.find("ada")
        assert isinstance(found, Nowhere)
        assert "cannot be used" in found.reason


def test_a_home_that_nobody_has_is_asked_for_again(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    fleet.await_holder("ada", "one")
    two = fleet.host("two")
    two.end()
    one.end()
    with closing(HomeRoutes(two.folder, fleet.url)) as routes:
        until(lambda: isinstance(routes.find("ada"), Nowhere))
        found = routes.find("ada")
        assert isinstance(found, Nowhere)
        assert found.known
        assert "no host has the home ada now" in found.reason
        for name in ("bob", "../ada", "ADA"):
            unknown = routes.find(name)
            assert isinstance(unknown, Nowhere)
            assert not unknown.known


def test_without_the_registry_the_holder_still_reads(fleet: Fleet, home: Home, tmp_path: Path) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    one.end()
    away = f"postgresql://nobody@/none?host={tmp_path}"
    routes = HomeRoutes(one.folder, away)
    until(lambda: not routes.held(), "the session ends")
    assert routes.find("ada") == held
    mark_left(held)
    found = HomeRoutes(one.folder, away).find("ada")
    assert isinstance(found, Nowhere)
    assert found.known


def test_without_the_registry_an_older_answer_than_the_lease_is_not_believed(
    fleet: Fleet, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    fleet.await_holder("ada", "one")
    two = fleet.host("two")
    with closing(HomeRoutes(two.folder, fleet.url)) as routes:
        assert routes.find("ada") == AtHost(host="one", address="http://one:8080")
        move(fleet.registry, "ada", "two")
        held = fleet.await_holder("ada", "two")
        assert routes.find("ada") == held
        monkeypatch.setattr(Registry, "holder", _silent)
        two.end()
        until(lambda: not routes.held(), "the session ends")
        assert routes.find("ada") == held


def _silent(_registry: Registry, _home: str) -> Holder | None:
    raise ServerUnavailable("PostgreSQL", "postgresql://ann@db/memory", "gone")
