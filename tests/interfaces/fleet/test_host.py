"""Hosts take homes over, hand them over, and write them one at a time."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agent_home.errors import HomeError, NotHeld
from agent_home.home import MEMORY, Home
from agent_home.lease.operation import operation
from agent_home.lease.record import HostSession, forget_lease, read_lease, write_session
from agent_home.machine_key import machine_key
from agent_home.moving.departure import NotMovable, mark_left
from interfaces.api import AgentHome
from interfaces.fleet.errors import HostNameTaken, NoSuchHost, OtherKey
from interfaces.fleet.host import HostOptions, run_host
from interfaces.fleet.host_folder import HostFolder, HostIdentity, leases_in
from interfaces.fleet.membership import adopt_home, join, remove_home
from interfaces.fleet.moves import drain_host, move, plan_rebalance
from interfaces.fleet.registry import Registry
from recall.servers import ServerUnavailable
from tests.fleet import bare, epochs, git, on_remote

from .conftest import Fleet, until

FACT = "We use PostgreSQL for billing."
OTHER = "Redis holds the queue of jobs."


def test_a_home_comes_to_a_host_and_is_written_there(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    remote = fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    AgentHome(held).remember(FACT)
    assert FACT in on_remote(remote, MEMORY)
    with pytest.raises(NotHeld, match="is no longer on this host"):
        AgentHome(home).remember(OTHER)


def test_a_home_moves_with_its_last_write_and_comes_back(fleet: Fleet, home: Home) -> None:
    one, two = fleet.host("one"), fleet.host("two")
    remote = fleet.add("ada", home, one)
    until(lambda: fleet.holder("ada") != "")
    start = fleet.holder("ada")
    to = "two" if start == "one" else "one"
    AgentHome(fleet.running[start].home("ada")).remember(FACT)
    move(fleet.registry, "ada", to)
    move(fleet.registry, "ada", to)
    moved = fleet.await_holder("ada", to)
    assert FACT in (moved.root / MEMORY).read_text()
    until(lambda: not fleet.running[start].home("ada").root.exists(), "the old copy went")
    AgentHome(moved).remember(OTHER)
    move(fleet.registry, "ada", start)
    back = fleet.await_holder("ada", start)
    assert OTHER in (back.root / MEMORY).read_text()
    assert epochs(remote) == [(1, start), (2, to), (3, start)]
    assert [row[:2] for row in fleet.registry.handovers("ada")] == epochs(remote)
    assert not one.folder.aside.exists() or not list(one.folder.aside.iterdir())
    assert not two.folder.aside.exists() or not list(two.folder.aside.iterdir())
    with pytest.raises(NoSuchHost, match="Hosts that do: one, two"):
        move(fleet.registry, "ada", "three")


def test_what_runs_is_finished_before_a_home_moves(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    fleet.host("two")
    with operation(held):
        move(fleet.registry, "ada", "two")
        until(lambda: (lease := read_lease(held)) is not None and lease.state == "draining")
        AgentHome(held).remember(FACT)
        assert fleet.holder("ada") == "one"
    moved = fleet.await_holder("ada", "two")
    assert FACT in (moved.root / MEMORY).read_text()


def test_a_host_that_is_gone_loses_its_homes_and_writes_nothing(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    remote = fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    AgentHome(held).remember(FACT)
    two = fleet.host("two")
    one.end()  # its session is renewed no more
    moved = fleet.await_holder("ada", "two")
    with pytest.raises(NotHeld, match="has ended"):
        AgentHome(held).remember(OTHER)
    AgentHome(moved).remember(OTHER)
    assert epochs(remote) == [(1, "one"), (2, "two")]
    one.start()
    until(lambda: not held.root.exists(), "the old copy went")
    until(one.looked.is_set)
    assert fleet.holder("ada") == "two"
    assert two.home("ada").root.exists()


def test_a_host_that_is_started_again_goes_on(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one", lease_s=20.0)
    remote = fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    one.end()
    AgentHome(held).remember(FACT)  # its session goes on
    one.start()
    until(one.looked.is_set)
    AgentHome(held).remember(OTHER)
    assert epochs(remote) == [(1, "one")]


def test_a_host_after_a_start_of_its_machine_begins_a_new_life(
    fleet: Fleet, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fleet.host("one")
    remote = fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    AgentHome(held).remember(FACT)
    one.end()
    for module in ("interfaces.fleet.host_folder", "interfaces.fleet.host_session", "agent_home.lease.record"):
        monkeypatch.setattr(f"{module}.boot", lambda: "after")
    with pytest.raises(NotHeld):
        AgentHome(held).remember(OTHER)
    one.start()
    until(lambda: len(epochs(remote)) == 2 and fleet.holder("ada") == "one")
    AgentHome(held).remember(OTHER)
    assert [row[1] for row in epochs(remote)] == ["one", "one"]
    assert FACT in on_remote(remote, MEMORY)


def test_a_registry_from_an_old_backup_makes_nobody_write_beside_another(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    remote = fleet.add("ada", home, one)
    fleet.await_holder("ada", "one")
    two = fleet.host("two")
    for to in ("two", "one", "two"):
        move(fleet.registry, "ada", to)
        fleet.await_holder("ada", to)
    held = two.home("ada")
    AgentHome(held).remember(FACT)
    assert [row[0] for row in epochs(remote)] == [1, 2, 3, 4]
    set_back(fleet)
    until(lambda: len(epochs(remote)) > 4 and fleet.holder("ada") == "one", "the old holder took it over properly")
    assert epochs(remote)[-1][0] > 4
    with pytest.raises(HomeError):  # the copy is marked, or gone
        AgentHome(held).remember(OTHER)
    assert FACT in (one.home("ada").root / MEMORY).read_text()
    AgentHome(one.home("ada")).remember(OTHER)


def set_back(fleet: Fleet) -> None:
    """Let the registry say what it said at the beginning: one holds the home under the epoch 1."""
    identity = fleet.running["one"].folder.identity()
    fleet.registry._run(  # what a restored backup does
        lambda conn: (
            conn.execute("DELETE FROM fleet_handovers WHERE epoch > 1"),
            conn.execute("UPDATE fleet_homes SET epoch = 1, wanted = ''"),
            conn.execute(
                "UPDATE fleet_leases SET host = 'one', incarnation = %s, epoch = 1, arrived = true",
                (identity.incarnation,),
            ),
        )
    )


def test_a_drained_host_gives_all_homes_away_and_takes_none(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    fleet.await_holder("ada", "one")
    fleet.host("two")
    drain_host(fleet.registry, "one", draining=True)
    fleet.await_holder("ada", "two")
    assert plan_rebalance(fleet.registry) == []
    with pytest.raises(NoSuchHost):
        move(fleet.registry, "ada", "one")
    drain_host(fleet.registry, "one", draining=False)
    with pytest.raises(NoSuchHost, match="nobody"):
        drain_host(fleet.registry, "nobody", draining=True)


def test_a_home_that_leaves_the_fleet_is_one_of_its_own(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    remote = fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    assert remove_home(fleet.registry, "ada") == "one"
    until(lambda: fleet.registry.homes() == [])
    until(lambda: read_lease(held) is None)
    before = git(remote, "rev-parse", "refs/agent-home/state")
    AgentHome(held).remember(FACT)
    assert git(remote, "rev-parse", "refs/agent-home/state") == before
    with pytest.raises(NotMovable, match="has a home already"):
        fleet.add_again("ada", held, one, remote)
    adopt_home(fleet.registry, "bob", remote)
    until(lambda: "has the home ada, and not bob" in fleet.registry.homes()[0].problem)


def test_a_home_that_leaves_while_the_registry_is_away_leaves_later(
    fleet: Fleet, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    remove, tries = Registry.remove_home, []

    def away(registry: Registry, name: str) -> None:
        tries.append(name)
        if len(tries) == 1:
            raise ServerUnavailable("PostgreSQL", "", "it stopped")
        remove(registry, name)

    monkeypatch.setattr(Registry, "remove_home", away)
    remove_home(fleet.registry, "ada")
    until(lambda: fleet.registry.homes() == [])
    assert read_lease(held) is None
    AgentHome(held).remember(FACT)


def test_a_home_whose_remote_is_away_is_tried_again(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    remote = fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    Path(remote).rename(f"{remote}.away")
    fleet.host("two")
    one.end()
    until(lambda: "two: " in fleet.registry.homes()[0].problem, "the problem is named")
    Path(f"{remote}.away").rename(remote)
    fleet.await_holder("ada", "two")
    assert fleet.registry.homes()[0].problem == ""
    assert held.root.exists()  # its host is gone


def test_a_second_host_of_the_same_name_serves_nothing(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    fleet.await_holder("ada", "one")
    twin = HostFolder(fleet.place / "twin")
    join(fleet.registry, twin, HostIdentity(name="one", lease_s=0.5))
    with pytest.raises(HostNameTaken, match="http://one:8080"):
        run_host(twin, fleet.url, threading.Event(), HostOptions(poll_s=0.1))
    with pytest.raises(HostNameTaken, match=r"in .*/one"):
        run_host(one.folder, fleet.url, threading.Event(), HostOptions(poll_s=0.1))
    assert fleet.holder("ada") == "one"
    assert leases_in(twin) == {}


def test_a_folder_of_another_home_is_not_overwritten(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    other = one.folder.root / "ada"
    shutil.copytree(home.root, other)
    (other / "USER.md").write_text("Another home.\n")
    fleet.add("ada", home, one)
    until(lambda: "is another home. Move it away" in fleet.registry.homes()[0].problem)
    assert (other / "USER.md").read_text() == "Another home.\n"
    other.rename(one.folder.root / "moved-away")
    fleet.await_holder("ada", "one")


def test_a_name_that_is_taken_changes_nothing_of_the_home(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    adopt_home(fleet.registry, "ada", bare(fleet.place / "other.git"))
    with pytest.raises(NotMovable, match="Choose another name"):
        fleet.add("ada", home, one)
    AgentHome(home).remember(FACT)
    remote = fleet.add("bob", home, one)
    held = fleet.await_holder("bob", "one")
    fleet.add_again("bob", home, one, remote)
    with pytest.raises(NotMovable, match="the host one serves the home 'bob' already"):
        fleet.add_again("bob", held, one, remote)


def test_a_name_from_the_registry_does_not_lead_out_of_the_folder(fleet: Fleet) -> None:
    other = fleet.place / "other" / "fetched"
    other.mkdir(parents=True)
    (other / "file").write_text("Not of a fleet.\n")
    fleet.host("one")
    fleet.registry.add_home("../../../other", bare(fleet.place / "x.git"))
    until(lambda: "cannot be used" in fleet.registry.homes()[0].problem)
    assert [path.name for path in other.iterdir()] == ["file"]


def test_a_registry_that_was_made_anew_gets_the_key_of_a_host_that_runs(fleet: Fleet) -> None:
    one = fleet.host("one")
    fleet.registry._run(lambda conn: conn.execute("DELETE FROM fleet_key; DELETE FROM fleet_hosts"))
    until(lambda: bool(fleet.registry.hosts()), "it began anew")
    assert fleet.registry.machine_key(b"x" * 32) == machine_key()
    one.end()
    fleet.registry._run(lambda conn: conn.execute("UPDATE fleet_key SET machine_key = %s", (b"y" * 32,)))
    with pytest.raises(OtherKey, match="all hosts of a fleet share one"):
        run_host(one.folder, fleet.url, threading.Event(), HostOptions(poll_s=0.1))


def test_a_home_arrives_while_another_one_waits_to_leave(
    fleet: Fleet, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("interfaces.fleet.host._AT_ONCE", 1)
    one = fleet.host("one")
    fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    other = Home(Path(shutil.copytree(home.root, tmp_path / "other")))
    forget_lease(other)
    shutil.rmtree(other.machine / "lease")
    fleet.host("two")
    with operation(held):
        move(fleet.registry, "ada", "two")
        until(lambda: (lease := read_lease(held)) is not None and lease.state == "draining")
        began = time.monotonic()
        fleet.add("bob", other, one)
        move(fleet.registry, "bob", "one")
        fleet.await_holder("bob", "one")
        assert time.monotonic() - began < 15  # the other one waits for 20 s
    fleet.await_holder("ada", "two")


def test_a_move_goes_on_after_the_registry_was_away_in_the_middle(
    fleet: Fleet, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fleet.host("one")
    remote = fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    fleet.host("two")
    release, tries = Registry.release, []

    def away(registry: Registry, *given: Any) -> bool:
        tries.append(given)
        if len(tries) == 1:
            raise ServerUnavailable("PostgreSQL", "", "it stopped")
        return release(registry, *given)

    monkeypatch.setattr(Registry, "release", away)
    move(fleet.registry, "ada", "two")
    fleet.await_holder("ada", "two")
    until(lambda: not held.root.exists(), "the old copy went")
    assert epochs(remote) == [(1, "one"), (2, "two")]
    assert not one.folder.aside.exists()


def test_a_home_that_cannot_arrive_leaves_nothing_behind(fleet: Fleet, home: Home) -> None:
    one = fleet.host("one")
    (one.folder.own / "aside").write_text("A file in the place of the folder.\n")
    fleet.add("ada", home, one)
    held = fleet.await_holder("ada", "one")
    (held.root / "USER.md").write_text("Edited by hand.\n")
    mark_left(held)
    until(lambda: fleet.registry.homes()[0].problem != "")
    until(lambda: not list(one.folder.arriving.iterdir()))


def test_a_session_that_cannot_be_written_is_named(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fleet.host("one")
    monkeypatch.setattr("agent_home.consent.signed_record.storage.write_cache", lambda _path, _data: False)
    until(lambda: "Make room on the disk" in caplog.text)


def test_a_host_whose_disk_is_full_loses_its_homes_until_it_has_room(
    fleet: Fleet, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fleet.host("one")
    fleet.add("ada", home, one)
    fleet.await_holder("ada", "one")
    full = threading.Event()
    full.set()

    def write(folder: Path, session: HostSession) -> bool:
        return not (full.is_set() and folder == one.folder.own) and write_session(folder, session)

    monkeypatch.setattr("interfaces.fleet.host_session.write_session", write)
    fleet.host("two")
    taken = fleet.await_holder("ada", "two")
    AgentHome(taken).remember("We deploy with Nomad now", kind="decision")
    full.clear()
    until(lambda: {host.name for host in fleet.registry.hosts() if host.seconds > 0} == {"one", "two"}, "it has room")
    move(fleet.registry, "ada", "one")
    assert "Nomad" in (fleet.await_holder("ada", "one").root / "MEMORY.md").read_text()
