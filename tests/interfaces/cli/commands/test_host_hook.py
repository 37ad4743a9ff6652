"""Test ``memory hook`` where click runs it: in the help, and in ``python -m interfaces.cli``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from agent_home.home import Home
from interfaces.cli import cli
from interfaces.cli.commands.host_hook import EVENTS, hook
from interfaces.hosts import queue
from interfaces.hosts.event import HOSTS

# No test runs the command in this process: its alarm clock would end it.


def run(home: Home, *arguments: str, given: str = '{"session_id": "s1"}') -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "interfaces.cli", "hook", *arguments, "--home", str(home.root)],
        input=given, capture_output=True, text=True, check=False, env={**os.environ, "AGENT_HOME_SERVICE": "0"},
    )  # fmt: skip


def test_the_help_names_every_event_and_host_and_the_switch() -> None:
    shown = "".join(CliRunner().invoke(cli, ["hook", "--help"]).stdout.split())  # names may be wrapped
    assert all(name in shown for name in (*EVENTS, *HOSTS, "AGENT_HOME_HOOKS=0", "--max-chars"))


def test_the_command_takes_the_hosts_that_there_are() -> None:
    (option,) = [each for each in hook.params if each.name == "host"]
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == tuple(HOSTS)


@pytest.mark.parametrize("host", HOSTS)
def test_an_event_is_queued_and_nothing_is_printed(home: Home, host: str) -> None:
    done = run(home, "stop", "--host", host)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [(row["host"], row["session"]) for row in queue.take(home.root)] == [(host, "s1")]


def test_the_limit_is_passed_on(home: Home) -> None:
    done = run(home, "session-start", "--host", "codex", "--max-chars", "1500")
    text = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert len(text) <= 1_500
    assert re.search(r'</agent-home mark="[0-9a-f]{32}">\Z', text)


@pytest.mark.parametrize("given", ["", "{", "[]"])
def test_bad_input_prints_nothing(home: Home, given: str) -> None:
    done = run(home, "session-start", "--host", "codex", given=given)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
