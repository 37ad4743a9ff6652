"""Test ``memory mcp``: the process that a host starts, over standard input and output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from agent_home.home import Home
from interfaces.api import AgentHome
from interfaces.cli import cli
from tests.conftest import NOW
from tests.interfaces.mcp.clients import document, text_of

MEMORY = "from interfaces.entry import main; main()"
LONE_SURROGATE = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}'
SDKS = {"mcp", "mcp_types", "anthropic", "pydantic"}


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENT_HOME_CACHE", str(tmp_path / "cache"))


def started(home: Home, *options: str) -> StdioServerParameters:
    arguments = ["-c", MEMORY, "mcp", "--home", str(home.root), *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_host_remembers_and_finds_over_the_pipe(home: Home, mode: str) -> None:
    async def work() -> None:
        async with Client(started(home), mode=mode, read_timeout_seconds=60) as client:
            note = await client.call_tool("memory_remember", {"text": "The zeppelin leaves at nine"})
            assert not note.is_error
            assert "leaves at nine" in text_of(await client.call_tool("memory_search", {"query": "zeppelin"}))
            assert "leaves at nine" in await document(client, "memory://context/MEMORY.md")

    anyio.run(work)
    assert "The zeppelin leaves at nine" in (home.root / "MEMORY.md").read_text()


def test_the_audience_holds_for_the_process(home: Home) -> None:
    AgentHome(home).remember("The zeppelin leaves at nine", now=NOW)

    async def work() -> str:
        async with Client(started(home, "--audience", "group", "--connector"), read_timeout_seconds=60) as client:
            assert "search" in {tool.name for tool in (await client.list_tools()).tools}
            said = [
                text_of(await client.call_tool(name, {"query": "zeppelin"})) for name in ("memory_search", "search")
            ]
            said.append(text_of(await client.call_tool("memory_prompt", {"message": "zeppelin"})))
            return " ".join(said)

    assert "leaves at nine" not in anyio.run(work)


def test_hostile_lines_stop_nothing_and_the_protocol_is_all_that_is_written(home: Home) -> None:
    hello = {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }  # fmt: skip
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        "no JSON", "\0", LONE_SURROGATE, "[" * 50_000, {"jsonrpc": "2.0", "id": 8, "method": "no/such/method"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "memory_status", "arguments": {"x" * 100_000: 1}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}},
    ]  # fmt: skip
    lines = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in asked)
    command = [sys.executable, "-c", MEMORY, "mcp", "--home", str(home.root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines)
        process.stdin.flush()
        answers: dict[object, dict[str, object]] = {}
        while 3 not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        rest, problems = process.communicate(timeout=60)
    assert process.returncode == 0
    assert rest == ""
    assert "Traceback" not in problems
    assert {1, 2, 3, 8} <= set(answers)
    assert len(json.dumps(answers[2])) < 1000
    assert "has no argument" in json.dumps(answers[2])
    assert '"entries": 0' in json.dumps(answers[3])


def test_ctrl_c_ends_the_process_though_standard_input_is_open(home: Home) -> None:
    command = [sys.executable, "-c", MEMORY, "mcp", "--home", str(home.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT


def test_without_the_package_it_says_what_to_install(home: Home) -> None:
    script = f"import sys; sys.modules['mcp'] = None; {MEMORY}"
    command = [sys.executable, "-c", script, "mcp", "--home", str(home.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "memory: `memory mcp` needs the package mcp. Install it with: pip install 'agent-home[mcp]'\n"


def test_other_commands_do_not_import_the_sdk(home: Home) -> None:
    script = (
        "import sys\nfrom interfaces.cli import cli\ncli.main(sys.argv[1:], standalone_mode=False)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    command = [sys.executable, "-c", script, "search", "x", "--mode", "lexical", "--home", str(home.root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert SDKS & set(done.stdout.splitlines()[-1].split()) == set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--http", "127.0.0.1:x"), "--http is '127.0.0.1:x'"),
        (("--http", "127.0.0.1:70000"), "--http is '127.0.0.1:70000'"),
        (("--http", "127.0.0.1:8765", "--audience", "group"), "--audience is for standard input and output"),
        (("--audience", "everybody"), "everybody"),
    ],
)
def test_wrong_usage_is_one_clear_line(home: Home, options: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(cli, ["mcp", "--home", str(home.root), *options])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
