"""Test ``memory serve``: what it prints, and wrong usage. ``tests.interfaces.service`` tests the life of a service."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from agent_home.home import Home
from interfaces.cli import cli
from interfaces.service.forwarding.socket_place import socket_path
from tests.interfaces.service.running_service import PATIENCE_S, environment, run_memory, running

pytestmark = pytest.mark.xdist_group("test_serve.py")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["serve", *arguments])


@pytest.mark.parametrize("address", ["localhost", "localhost:", "localhost:x", ":-1", "localhost:65536", ":"])
def test_an_address_that_is_none_is_wrong_usage(home: Home, address: str) -> None:
    result = run("--home", str(home.root), "--http", address)
    assert result.exit_code == 2
    assert "127.0.0.1:8080" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("minutes", ["-1", "soon", ""])
def test_an_idle_time_that_is_none_is_wrong_usage(home: Home, minutes: str) -> None:
    assert run("--home", str(home.root), "--idle-minutes", minutes).exit_code == 2


def test_without_a_home_there_is_nothing_to_serve(tmp_path: Path) -> None:
    assert run("--home", str(tmp_path)).exit_code == 3
    assert run("--home", str(tmp_path), "--stop").exit_code == 3


def test_stopping_when_no_service_runs_is_done_already(home: Home) -> None:
    result = run("--stop", "--home", str(home.root))
    assert (result.exit_code, result.stdout) == (0, "no service runs\n")
    assert json.loads(run("--stop", "--home", str(home.root), "--json").stdout) == {"stopped": []}


def test_stopping_beside_a_stale_socket_is_done_already(home: Home) -> None:
    with running(home.root) as service:
        service.kill()
    assert socket_path(home.root).is_socket()
    assert run("--stop", "--home", str(home.root)).stdout == "no service runs\n"


def test_the_minutes_of_the_home_count_and_the_option_before_them(home: Home) -> None:
    with (home.root / "agent.toml").open("a") as manifest:
        manifest.write("\n[serve]\nidle_minutes = 7\n")
    with running(home.root) as service:
        assert service.ready == f"serving {home.root} until 7 minutes pass without a request, or Ctrl-C\n"
    with running(home.root, options=["--idle-minutes", "0"]) as service:
        assert service.ready == f"serving {home.root} until Ctrl-C\n"


def test_the_service_says_what_it_serves_as_one_json_document(home: Home) -> None:
    command = [
        sys.executable,
        "-c",
        "from interfaces.entry import main; main()",
        "serve",
        "--json",
        "--idle-minutes",
        "0.05",
    ]
    found = subprocess.run(
        [*command, "--home", str(home.root)], capture_output=True, check=False, timeout=PATIENCE_S, env=environment()
    )
    assert (found.returncode, found.stderr) == (0, b"")
    assert json.loads(found.stdout) == {"homes": [str(home.root)], "idle_minutes": 0.05, "http": None}


def test_http_answers_under_an_allowed_name_and_no_other(home: Home) -> None:
    with running(home.root, http=True, options=["--allow-host", "Pod.lan"]) as service:
        with httpx.Client(base_url=service.url, timeout=PATIENCE_S, trust_env=False) as client:
            found = [client.get("/health", headers={"Host": host}).status_code for host in ("pod.lan:80", "evil.lan")]
        assert found == [200, 421]


def test_a_home_that_is_named_twice_is_served_once(home: Home) -> None:
    with running(home.root, home.root) as service:
        assert service.ready.count(str(home.root)) == 1


def test_a_home_under_two_names_is_served_once(home: Home) -> None:
    again = home.root.parent / "." / home.root.name / ".." / home.root.name
    found = run_memory("serve", "--home", str(home.root), "--home", str(again), "--idle-minutes", "0.05")
    assert found.returncode == 0, found.stderr


def test_after_a_stop_another_service_starts_at_once(home: Home) -> None:
    for _ in range(2):
        with running(home.root, http=True) as service:
            assert run_memory("serve", "--home", str(home.root), "--stop").stdout.startswith(b"stopped: ")
            with socket_path(home.root).with_suffix(".lock").open("rb+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            assert not socket_path(home.root).exists()
            assert service.url


@pytest.mark.parametrize(
    ("options", "seconds"), [([], 1800), (["--http", "127.0.0.1:0"], 0), (["--http", ":0", "--idle-minutes", "2"], 120)]
)
def test_a_service_that_answers_http_does_not_end_by_itself(
    home: Home, monkeypatch: pytest.MonkeyPatch, options: list[str], seconds: float
) -> None:
    given: list[float] = []
    monkeypatch.setattr("interfaces.service.server.serve", lambda _homes, *, idle_s, **_rest: given.append(idle_s))
    assert run("--home", str(home.root), *options).exit_code == 0
    assert given == [seconds]
