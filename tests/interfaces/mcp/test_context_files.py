"""Test context files as resources and prompts: for whom they are, and that long ones have parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent

from agent_home.home import Home
from interfaces.mcp.result_size import MOST_TOKENS, json_tokens
from tests.interfaces.mcp.clients import asked, document, local_server


def test_the_resources_are_the_context_files_in_prompt_order(home: Home) -> None:
    async def work(client: Client) -> None:
        listed = [item.name for item in (await client.list_resources()).resources]
        assert listed == [item.file for item in home.manifest.context if (home.root / item.file).exists()]
        assert await document(client, "memory://context/SOUL.md") == (home.root / "SOUL.md").read_text()

    asked(local_server(home), work)


def test_a_prompt_is_the_text_of_its_file(home: Home) -> None:
    async def work(client: Client) -> None:
        names = [item.name for item in (await client.list_prompts()).prompts]
        assert names[:2] == ["session", "soul"]
        (message,) = (await client.get_prompt("soul")).messages
        assert isinstance(message.content, TextContent)
        assert message.content.text == (home.root / "SOUL.md").read_text()
        (message,) = (await client.get_prompt("session", {"message": "hello"})).messages
        assert isinstance(message.content, TextContent)
        assert message.content.text.startswith("<agent-home>")

    asked(local_server(home), work)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("memory://context/agent.toml", "agent.toml"),
        ("memory://context/..%2Fagent.toml", "agent.toml"),
        ("memory://context/MEMORY.md/99", "MEMORY.md/99"),
        ("memory://context/MEMORY.md/0", "MEMORY.md/0"),
        ("memory://context/%00", "%00"),
        ("memory://context/%FF%FE", "%FF"),
        ("file:///etc/passwd", "passwd"),
        ("memory://context/" + "x" * 100_000, "xxx"),
    ],
)
def test_another_address_is_no_resource(home: Home, uri: str, shown: str) -> None:
    async def work(client: Client) -> str:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
        return refused.value.error.message

    message = asked(local_server(home), work)
    assert message.startswith("there is no resource 'memory" if uri.startswith("memory") else "there is no resource")
    assert shown in message
    assert len(message) < 200


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("nobody", {}, "there is no prompt 'nobody'"),
        ("soul", {"message": "x"}, "the prompt has no argument 'message'"),
        ("session", {"massage": "x"}, "the prompt has no argument 'massage'"),
    ],
)
def test_a_wrong_prompt_is_refused(home: Home, name: str, arguments: dict[str, str], message: str) -> None:
    async def work(client: Client) -> str:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt(name, arguments)
        return refused.value.error.message

    assert asked(local_server(home), work) == message


def test_a_long_file_has_parts_that_name_the_next_one(home: Home) -> None:
    lines = [f"- Habit {number} is about the word{number} and nothing else at all.\n" for number in range(2500)]
    (home.root / "TOOLS.md").write_text("# Tools\n\n" + "".join(lines))

    async def work(client: Client) -> list[str]:
        parts, uri = [], "memory://context/TOOLS.md"
        while uri:
            text = await document(client, uri)
            assert json_tokens(text) <= MOST_TOKENS + 100
            text, mark, notice = text.rpartition("\n[Part ")
            parts.append(text if mark else notice)
            uri = notice.partition("resource ")[2].strip().removesuffix("]") if mark else ""
        return parts

    parts = asked(local_server(home), work)
    assert len(parts) > 1
    assert "".join(parts) == (home.root / "TOOLS.md").read_text()


def test_a_secret_that_a_person_wrote_is_not_served(home: Home) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (home.root / "TOOLS.md").write_text(f"# Tools\n\nThe token is {secret}.\n")

    async def work(client: Client) -> str:
        return await document(client, "memory://context/TOOLS.md")

    text = asked(local_server(home), work)
    assert secret not in text
    assert "# Tools" in text


def test_a_link_out_of_the_home_is_not_served(home: Home, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("outside words")
    (home.root / "TOOLS.md").unlink()
    (home.root / "TOOLS.md").symlink_to(tmp_path / "outside.md")

    async def work(client: Client) -> str:
        return await document(client, "memory://context/TOOLS.md")

    assert "outside words" not in asked(local_server(home), work)
