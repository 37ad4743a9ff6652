"""Own the tools ``search`` and ``fetch`` in the shape that ChatGPT's connectors and deep research ask for.

A result is one text item with JSON in it. An id is the address of a passage, and its text comes from the index, where
it was screened.
"""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote

from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from recall.search.addressed import passage_at
from recall.search.hybrid import Hit

from ..api import AgentHome
from .current_caller import Refused, current_caller
from .result_size import fit_rows
from .tools import MemoryTool

__all__ = ["CONNECTOR_TOOLS"]

_HITS = 20
_TITLE_CHARS = 80


def search(
    query: Annotated[str, Field(min_length=1, max_length=65_536, description="A question, or words to find.")],
) -> CallToolResult:
    """Search the agent's memory, past conversations and knowledge. Returns ids for fetch."""
    caller = current_caller()
    found = AgentHome(caller.home).search(query, k=_HITS, audience=caller.audience)
    return _one_text({"results": [_named(hit) for hit in found.hits]})


def fetch(
    id: Annotated[str, Field(min_length=1, max_length=4096, description="An id that search returned.")],  # noqa: A002
) -> CallToolResult:
    """Return the text that search found, by its id."""
    caller = current_caller()
    hit = passage_at(caller.home, id, audience=caller.audience)
    if hit is None:
        raise Refused("id: there is no such text. Use an id that search returned")
    metadata = {"layer": hit.layer, "time": hit.ts, "role": hit.role}
    if hit.standing:
        metadata["status"] = hit.standing.words
    whole = {**_named(hit), "text": hit.text, "metadata": {name: value for name, value in metadata.items() if value}}
    (row,) = fit_rows({"rows": [whole]}, "rows")["rows"]
    return _one_text(row)


CONNECTOR_TOOLS = tuple(
    MemoryTool(
        function=function, title=title, scope="read", connector=True,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    )
    for function, title in ((search, "Search"), (fetch, "Fetch"))
)  # fmt: skip


def _named(hit: Hit) -> dict[str, Any]:
    """Return what names a hit: its id, a title for people, and an address for citations."""
    title = hit.heading or " ".join(hit.text.split())
    if len(title) > _TITLE_CHARS:
        title = title[: _TITLE_CHARS - 1].rstrip() + "…"
    return {"id": hit.source, "title": title or hit.source, "url": f"memory://passage/{quote(hit.source, safe='')}"}


def _one_text(value: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(value, ensure_ascii=False))])
