"""Test ``memory close`` with an embedding model and a language model."""

from __future__ import annotations

import json
import shlex
import sys
from datetime import datetime

import pytest
from click.testing import CliRunner, Result

from agent_home import storage
from agent_home.home import Home
from agent_home.store import transcript
from agent_home.store.transcript import Message
from interfaces.cli import cli
from tests.consenting import agree
from tests.distill.model_server import rewording, send, serving

KEY = "not-a-" + "real-key"


def closed(home: Home, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["close", "--home", str(home.root), "--now", "2026-11-21T09:00:00", *arguments])


@pytest.fixture
def home_with_session(home: Home, now: datetime) -> Home:
    """A home with one session that holds a decision."""
    message = Message(session="a", id="m1", ts="2026-11-20T10:00:00", content="Decision: the index uses apsw.")
    transcript.append(home, "a", [message], actor="test", now=now)
    return home


def configure(home: Home, url: str) -> None:
    path = home.root / "agent.toml"
    table = f'\n[distill.endpoint]\nurl = "{url}"\nmodel = "m"\nkey-env = "TEST_MODEL_KEY"\ntimeout-s = 5\n'
    table += 'task = "reword"\n'
    path.write_text(storage.read_text(path) + table, encoding="utf-8")
    agree(home)


def test_the_key_is_read_from_the_variable_in_the_settings(
    home_with_session: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_MODEL_KEY", KEY)
    with serving(rewording(l1="The index uses apsw.")) as server:
        configure(home_with_session, server.url)
        data = json.loads(closed(home_with_session, "a", "--json").stdout)
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    assert (data["reworded"], data["degraded"]) == (1, [])
    assert data["entries"][0]["text"] == "The index uses apsw."


def test_a_failing_endpoint_is_reported_and_the_session_is_closed(
    home_with_session: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_MODEL_KEY", raising=False)
    with serving(lambda handler, _: send(handler, b"{}", status=401)) as server:
        configure(home_with_session, server.url)
        done = closed(home_with_session, "--all", "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert data["entries"][0]["text"] == "the index uses apsw."
    assert "status 401" in data["degraded"][0]
    assert "status 401" in done.stderr


def test_an_invalid_endpoint_prints_one_line_and_closes_nothing(home_with_session: Home) -> None:
    configure(home_with_session, "http://models.example/v1")
    done = closed(home_with_session, "a")
    assert done.exit_code == 7
    assert "unencrypted" in done.stderr


def test_a_command_of_this_machine_reads_the_session(home_with_session: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home_with_session.root / "agent.toml"
    path.write_text(storage.read_text(path) + '\n[distill.endpoint]\nkind = "command"\n', encoding="utf-8")
    agree(home_with_session)
    row = {
        "op": "add", "type": "decision", "text": "The index uses apsw.",
        "cites": [{"turn": "m1", "quote": "the index uses apsw"}],
    }  # fmt: skip
    code = f"import sys; sys.stdin.read(); print({json.dumps({'operations': [row]})!r})"
    monkeypatch.setenv("AGENT_HOME_MODEL_COMMAND", shlex.join([sys.executable, "-c", code]))
    data = json.loads(closed(home_with_session, "a", "--json").stdout)
    assert (data["model"]["requests"], data["model"]["accepted"], data["degraded"]) == (1, 1, [])
    assert data["model"]["tokens"] > 100
    assert [entry["text"] for entry in data["entries"]] == ["The index uses apsw."]


def test_a_command_that_only_agent_toml_asks_for_is_not_run(
    home_with_session: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENT_HOME_MODEL_COMMAND", raising=False)
    path = home_with_session.root / "agent.toml"
    path.write_text(storage.read_text(path) + '\n[distill.endpoint]\nkind = "command"\n', encoding="utf-8")
    agree(home_with_session)
    data = json.loads(closed(home_with_session, "a", "--json").stdout)
    assert "AGENT_HOME_MODEL_COMMAND is empty" in data["degraded"][0]
    assert data["entries"]
