"""Test MCP over HTTP against the real process: tokens, names, sizes, and what each token's audience gets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agent_home.creation import create
from interfaces.api import AgentHome
from interfaces.service.http.tokens import add_token, remove_token
from tests.conftest import NOW
from tests.interfaces.mcp.clients import document, text_of

TOKENS = {
    "owner": (("read", "write"), "owner"),
    "reader": (("read",), "owner"),
    "channel": (("read", "write"), "group"),
}
START = [sys.executable, "-c", "from interfaces.entry import main; main()", "mcp", "--http", "127.0.0.1:0", "--json"]


class Served:
    """A home that a process serves. *tokens* has the token of each name."""

    def __init__(self, root: Path, url: str, tokens: dict[str, str]) -> None:
        self.root, self.url, self.tokens = root, url, tokens

    @asynccontextmanager
    async def client(self, token: str, **named: Any) -> AsyncIterator[Client]:
        """Connect as the holder of *token*."""
        headers = {"Authorization": f"Bearer {self.tokens[token]}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(self.url, http_client=http), **named) as client,
        ):
            yield client

    def post(self, message: object = None, **headers: str) -> httpx.Response:
        """Send one message of the older protocol. The headers are those of a client, unless *headers* has others."""
        usual = {
            "Authorization": f"Bearer {self.tokens['owner']}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        body = message if isinstance(message, bytes) else json.dumps(message or LIST).encode()
        return httpx.post(self.url, content=body, headers={**usual, **headers}, timeout=30)


LONE_SURROGATE = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}'
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("AGENT_HOME_CACHE", str(tmp_path_factory.mktemp("cache")))
        home = create(tmp_path_factory.mktemp("served") / "home", name="Test", now=NOW).home
        AgentHome(home).remember("The zeppelin leaves at nine", kind="decision", now=NOW)
        tokens = {
            name: add_token(home, name, scopes=scopes, audience=audience, now=NOW)
            for name, (scopes, audience) in TOKENS.items()
        }
        with subprocess.Popen(
            [*START, "--home", str(home.root), "--allow-host", "mcp.example.org"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            while lines[-1] != "}\n":
                lines.append(process.stdout.readline())
            yield Served(home.root, json.loads("".join(lines))["url"], tokens)
            process.send_signal(signal.SIGINT)
            rest, problems = process.communicate(timeout=30)
            assert rest == ""
            assert "Traceback" not in problems


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_both_protocol_eras_are_served(served: Served, mode: str) -> None:
    async def work() -> None:
        async with served.client("owner", mode=mode) as client:
            found = await client.call_tool("memory_search", {"query": "zeppelin"})
            assert "leaves at nine" in text_of(found)
            assert "leaves at nine" in await document(client, "memory://context/MEMORY.md")
            note = await client.call_tool("memory_remember", {"text": f"The {mode} airship is blue"})
            assert not note.is_error

    anyio.run(work)


def test_a_token_gives_its_scopes_and_its_audience(served: Served) -> None:
    async def work() -> None:
        async with served.client("reader") as reader, served.client("channel") as channel:
            assert "memory_remember" not in {tool.name for tool in (await reader.list_tools()).tools}
            assert "memory_get" in {tool.name for tool in (await reader.list_tools()).tools}
            assert "memory_get" not in {tool.name for tool in (await channel.list_tools()).tools}
            found = (await channel.call_tool("memory_search", {"query": "zeppelin"})).structured_content
            assert found is not None
            assert found["hits"] == []
            assert "MEMORY.md" not in {item.name for item in (await channel.list_resources()).resources}

    anyio.run(work)


def test_concurrent_callers_are_not_mixed_up(served: Served) -> None:
    async def count(token: str, seen: set[bool]) -> None:
        async with served.client(token) as client:
            for _ in range(5):
                found = await client.call_tool("memory_search", {"query": "zeppelin nine"})
                seen.add("leaves at nine" in text_of(found))

    async def work() -> tuple[set[bool], set[bool]]:
        owner: set[bool] = set()
        channel: set[bool] = set()
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(count, "reader", owner)
                group.start_soon(count, "channel", channel)
        return owner, channel

    assert anyio.run(work) == ({True}, {False})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer ah_wrong"}, 401),
        ({"Authorization": "Basic YTpi"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": "mcp.example.org"}, 200),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://mcp.example.org"}, 200),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_a_request_needs_a_token_and_a_known_name(served: Served, headers: dict[str, str], status: int) -> None:
    answer = served.post(**headers)
    assert answer.status_code == status, answer.text
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    assert "zeppelin" not in answer.text


def test_a_forged_name_is_refused_before_a_token_is_looked_up(served: Served) -> None:
    assert served.post(Host="evil.example", Authorization="Bearer ah_wrong").status_code == 421


def test_a_removed_token_is_refused_at_once(served: Served) -> None:
    from agent_home.home import Home

    home = Home(served.root)
    served.tokens["gone"] = add_token(home, "gone", scopes=("read",), audience="owner", now=NOW)
    authorization = f"Bearer {served.tokens['gone']}"
    assert served.post(Authorization=authorization).status_code == 200
    remove_token(home, "gone")
    assert served.post(Authorization=authorization).status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"x" * (2 << 20), 413),
        (b"{", 400),
        (b"\x00\xff", 400),
        (LONE_SURROGATE, 400),
        (b"[" * 100_000, 400),
    ],
    ids=["large", "broken", "binary", "surrogate", "deep"],
)  # fmt: skip
def test_a_hostile_body_is_refused(served: Served, body: bytes, status: int) -> None:
    answer = served.post(body)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert served.post().status_code == 200


def test_no_session_is_kept(served: Served) -> None:
    assert "mcp-session-id" not in served.post().headers


def test_another_path_is_not_found(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.tokens['owner']}", "Content-Type": "application/json"}
    assert httpx.post(served.url.replace("/mcp", "/command"), headers=headers).status_code == 404


def test_no_stream_is_held_open(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.tokens['owner']}", "Accept": "text/event-stream"}
    answer = httpx.get(served.url, headers=headers, timeout=30)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
