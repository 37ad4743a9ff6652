"""The registry gives each home to one live host, with a larger epoch each time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from interfaces.fleet.errors import HostNameTaken, NotInFleet
from interfaces.fleet.registry import Registry
from recall.servers import NoServer, ServerUnavailable


@pytest.fixture
def registry(new_database_url: str) -> Iterator[Registry]:
    made = Registry(new_database_url)
    made.add_home("ada", "/srv/git/ada.git")
    yield made
    made.close()


def begin(registry: Registry, host: str, seconds: float = 60.0, life: str = "1") -> None:
    registry.begin_session(host, f"{host}-{life}", address=f"http://{host}:8080", capacity=1.0, seconds=seconds)


def test_a_live_host_keeps_its_home(registry: Registry) -> None:
    begin(registry, "one")
    begin(registry, "two")
    first = registry.claim("ada", "one", "one-1")
    assert first is not None
    assert first.epoch == 1
    assert registry.claim("ada", "one", "one-1") == first
    assert registry.claim("ada", "two", "two-1") is None
    assert registry.open_homes() == []
    assert registry.renew("one", "one-1", 60) == {"ada": 1}


def test_when_the_session_ends_another_host_gets_a_larger_epoch(registry: Registry) -> None:
    begin(registry, "one", 0.2)
    begin(registry, "two")
    registry.claim("ada", "one", "one-1")
    time.sleep(0.3)
    assert [home.id for home in registry.open_homes()] == ["ada"]
    found = registry.claim("ada", "two", "two-1")
    assert found is not None
    assert found.epoch == 2
    assert registry.renew("one", "one-1", 60) == {}
    assert not registry.note_arrived("ada", "one", "one-1", 1)
    assert not registry.release("ada", "one", "one-1", 1, "late")
    assert registry.note_arrived("ada", "two", "two-1", 2)
    assert [row[:2] for row in registry.handovers("ada")] == [(1, "one"), (2, "two")]


def test_a_session_that_is_renewed_late_keeps_what_nobody_took(registry: Registry) -> None:
    begin(registry, "one", 0.1)
    registry.claim("ada", "one", "one-1")
    time.sleep(0.2)
    assert registry.renew("one", "one-1", 60) == {"ada": 1}
    begin(registry, "two")
    assert registry.claim("ada", "two", "two-1") is None


def test_many_hosts_that_claim_at_once_agree_on_one(new_database_url: str) -> None:
    names = [f"host-{number}" for number in range(8)]

    def claim(name: str) -> list[bool]:
        registry = Registry(new_database_url)
        begin(registry, name)
        found = [registry.claim(f"home-{number}", name, f"{name}-1") for number in range(10)]
        registry.close()
        return [item is not None for item in found]

    first = Registry(new_database_url)
    for number in range(10):
        first.add_home(f"home-{number}", "/srv/git/x.git")
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(claim, names))
    assert [sum(column) for column in zip(*rows, strict=True)] == [1] * 10
    assert {home.epoch for home in first.homes()} == {1}
    first.close()


def test_a_second_host_of_the_same_name_has_to_wait(registry: Registry) -> None:
    begin(registry, "one", 0.3)
    with pytest.raises(HostNameTaken, match="http://one:8080"):
        begin(registry, "one", life="2")
    begin(registry, "one", 0.3)
    time.sleep(0.4)
    begin(registry, "one", life="2")
    assert registry.renew("one", "one-1", 60) is None


def test_an_epoch_that_the_remote_knows_is_exceeded(registry: Registry) -> None:
    begin(registry, "one")
    registry.claim("ada", "one", "one-1")
    assert registry.raise_epoch("ada", "one", "one-1", 41) == 42
    assert registry.renew("one", "one-1", 60) == {"ada": 42}
    assert registry.raise_epoch("ada", "two", "two-1", 50) is None


def test_a_wish_ends_when_it_is_fulfilled(registry: Registry) -> None:
    begin(registry, "one")
    registry.want("ada", "one")
    assert [home.wanted for home in registry.open_homes()] == ["one"]
    found = registry.claim("ada", "one", "one-1")
    assert found is not None
    registry.note_arrived("ada", "one", "one-1", found.epoch)
    assert [home.wanted for home in registry.homes()] == [""]


def test_a_host_that_failed_is_avoided_for_a_while(registry: Registry) -> None:
    registry.note_problem("ada", "no route", avoid="one", seconds=0.2)
    assert registry.open_homes()[0].avoided == ("one",)
    time.sleep(0.3)
    assert registry.open_homes()[0].avoided == ()
    assert registry.homes()[0].problem == "no route"


def test_requests_find_the_live_holder(registry: Registry) -> None:
    assert registry.holder("ada") is None
    begin(registry, "one", 0.3)
    registry.claim("ada", "one", "one-1")
    found = registry.holder("ada")
    assert found is not None
    assert (found.host, found.address, found.arrived) == ("one", "http://one:8080", False)
    time.sleep(0.4)
    assert registry.holder("ada") is None
    with pytest.raises(NotInFleet, match="bob"):
        registry.holder("bob")
    with pytest.raises(NotInFleet, match="bob"):
        registry.want("bob", "one")
    with pytest.raises(NotInFleet, match="bob"):
        registry.leave("bob")


def test_the_first_key_is_that_of_the_fleet(registry: Registry) -> None:
    assert registry.machine_key(b"first") == registry.machine_key(b"second") == b"first"


def test_a_registry_that_is_away_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(ServerUnavailable, match="does not answer"):
        Registry(f"postgresql://nobody@/none?host={tmp_path_factory.mktemp('none')}").hosts()
    with pytest.raises(NoServer, match="AGENT_HOME_DATABASE_URL"):
        Registry("").hosts()


def test_adding_a_home_twice_changes_nothing(registry: Registry) -> None:
    assert registry.add_home("ada", "/srv/git/ada.git")
    assert not registry.add_home("ada", "/srv/git/other.git")
    registry.remove_home("ada")
    assert registry.homes() == []
