"""`memory hook` as a process: the host's JSON out, nothing when something is wrong, and always exit code 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_home.home import Home
from interfaces.api import AgentHome
from interfaces.hosts import queue
from interfaces.hosts.hook import MOST_CHARS

HOOK = "from interfaces.entry import main; main()"
EVENT = {"session_id": "s1", "transcript_path": "", "cwd": "/", "last_assistant_message": "Done."}


def hook(home: Path, kind: str, given: str | bytes, *more: str, host: str = "claude-code", **variables: str) -> str:
    """Run the hook, require exit code 0 and an empty standard error, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", HOOK, "hook", kind, "--host", host, "--home", str(home), *more],
        input=given if isinstance(given, bytes) else given.encode("utf-8", "surrogatepass"), capture_output=True,
        env={**os.environ, "AGENT_HOME_SERVICE": "0", **variables}, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def context(printed: str) -> str:
    found: Any = json.loads(printed)
    return str(found["hookSpecificOutput"]["additionalContext"])


@pytest.mark.parametrize("host", MOST_CHARS)
def test_a_session_starts_with_a_brief_between_tags(home: Home, host: str) -> None:
    AgentHome(home).remember("The staging server is called heron", origin="user")
    text = context(hook(home.root, "session-start", json.dumps(EVENT), host=host))
    assert "heron" in text
    assert text.startswith("<agent-home>")
    assert text.endswith("</agent-home>")
    assert len(text) <= MOST_CHARS[host]


def test_the_first_prompt_alone_adds_what_is_known(home: Home) -> None:
    AgentHome(home).append("old", [{"role": "user", "content": "Our invoices database is PostgreSQL 16."}])
    asked = json.dumps({**EVENT, "prompt": "Which database do we use for invoices?"})
    assert "PostgreSQL 16" in context(hook(home.root, "user-prompt", asked))
    assert hook(home.root, "user-prompt", asked) == ""
    hook(home.root, "session-start", json.dumps({**EVENT, "source": "clear"}))
    assert "PostgreSQL 16" in context(hook(home.root, "user-prompt", asked))


@pytest.mark.parametrize("kind", ["stop", "session-end", "pre-compact"])
def test_the_other_events_are_queued_and_print_nothing(home: Home, kind: str) -> None:
    queue.folder(home.root).mkdir(parents=True)
    with subprocess.Popen(["true"]):  # a worker of this event may take it at once
        assert hook(home.root, kind, json.dumps(EVENT)) == ""
    known = (queue.folder(home.root) / "queue.jsonl").exists() or (queue.folder(home.root) / "open.json").exists()
    assert known


@pytest.mark.parametrize(
    "given",
    [
        "",
        "{",
        "[]",
        '{"session_id": 5}',
        "[" * 200_000,
        '{"session_id": "\x00"}',
        b"\xff\xfe\x00",
        '{"session_id": ""}',
    ],
    ids=range(8),
)
def test_bad_input_prints_nothing(home: Home, given: str | bytes) -> None:
    assert hook(home.root, "stop", given) == ""


def test_a_huge_input_is_read_to_a_limit(home: Home) -> None:
    assert hook(home.root, "stop", json.dumps({**EVENT, "prompt": "x" * (6 << 20)})) == ""
    assert "JSONDecodeError" in (queue.folder(home.root) / queue.ERRORS).read_text()


@pytest.mark.parametrize(("kind", "host"), [("no-event", "codex"), ("stop", "no-host")])
def test_an_unknown_event_or_host_prints_nothing(home: Home, kind: str, host: str) -> None:
    assert hook(home.root, kind, json.dumps(EVENT), host=host) == ""


def test_a_folder_without_a_home_prints_nothing_and_is_not_touched(tmp_path: Path) -> None:
    assert hook(tmp_path, "session-start", json.dumps(EVENT)) == ""
    assert list(tmp_path.iterdir()) == []


def test_a_broken_manifest_stops_no_host(home: Home) -> None:
    (home.root / "agent.toml").write_text("[[[")
    assert "<agent-home>" in context(hook(home.root, "session-start", json.dumps(EVENT)))


def test_the_switch_keeps_a_hook_from_doing_anything(home: Home) -> None:
    assert hook(home.root, "session-start", json.dumps(EVENT), AGENT_HOME_HOOKS="0") == ""
    assert not queue.folder(home.root).exists()


def test_the_end_of_a_session_loads_nothing_slow(home: Home) -> None:
    code = (
        "import sys, io; sys.argv = ['memory', 'hook', 'stop', '--host', 'codex', '--home', sys.argv[1]]; "
        "from interfaces.entry import main; main(); "
        "slow = {'click', 'numpy', 'apsw', 'onnxruntime', 'agent_home.settings'} & set(sys.modules); "
        "sys.exit(1 if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(home.root)], input=json.dumps(EVENT).encode(), check=False)
    assert done.returncode == 0
    assert len(queue.take(home.root)) == 1


def test_a_home_in_the_folder_of_a_stranger_is_not_used(home: Home) -> None:
    command = [sys.executable, "-c", HOOK, "hook", "session-start", "--host", "claude-code"]
    environment = {name: value for name, value in os.environ.items() if name != "AGENT_HOME"}
    inside = home.root / "Knowledge"
    given = json.dumps(EVENT).encode()
    done = subprocess.run(command, input=given, cwd=inside, env=environment, capture_output=True, check=True)
    assert done.stdout == b""
    done = subprocess.run(
        command, input=given, cwd=inside, env={**environment, "AGENT_HOME": str(home.root)}, capture_output=True,
        check=True,
    )  # fmt: skip
    assert b"agent-home" in done.stdout
