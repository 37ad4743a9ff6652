"""Test ``memory slack``: the process that answers in Slack, its check and its manifest."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from click.testing import CliRunner, Result

from agent_home.creation import create
from agent_home.home import Home
from agent_home.settings import OwnerSettings
from agent_home.store import transcript
from interfaces.cli import cli
from tests.conftest import NOW
from tests.interfaces.slack.slack_server import OWNER, SlackServer, signed, wait_for

DIRECT = "D0OWNER01"
TOKENS = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "SLACK_SIGNING_SECRET": "secret-1"}


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer().running() as server:
        yield server


def run(home: Home, *options: str, **environ: str) -> Result:
    return CliRunner().invoke(cli, ["slack", "--home", str(home.root), *options], env={**TOKENS, **environ})


def test_a_process_answers_with_a_command_and_ends_at_a_signal(slack: SlackServer, home: Home, tmp_path: Path) -> None:
    create(home.root, owner=OwnerSettings(accounts=(OWNER,)), now=NOW)
    script = tmp_path / "answer.py"
    script.write_text("import json, sys\nprint('Heard:', json.load(sys.stdin)['thread'][-1]['text'])\n")
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    process = subprocess.Popen(
        [sys.executable, "-c", "from interfaces.entry import main; main()", "slack", "--home", str(home.root),
         "--responder-command", command],
        env={**os.environ, **TOKENS, "SLACK_API_URL": slack.url}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        wait_for(lambda: slack.is_connected)
        thread = slack.say(DIRECT, OWNER, "hello")
        wait_for(lambda: bool(slack.answers(DIRECT, thread)))
        assert slack.answers(DIRECT, thread)[0].rstrip().endswith("Heard: hello")
        wait_for(lambda: len(transcript.read(transcript.sessions(home)[0].path)) == 2)
    finally:
        process.send_signal(signal.SIGTERM)
        while process.poll() is None:  # its library waits for a word of the server
            slack.nudge()
            time.sleep(0.05)
        out, error = process.communicate()
    assert process.returncode == 0, error
    assert b"answers in Home over Slack's socket" in out
    assert b"xoxb" not in out + error


def test_a_process_answers_signed_requests_over_http(slack: SlackServer, home: Home) -> None:
    create(home.root, owner=OwnerSettings(accounts=(OWNER,)), now=NOW)
    process = subprocess.Popen(
        [sys.executable, "-c", "from interfaces.entry import main; main()", "slack", "--home", str(home.root),
         "--http", "127.0.0.1:0", "--responder-command", "cat"],
        env={**os.environ, **TOKENS, "SLACK_API_URL": slack.url}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().decode().split()[-1]
        row = slack.write(DIRECT, OWNER, "the parrot is green")
        body = json.dumps({"type": "event_callback", "event_id": "Ev1", "event": slack.event_of(DIRECT, row)})
        assert httpx.post(url, content=body).status_code == 401
        assert httpx.post(url, content=body, headers=signed("secret-1", body)).status_code == 200
        wait_for(lambda: bool(slack.answers(DIRECT)))
        assert '"text": "the parrot is green"' in slack.answers(DIRECT)[0]
    finally:
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate()
    assert process.returncode == 0, error


def test_the_check_names_what_is_missing(slack: SlackServer, home: Home) -> None:
    slack.scopes = slack.scopes.replace("mpim:read", "")
    done = run(home, "--check", SLACK_API_URL=slack.url)
    assert done.exit_code == 1
    assert "the scope mpim:read is missing" in done.output
    assert "nobody in Slack is the owner" in done.output
    slack.scopes += ",mpim:read"
    done = run(home, "--check", "--owner", OWNER, SLACK_API_URL=slack.url)
    assert (done.exit_code, "nothing is missing" in done.output) == (0, True)


def test_the_manifest_needs_no_token(home: Home) -> None:
    done = run(home, "--manifest", SLACK_BOT_TOKEN="")
    assert yaml.safe_load(done.output)["display_information"]["name"] == "Test"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--http", "nowhere", "--responder-command", "x"), "Write an address and a port"),
        ((), "either --responder-url"),
        (("--responder-command", "x", "--responder-url", "http://127.0.0.1/v1"), "either --responder-url"),
        (("--responder-url", "http://127.0.0.1/v1"), "model is empty"),
        (("--responder-url", "ftp://x", "--responder-model", "m"), "url is 'ftp://x'"),
        (("--owner", "sam", "--responder-command", "x"), "is no Slack user"),
    ],
)
def test_wrong_usage_says_what_to_write(home: Home, options: tuple[str, ...], said: str) -> None:
    done = run(home, *options)
    assert done.exit_code != 0
    assert said in done.output


@pytest.mark.parametrize("name", ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"])
def test_a_missing_token_is_named(home: Home, name: str) -> None:
    done = run(home, "--check", **{name: ""})
    assert done.exit_code != 0
    assert f"the environment variable {name} is empty" in done.output


def test_without_the_extra_the_error_names_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("slack_bolt", "interfaces.slack."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "slack_bolt", None)
    done = run(home, "--check")
    assert done.exit_code != 0
    assert "pip install 'agent-home[slack]'" in done.output


def test_an_address_that_slack_cannot_call_is_refused(home: Home) -> None:
    for options in (["--manifest", "--url", "http://bot.example/x"], ["--manifest", "--url", "none"]):
        done = run(home, *options)
        assert (done.exit_code, "https://" in done.output) == (2, True)
    assert "--manifest" in run(home, "--url", "https://bot.example/slack/events").output


@pytest.mark.parametrize(("name", "token"), [("SLACK_BOT_TOKEN", "xapp-1"), ("SLACK_APP_TOKEN", "xoxb-1")])
def test_swapped_tokens_are_named(home: Home, name: str, token: str) -> None:
    done = run(home, "--check", **{name: token})
    assert done.exit_code != 0
    assert f"{name} has the other token" in done.output
    assert token not in done.output


def test_without_a_network_no_token_is_blamed(home: Home) -> None:
    done = run(home, "--check", SLACK_API_URL="http://127.0.0.1:9/")
    assert done.exit_code == 1
    assert "Slack was not reached" in done.output
    assert "must be the bot token" not in done.output
