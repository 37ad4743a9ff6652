"""``memory fleet``: a host joins, a home comes, moves, is maintained, and everything says what it did."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agent_home.home import MEMORY, Home
from agent_home.machine_key import key_path
from interfaces.cli import cli
from interfaces.cli.commands.fleet import LogFormatter
from interfaces.fleet.host_folder import HostFolder
from tests.fleet import bare
from tests.interfaces.fleet.conftest import RunningHost, until


@pytest.fixture
def memory(new_database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AGENT_HOME_DATABASE_URL", new_database_url)

    def run(*arguments: str, code: int = 0) -> Any:
        found = CliRunner().invoke(cli, ["fleet", *arguments, "--json"], catch_exceptions=False)
        assert found.exit_code == code, found.output
        return json.loads(found.stdout) if found.stdout else found.stderr

    return run


def test_a_fleet_of_two_hosts(memory: Any, new_database_url: str, home: Home, tmp_path: Path) -> None:
    running = []
    for name in ("one", "two"):
        memory(
            "join", str(tmp_path / name), "--name", name, "--address", f"http://{name}:8080/", "--lease-seconds", "3"
        )
        folder = HostFolder(tmp_path / name)
        running.append(RunningHost(folder, folder.identity(), new_database_url).start())
        until(running[-1].looked.is_set)
    try:
        remote = bare(tmp_path / "ada.git")
        memory("add", "ada", "--home", str(home.root), "--host", str(tmp_path / "one"), "--remote", remote)
        until(lambda: status()["homes"][0]["arrived"])
        before = memory("status")["homes"][0]["host"]
        to = "two" if before == "one" else "one"
        assert memory("move", "ada", "--to", to) == {"home": "ada", "host": to, "done": True}
        assert memory("nightly") == {"queued": ["ada"], "waiting": []}
        assert memory("nightly", "ada") == {"queued": [], "waiting": ["ada"]}
        assert memory("worker", str(tmp_path / to), "--once") == {"done": ["ada"]}
        found = memory("status")
        assert [(row["name"], row["live"], row["homes"]) for row in found["hosts"]] == [
            (name, True, int(name == to)) for name in ("one", "two")
        ]
        assert found["hosts"][0]["address"] == "http://one:8080"
        assert (found["queue"]["todo"], found["queue"]["succeeded"]) == (0, 1)
        plan = memory("rebalance", "--dry-run")["moves"]
        assert plan == ([{"home": "ada", "from": to, "to": before}] if to != before else [])
        assert memory("drain", to)["draining"] is True
        until(lambda: status()["homes"][0]["host"] == before)
        assert memory("drain", to, "--undo")["draining"] is False
        assert memory("remove", "ada") == {"home": "ada", "host": before}
        until(lambda: not status()["homes"])
        assert (tmp_path / before / "ada" / MEMORY).exists()
    finally:
        for host in running:
            host.end()


def status() -> Any:
    """The status, whatever its exit code says."""
    return json.loads(CliRunner().invoke(cli, ["fleet", "status", "--json"], catch_exceptions=False).stdout)


def test_what_cannot_be_done_is_named(memory: Any, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is not the folder of a host" in memory("host", str(tmp_path), code=2)
    assert "cannot be used" in memory("join", str(tmp_path / "a"), "--name", "Ada!", code=2)
    for option, value in (("--capacity", "nan"), ("--capacity", "inf"), ("--lease-seconds", "nan")):
        assert option in memory("join", str(tmp_path / "one"), "--name", "one", option, value, code=2)
    for address in ("10.0.0.1:8080", "http://", "http://h:99999", "http://ada:secret@h:1", "http://h:1?x"):
        said = memory("join", str(tmp_path / "one"), "--name", "one", "--address", address, code=2)
        assert "like http://10.0.0.1:8080" in said
        assert "secret" not in said
    memory("join", str(tmp_path / "one"), "--name", "one")
    remote = bare(tmp_path / "ada.git")
    given = ("--home", str(home.root), "--remote", remote)
    assert "does not run" in memory("add", "ada", *given, "--host", str(tmp_path / "one"), code=5)
    assert "--host is missing" in memory("add", "ada", *given, code=2)
    assert "no home 'ada'" in memory("remove", "ada", code=2)
    assert "no home 'ada'" in memory("nightly", "ada", code=2)
    assert "takes no homes now" in memory("move", "ada", "--to", "one", code=2)
    assert "has no host 'two'" in memory("drain", "two", code=2)
    memory("add", "ada", "--remote", remote, "--adopt")
    assert [row["host"] for row in memory("status", code=1)["homes"]] == [""]
    monkeypatch.setenv("AGENT_HOME_STATE", str(tmp_path / "state"))
    memory("join", str(tmp_path / "two"), "--name", "two")  # this user has no key yet
    key_path().write_bytes(b"x" * 32)
    assert "is another key than that of the fleet" in memory("join", str(tmp_path / "two"), "--name", "two", code=7)
    monkeypatch.setenv("AGENT_HOME_DATABASE_URL", "")
    assert "AGENT_HOME_DATABASE_URL" in memory("status", code=8)


def test_removing_a_home_without_a_host_says_how_it_comes_back(memory: Any, tmp_path: Path) -> None:
    memory("join", str(tmp_path / "one"), "--name", "one")
    memory("add", "ada", "--remote", bare(tmp_path / "ada.git"), "--adopt")
    found = CliRunner().invoke(cli, ["fleet", "remove", "ada"])
    assert (found.exit_code, "`memory fleet add ada --remote URL --adopt`" in found.stdout) == (0, True)


def test_the_status_is_readable(memory: Any, tmp_path: Path) -> None:
    memory("join", str(tmp_path / "one"), "--name", "one")
    memory("add", "ada", "--remote", bare(tmp_path / "ada.git"), "--adopt")
    found = CliRunner().invoke(cli, ["fleet", "status"])
    assert found.stdout.splitlines() == [
        "0 hosts", "1 home, 1 without a host", "  ada                  no host, epoch 0",
        "nightly runs: 0 wait, 0 run, 0 done, 0 failed",
    ]  # fmt: skip


def test_the_log_of_a_host_says_nothing_that_a_terminal_obeys() -> None:
    problem = ValueError("\x1b[2J")
    info = (ValueError, problem, None)
    record = logging.LogRecord("x", logging.WARNING, "x", 1, "the home %s", ("\x1b[2J\nall is well",), info)
    said = LogFormatter("%(message)s").format(record)
    assert said.splitlines()[0] == "the home \\x1b[2J\\nall is well"
    assert "\x1b" not in said


def test_the_service_of_a_fleet_needs_an_address_and_a_host(memory: Any, tmp_path: Path) -> None:
    memory("join", str(tmp_path / "one"), "--name", "one")
    found = CliRunner().invoke(cli, ["serve", "--fleet", str(tmp_path / "one")])
    assert (found.exit_code, "--fleet needs --http" in found.stderr) == (2, True)
    found = CliRunner().invoke(cli, ["serve", "--fleet", str(tmp_path), "--http", "127.0.0.1:0"])
    assert (found.exit_code, "is not the folder of a host" in found.stderr) == (2, True)


@pytest.mark.parametrize("words", [["fleet", "status"], ["fleet", "drain", "one"], ["namespaces", "list"]])
def test_commands_that_work_on_no_home_take_none(words: list[str], home: Home) -> None:
    found = CliRunner().invoke(cli, [*words, "--home", str(home.root)])
    assert (found.exit_code, "No such option" in found.stderr or "no such option" in found.stderr) == (2, True)
