"""Ask an MCP server as a host does, through the client of the SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import anyio
from mcp import Client
from mcp.types import CallToolResult, TextContent, TextResourceContents

from agent_home.home import Home
from interfaces.mcp.server import MemoryServer
from interfaces.service.http.callers import Caller
from interfaces.service.http.tokens import SCOPES

__all__ = ["asked", "called", "document", "local_server", "text_of"]

T = TypeVar("T")


def local_server(
    home: Home, audience: str = "owner", *, scopes: Sequence[str] = SCOPES, connector: bool = False
) -> MemoryServer:
    """Return a server in this process, as `memory mcp` makes it."""
    caller = Caller(name="test", home=home, scopes=tuple(scopes), audience=audience)
    return MemoryServer(caller, connector=connector)


def asked(server: Any, work: Callable[[Client], Awaitable[T]]) -> T:
    """Connect to *server*, run *work* and disconnect."""

    async def run() -> T:
        async with Client(server, read_timeout_seconds=30) as client:
            return await work(client)

    return anyio.run(run)


def called(server: Any, name: str, **arguments: Any) -> CallToolResult:
    """Call one tool."""
    return asked(server, lambda client: client.call_tool(name, arguments))


def text_of(result: CallToolResult) -> str:
    """Return the only text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def document(client: Client, uri: str) -> str:
    """Return the text of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text
