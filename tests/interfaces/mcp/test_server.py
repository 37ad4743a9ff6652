"""Test what each audience and each scope gets: nothing private reaches another one, through any door of the server."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CacheableResult
from pydantic import BaseModel

from agent_home.audience import Audience
from agent_home.home import Home
from interfaces.mcp.connector import CONNECTOR_TOOLS
from interfaces.mcp.current_caller import current_caller
from interfaces.mcp.server import MemoryServer
from interfaces.mcp.tools import TOOLS
from tests.interfaces.mcp.canaries import CANARIES, hidden_from, shown_to
from tests.interfaces.mcp.clients import asked, called, local_server, text_of

IDS = ("RC-7F3A", "RC-8G4B", "RC-7F3", "KD-0000")
OTHERS = [str(name) for name in Audience if name != Audience.owner]


async def everything(client: Client) -> str:
    """Return all that the server can be made to say, with words that name what is private."""
    said: list[str] = []

    def note(answer: Any) -> None:
        said.append(answer.model_dump_json(by_alias=True))

    note(await client.list_tools())
    resources, prompts = await client.list_resources(), await client.list_prompts()
    note(resources)
    note(prompts)
    questions: list[Awaitable[BaseModel]] = [
        client.read_resource(f"memory://context/{path}") for path in [*CANARIES, "MEMORY.md/2"]
    ]
    questions += [client.get_prompt(path.partition(".")[0].lower()) for path in CANARIES]
    questions += [client.get_prompt("session", {"message": "river salt marble"})]
    said += [await _attempt(question) for question in questions]
    words = [*CANARIES.values(), "deep old here hall yesterday"]
    calls: list[tuple[str, dict[str, Any]]] = [("memory_search", {"query": word, "limit": 50}) for word in words]
    calls += [("search", {"query": word}) for word in words]
    calls += [("fetch", {"id": source}) for source in _sources()]
    calls += [("memory_prompt", {"message": " ".join(words)}), ("memory_status", {})]
    calls += [("memory_prompt", {"message": "x", "session": "talk"})]
    for entry in IDS:
        calls += [("memory_get", {"id": entry}), ("memory_resolve", {"id": entry, "dry_run": True})]
        calls += [("memory_cite", {"ids": [entry]}), ("memory_remember", {"text": "A new thing", "replaces": entry})]
    calls += [("memory_remember", {"text": f"The {CANARIES['MEMORY.md']} is deep.", "type": "fact"})]
    for name, arguments in calls:
        note(await client.call_tool(name, arguments))
    return "\n".join(said)


def _sources() -> list[str]:
    files = [f"{path}#L{first}" for path in CANARIES for first in range(1, 9)]
    return [*files, "MEMORY.md#RC-7F3A", "Archive/MEMORY-2026-10.md#RC-8G4B", "talk#m-1"]


async def _attempt(asked_for: Awaitable[BaseModel]) -> str:
    try:
        answer = await asked_for
    except MCPError as error:
        return str(error)
    return answer.model_dump_json(by_alias=True)


@pytest.mark.parametrize("audience", OTHERS)
def test_nothing_private_reaches_another_audience(private_home: Home, audience: str) -> None:
    said = asked(local_server(private_home, audience, connector=True), everything)
    assert {word for word in hidden_from(private_home, audience) if word in said} == set()
    assert {entry for entry in ("RC-7F3A", "RC-8G4B") if entry in said} == (
        set() if not private_home.may_read("MEMORY.md", audience) else {"RC-7F3A"}
    )


def test_the_owner_gets_everything_by_the_same_questions(private_home: Home) -> None:
    said = asked(local_server(private_home, connector=True), everything)
    assert {word for word in CANARIES.values() if word not in said} == set()


@pytest.mark.parametrize("audience", OTHERS)
def test_each_audience_gets_what_is_for_it(private_home: Home, audience: str) -> None:
    said = asked(local_server(private_home, audience, connector=True), everything)
    assert {word for word in shown_to(private_home, audience) if word not in said} == set()


@pytest.mark.parametrize("audience", OTHERS)
def test_errors_say_nothing_of_what_the_home_holds(private_home: Home, audience: str) -> None:
    server = local_server(private_home, audience)
    known = called(server, "memory_get", id="RC-7F3A")
    unknown = called(server, "memory_get", id="RC-0000")
    assert known.is_error
    assert text_of(known) == text_of(unknown)


def test_whoever_does_not_read_the_archive_restores_nothing_from_it(private_home: Home) -> None:
    refused = called(local_server(private_home, "job"), "memory_cite", ids=["RC-7F3A", "RC-8G4B"])
    assert refused.is_error
    assert CANARIES["Archive/MEMORY-2026-10.md"] not in (private_home.root / "MEMORY.md").read_text()
    assert not called(local_server(private_home, "job"), "memory_cite", ids=["RC-7F3A"]).is_error


@pytest.mark.parametrize("audience", ["trusted", "group"])
def test_whoever_does_not_read_memory_learns_only_that_a_note_is_stored(private_home: Home, audience: str) -> None:
    server = local_server(private_home, audience)
    answers = [
        called(server, "memory_remember", text=text, type="fact").structured_content
        for text in (f"The {CANARIES['MEMORY.md']} is deep.", "The nightly backup took 41 minutes")
    ]
    assert answers == [{"stored": True, "waits": ""}, {"stored": True, "waits": ""}]
    refused = [called(server, "memory_remember", text="x", replaces=entry) for entry in ("RC-7F3A", "RC-0000")]
    assert {text_of(answer) for answer in refused} == {"replaces: this audience does not read MEMORY.md"}


_READ_OUTPUTS = {"memory_output_list", "memory_output_get"}
_STORE_OUTPUT = "memory_output_store"


@pytest.mark.parametrize(
    ("audience", "scopes", "names"),
    [
        ("owner", ("read",), {"memory_search", "memory_get", "memory_prompt", "memory_status", *_READ_OUTPUTS}),
        ("owner", ("write",), {"memory_remember", "memory_resolve", "memory_cite", _STORE_OUTPUT}),
        ("owner", ("review",), set[str]()),
        (
            "group",
            ("read", "write"),
            {"memory_search", "memory_prompt", "memory_status", "memory_remember", _STORE_OUTPUT, *_READ_OUTPUTS},
        ),
        ("job", ("write",), {"memory_remember", "memory_resolve", "memory_cite", _STORE_OUTPUT}),
    ],
)
def test_a_caller_sees_and_calls_only_what_it_may(
    home: Home, audience: str, scopes: tuple[str, ...], names: set[str]
) -> None:
    async def work(client: Client) -> set[str]:
        for tool in TOOLS:
            if tool.name not in names:
                refused = await client.call_tool(tool.name, {})
                assert refused.is_error
                assert text_of(refused).startswith(f"there is no tool '{tool.name}'")
        return {tool.name for tool in (await client.list_tools()).tools}

    assert asked(local_server(home, audience, scopes=scopes), work) == names


def test_without_the_scope_read_there_are_no_resources_and_prompts(home: Home) -> None:
    async def work(client: Client) -> list[str]:
        return [
            await _attempt(question)
            for question in (
                client.list_resources(),
                client.list_prompts(),
                client.read_resource("memory://context/SOUL.md"),
                client.get_prompt("soul"),
            )
        ]

    answers = asked(local_server(home, scopes=("write",)), work)
    assert ["no scope 'read'" in answer for answer in answers] == [True] * 4


def test_the_connectors_tools_are_there_only_when_asked_for(home: Home) -> None:
    async def names(client: Client) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools}

    assert asked(local_server(home), names) & {"search", "fetch"} == set()
    assert asked(local_server(home, connector=True), names) >= {tool.name for tool in CONNECTOR_TOOLS}


def test_lists_are_private_and_never_fresh(home: Home) -> None:
    async def hints(client: Client) -> set[tuple[Any, Any]]:
        lists: list[CacheableResult] = [await client.list_tools(), await client.list_resources()]
        lists.append(await client.list_prompts())
        return {(answer.ttl_ms, answer.cache_scope) for answer in lists}

    assert asked(local_server(home), hints) == {(0, "private")}


def test_a_defect_is_logged_by_its_places_and_without_its_message(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_arguments: object, **_named: object) -> None:
        raise KeyError("bilbyriver")

    monkeypatch.setattr("interfaces.api.AgentHome.search", broken)
    with caplog.at_level(logging.INFO):
        answer = called(local_server(home), "memory_search", query="x")
    assert text_of(answer) == "internal error, KeyError. The log of `memory mcp` says where"
    assert "memory_search: internal error, KeyError at test_server.py:" in caplog.text
    assert "bilbyriver" not in caplog.text


def test_agent_toml_is_read_anew_for_each_request(home: Home) -> None:
    server = local_server(home, "group")

    async def work(client: Client) -> list[int]:
        counts = [len((await client.list_resources()).resources)]
        manifest = home.root / "agent.toml"
        manifest.write_text(manifest.read_text().replace('"trusted", "group", "job"', '"trusted", "job"'))
        return [*counts, len((await client.list_resources()).resources)]

    before, after = asked(server, work)
    assert before > after


def test_nobody_is_answered_without_a_caller(home: Home) -> None:
    async def work(client: Client) -> None:
        await client.list_tools()

    refused = pytest.RaisesExc(MCPError, match="nobody asks")
    with pytest.RaisesGroup(refused, allow_unwrapped=True, flatten_subgroups=True):
        asked(MemoryServer(None), work)


def test_no_request_means_no_caller() -> None:
    with pytest.raises(LookupError):
        current_caller()
