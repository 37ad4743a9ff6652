"""Test the life of a service: one for each home, its socket, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_home.home import Home
from agent_home.store import closings
from interfaces.api import AgentHome
from interfaces.promised_closings import left_closings
from interfaces.service.forwarding.client import exchange, package, shared_environment
from interfaces.service.forwarding.socket_place import short_path, socket_path
from interfaces.service.http.tokens import add_token
from tests.conftest import NOW, FolderCopy
from tests.interfaces.service.running_service import (
    PATIENCE_S,
    RunningService,
    environment,
    is_gone,
    run_memory,
    running,
    until,
)

pytestmark = pytest.mark.xdist_group("test_server.py")


@pytest.fixture
def pattern(_pattern_home: FolderCopy) -> FolderCopy:
    """The files of a new home."""
    return _pattern_home


def command(root: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Run a command in the service of *root*. Return the status and the answer."""
    request = {
        "arguments": [*words, "--home", str(root)], "folder": str(root), "environ": {}, "package": package(),
        "shared": shared_environment(environment()),
    }  # fmt: skip
    status, answer = exchange(socket_path(root), "POST", "/command", json.dumps(request).encode(), yes_s=PATIENCE_S)
    return status, json.loads(answer)


def test_a_service_answers_and_ends_by_stop_without_a_trace(home: Home) -> None:
    with running(home.root) as service:
        place = socket_path(home.root)
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        status, answer = command(home.root, "remember", "The cellar is dry")  # runs git
        assert (status, answer["code"]) == (200, 0)
        stopped = run_memory("serve", "--stop", "--home", str(home.root), "--json")
        assert json.loads(stopped.stdout) == {"stopped": [str(home.root)]}
        assert service.wait() == 0
        assert not place.exists()
        assert is_gone(service.pid), "a process that the service started is left"
        assert service.log() == ""


def test_a_service_that_nobody_asks_ends(home: Home) -> None:
    with running(home.root, options=["--idle-minutes", "0.05"]) as service:
        assert service.wait() == 0
        assert not socket_path(home.root).exists()
        assert is_gone(service.pid)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        signal.SIGINT,
    ],
)  # fmt: skip
def test_a_signal_ends_the_service_and_removes_its_socket(home: Home, number: signal.Signals) -> None:
    with running(home.root) as service:
        until("the service answers", lambda: command(home.root, "search", "x")[0] == 200)
        os.kill(service.pid, number)
        service.wait()
        assert is_gone(service.pid)
        assert not socket_path(home.root).exists()


def test_a_home_has_one_service_and_the_second_is_refused(home: Home) -> None:
    with running(home.root):
        second = run_memory("serve", "--home", str(home.root))
        assert (second.returncode, second.stdout) == (5, b"")
        assert second.stderr.decode().splitlines() == [
            f"memory: another process serves {home.root}, and commands use it. `memory serve --stop` ends it"
        ]
        assert command(home.root, "search", "x")[0] == 200, "the first goes on"


def test_a_stale_socket_and_a_lock_file_stop_no_new_service(home: Home) -> None:
    with running(home.root) as first:
        first.kill()
    assert socket_path(home.root).is_socket()
    assert socket_path(home.root).with_suffix(".lock").exists()
    with running(home.root):
        assert command(home.root, "search", "x")[0] == 200


def test_one_service_answers_for_several_homes_and_stops_for_all(
    home: Home, tmp_path: Path, pattern: FolderCopy
) -> None:
    pattern.write(tmp_path / "other")
    other = tmp_path / "other"
    with running(home.root, other, http=True) as service:
        for root, text in ((home.root, "The cellar is dry"), (other, "The attic is wet")):
            assert command(root, "remember", text)[0] == 200
        assert "cellar" in (home.root / "MEMORY.md").read_text()
        assert "attic" in (other / "MEMORY.md").read_text()
        assert "attic" not in (home.root / "MEMORY.md").read_text()
        said = [exchange(socket_path(root), "GET", "/prompt", yes_s=PATIENCE_S)[1] for root in (home.root, other)]
        assert [b"cellar" in text for text in said] == [True, False]
        assert [b"attic" in text for text in said] == [False, True]
        tokens = [add_token(Home(root), "pod", scopes=("read",), audience="owner", now=NOW) for root in service.roots]
        with httpx.Client(base_url=service.url, timeout=PATIENCE_S, trust_env=False) as client:
            texts = [client.get("/prompt", headers={"Authorization": f"Bearer {token}"}).text for token in tokens]
        assert ["cellar" in text for text in texts] == [True, False]
        assert run_memory("serve", "--home", str(other)).returncode == 5
        stopped = run_memory("serve", "--stop", "--home", str(other))
        assert stopped.returncode == 0
        assert service.wait() == 0
        assert [socket_path(root).exists() for root in (home.root, other)] == [False, False]


def test_homes_with_long_paths_are_served_and_asked(tmp_path: Path, pattern: FolderCopy) -> None:
    folder = tmp_path / ("long" * 30) / ("path" * 30)
    folder.mkdir(parents=True)
    roots = [folder / "one", folder / "two"]
    for root in roots:
        pattern.write(root)
    assert len(os.fsencode(socket_path(roots[0]))) > 200
    with running(*roots) as service:
        for root, text in zip(roots, ("The cellar is dry", "The attic is wet"), strict=True):
            assert command(root, "remember", text)[1]["code"] == 0
        said = [exchange(socket_path(root), "GET", "/prompt", yes_s=PATIENCE_S)[1] for root in roots]
        assert [b"cellar" in text for text in said] == [True, False]
        assert run_memory("search", "cellar", "--mode", "lexical", "--home", str(roots[0])).returncode == 0
        assert run_memory("serve", "--stop", "--home", str(roots[0])).returncode == 0
        assert service.wait() == 0
        assert not [root for root in roots if socket_path(root).exists()]


def test_a_port_that_is_taken_is_an_error_and_leaves_nothing(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        found = run_memory("serve", "--home", str(home.root), "--http", address)
    assert found.returncode == 8
    assert len(found.stderr.decode().splitlines()) == 1
    assert not socket_path(home.root).exists()
    with running(home.root):
        assert command(home.root, "search", "x")[0] == 200, "the lock is free"


def test_a_request_that_runs_is_answered_before_the_service_ends(home: Home) -> None:
    token = add_token(home, "laptop", scopes=("write",), audience="owner", now=NOW)
    AgentHome(home).append("talk", [{"role": "user", "content": "Decision: we ship the crane on Monday."}], now=NOW)
    with running(home.root, http=True) as service:
        with httpx.Client(base_url=service.url, timeout=PATIENCE_S, trust_env=False) as client:
            begun = client.post("/sessions/talk/close", headers={"Authorization": f"Bearer {token}"})
            assert begun.status_code == 202
            assert exchange(socket_path(home.root), "POST", "/stop", yes_s=PATIENCE_S)[0] == 200
        assert service.wait() == 0
    assert "crane" in (home.root / "MEMORY.md").read_text()


def test_a_listener_that_connects_and_says_nothing_stops_nobody(home: Home) -> None:
    with running(home.root) as service, socket.socket(socket.AF_UNIX) as silent:
        with short_path(socket_path(home.root)) as name:
            silent.connect(name)
        assert command(home.root, "search", "x")[0] == 200
        assert run_memory("serve", "--stop", "--home", str(home.root)).returncode == 0
        assert service.wait() == 0


def test_warming_up_is_no_prompt_of_the_home(home: Home) -> None:
    with running(home.root):
        until("the index is there", home.index.exists)
        end = time.monotonic() + 2
        while time.monotonic() < end and not (home.machine / "last-prompts.json").exists():
            time.sleep(0.01)
        found = command(home.root, "prompt", "--explain")[1]
        assert "unchanged since the last prompt" not in found["err"]


def talks(home: Home, number: int) -> list[str]:
    names = [f"talk{each}" for each in range(number)]
    for name in names:
        AgentHome(home).append(name, [{"role": "user", "content": f"Decision: {name} ships on Monday."}], now=NOW)
    return names


def asked_to_close(service: RunningService, token: str, sessions: list[str]) -> list[str]:
    """Ask for the closings over HTTP, and return the paths of their jobs."""
    jobs = []
    with httpx.Client(base_url=service.url, timeout=PATIENCE_S, trust_env=False) as client:
        for session in sessions:
            begun = client.post(f"/sessions/{session}/close", headers={"Authorization": f"Bearer {token}"})
            assert begun.status_code == 202
            jobs.append(begun.headers["location"])
    return jobs


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_closings_that_a_signal_stopped_are_done_by_the_next_service(home: Home, number: signal.Signals) -> None:
    token = add_token(home, "laptop", scopes=("write",), audience="owner", now=NOW)
    sessions = talks(home, 5)
    with running(home.root, http=True) as service:
        jobs = asked_to_close(service, token, sessions)
        os.kill(service.pid, number)
        service.wait()
    assert [name for name, _ in closings.open_sessions(home)], "the service did not wait for all"
    with running(home.root, http=True) as service:
        until("all are closed", lambda: not closings.open_sessions(home))
        with httpx.Client(base_url=service.url, timeout=PATIENCE_S, trust_env=False) as client:
            last = client.get(jobs[-1], headers={"Authorization": f"Bearer {token}"})
        assert last.json()["kind"] == "close"
        until("nothing is promised any more", lambda: left_closings(home) == [])
    assert all(f"{session} ships on Monday" in (home.root / "MEMORY.md").read_text() for session in sessions)


def test_a_request_to_stop_waits_for_every_closing(home: Home) -> None:
    token = add_token(home, "laptop", scopes=("write",), audience="owner", now=NOW)
    with running(home.root, http=True) as service:
        asked_to_close(service, token, talks(home, 4))
        assert exchange(socket_path(home.root), "POST", "/stop", yes_s=PATIENCE_S)[0] == 200
        assert service.wait() == 0
        assert is_gone(service.pid)
    assert closings.open_sessions(home) == []
    assert left_closings(home) == []
