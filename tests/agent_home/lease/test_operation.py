"""Who may write a home of a fleet, and when a write counts as stored."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent_home.errors import HomeError, NotHeld, NotPublished
from agent_home.home import MEMORY, Home
from agent_home.imports.intake import import_chat
from agent_home.lease.operation import await_operations, operation
from agent_home.lease.publication import is_published
from agent_home.lease.record import read_lease, write_lease
from agent_home.moving.departure import drain
from agent_home.store.gateway import transaction
from interfaces.api import AgentHome
from tests.fleet import NOW, FleetHost, arrive, git, on_remote, state_paths, tip

FACT = "The deployment runs on Fridays."


def append(home: Home, text: str = "We use Redis for the queue.") -> None:
    AgentHome(home).append("s1", [{"role": "user", "content": text}])


def test_a_home_without_a_fleet_is_written_as_before(home: Home) -> None:
    AgentHome(home).remember(FACT)
    assert not (home.machine / "lease").exists()
    assert "Epoch" not in git(home.root, "log", "-1", "--format=%B")


def test_a_write_is_on_the_remote_when_it_returns(held: Home, remote: str) -> None:
    AgentHome(held).remember(FACT)
    assert FACT in on_remote(remote, MEMORY)
    append(held)
    assert any(path.startswith("home/sessions/") for path in state_paths(remote))
    assert git(held.root, "log", "-1", "--format=%(trailers:key=Epoch,valueonly)") == "1"
    assert tip(remote, "refs/heads/main") == git(held.root, "rev-parse", "HEAD")


@pytest.mark.parametrize("why", ["ended", "another start of the machine", "another life of the host", "no session"])
def test_without_a_lease_nothing_is_written(held: Home, host: FleetHost, remote: str, why: str) -> None:
    match why:
        case "ended":
            host.session(0)
        case "another start of the machine":
            host.session(boot_name="before")
        case "another life of the host":
            replace(host, incarnation="second").session()
        case _:
            shutil.rmtree(host.folder)
    before = (held.root / MEMORY).read_text(), tip(remote), git(held.root, "rev-parse", "HEAD")
    for write in (lambda: AgentHome(held).remember(FACT), lambda: append(held)):
        with pytest.raises(NotHeld, match="lease of the home ada on the host one has ended"):
            write()
    assert before == ((held.root / MEMORY).read_text(), tip(remote), git(held.root, "rev-parse", "HEAD"))
    assert "<agent-home>" in AgentHome(held).prompt("Who are you?").text


def test_a_lease_that_ends_during_a_write_acknowledges_nothing(held: Home, host: FleetHost, remote: str) -> None:
    before = tip(remote)

    def write() -> None:
        with transaction(held, actor="test", message="Write", now=NOW) as edits:
            edits.write(MEMORY, edits.text(MEMORY) + "\nMore.\n")
            host.session(0)  # the process was stopped for longer than its lease

    with pytest.raises(NotHeld):
        write()
    assert tip(remote) == before


def test_a_copy_of_a_home_is_not_written(held: Home, tmp_path: Path) -> None:
    shutil.copytree(held.root, tmp_path / "copy")
    with pytest.raises(NotHeld, match="is a copy of a home that a fleet serves"):
        AgentHome(Home(tmp_path / "copy")).remember(FACT)


def test_a_home_that_left_says_so(held: Home) -> None:
    lease = read_lease(held)
    assert lease is not None
    write_lease(held, lease.with_state("left"))
    with pytest.raises(NotHeld, match="is no longer on this host"):
        AgentHome(held).remember(FACT)


def test_an_operation_finishes_while_the_home_is_given_away(held: Home, remote: str) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), list[str]()

    def run() -> None:
        with operation(held):
            begun.set()
            go_on.wait(30)
            AgentHome(held).remember(FACT)
            ended.append("operation")

    def leave() -> None:
        drain(held, 30)
        ended.append("drain")

    worker, leaving = threading.Thread(target=run), threading.Thread(target=leave)
    worker.start()
    begun.wait(30)
    assert not await_operations(held, 0)
    leaving.start()
    while (lease := read_lease(held)) is not None and lease.state != "draining":
        pass
    with pytest.raises(NotHeld, match="is being moved"):
        append(held)
    with pytest.raises(NotHeld, match="is being moved"), operation(held):
        pass
    go_on.set()
    worker.join(60)
    leaving.join(60)
    assert ended == ["operation", "drain"]
    assert FACT in on_remote(remote, MEMORY)


def test_an_operation_is_published_once(held: Home, remote: str) -> None:
    moves = Path(remote, "logs", "refs", "agent-home", "state")
    before = len(moves.read_text().splitlines())
    with operation(held), operation(held):
        append(held)
        AgentHome(held).remember(FACT)
        assert tip(remote) == moves.read_text().splitlines()[-1].split()[1]
        assert len(moves.read_text().splitlines()) == before
    assert len(moves.read_text().splitlines()) == before + 1
    assert is_published(held)


def test_an_import_of_many_sessions_is_published_once(held: Home, remote: str, tmp_path: Path) -> None:
    moves = Path(remote, "logs", "refs", "agent-home", "state")
    before = len(moves.read_text().splitlines())
    chats = tmp_path / "chats"
    chats.mkdir()
    for name in ("a", "b", "c"):
        row = {"session": name, "role": "user", "content": "We use Redis for the queue."}
        chats.joinpath(f"{name}.jsonl").write_text(json.dumps(row))
    assert import_chat(held, [chats]).messages == 3
    assert len(moves.read_text().splitlines()) == before + 1
    assert is_published(held)


def test_what_an_operation_wrote_before_its_error_is_published(held: Home, remote: str) -> None:
    def fail() -> None:
        with operation(held):
            AgentHome(held).remember(FACT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert FACT in on_remote(remote, MEMORY)


def written(home: Home) -> dict[str, Callable[[], object]]:
    api = AgentHome(home)
    return {
        "remember": lambda: api.remember(FACT),
        "append": lambda: api.append("s1", [{"role": "user", "content": "Redis holds the queue.", "id": "m1"}]),
        "close": lambda: api.close("s0"),
        "output": lambda: api.outputs.store(b"42 passed", tool="pytest"),
        "checkpoint": lambda: api.checkpoints.make(notes="Half done"),
    }


@pytest.mark.parametrize("kind", ["remember", "append", "close", "output", "checkpoint"])
def test_a_write_that_is_repeated_after_the_remote_was_away_is_published(held: Home, remote: str, kind: str) -> None:
    AgentHome(held).append("s0", [{"role": "user", "content": "Remember that we review on Mondays."}])
    Path(remote).rename(f"{remote}.away")
    with pytest.raises(NotPublished, match="does not count as stored"):
        written(held)[kind]()
    Path(f"{remote}.away").rename(remote)
    written(held)[kind]()  # for some, everything is there already
    assert is_published(held)


def test_an_operation_stores_nothing_in_a_home_that_was_taken_over_anew_meanwhile(
    held: Home, host: FleetHost, remote: str, tmp_path: Path
) -> None:
    def write() -> None:
        with operation(held):
            held.root.rename(tmp_path / "aside")
            arrive(host, "ada", 2, remote)
            with pytest.raises(NotHeld, match="was taken over anew"):
                AgentHome(held).remember(FACT)

    with pytest.raises(NotHeld, match="was taken over anew"):
        write()
    AgentHome(held).remember(FACT)
    assert FACT in on_remote(remote, MEMORY)


def test_every_error_of_a_lease_is_one_of_a_home() -> None:
    assert issubclass(NotHeld, HomeError)
    assert issubclass(NotPublished, HomeError)
