"""Keep a step of an agent in the transcript, the tool memory and the event log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_home.events.recording import loggable_details

from .event_log import EventLog
from .semantic_store import SemanticStore
from .tool_memory import ToolMemory

__all__ = ["commit_execution"]

#: Details that are kept elsewhere, so the event has references to them.
_KEPT_ELSEWHERE = ("prompt", "tool_results", "role")


def commit_execution(
    store: SemanticStore,
    tools: ToolMemory,
    log: EventLog,
    session_id: str,
    event_type: str,
    details: Mapping[str, Any],
    *,
    now: datetime | None = None,
) -> str:
    """Do :meth:`interfaces.api.AgentHome.commit_execution`."""
    prompt = details.get("prompt", "")
    if not isinstance(prompt, str):
        raise TypeError(f"details['prompt'] is {type(prompt).__name__}. Give a text")
    results = _tool_results(details.get("tool_results"))
    told: dict[str, Any] = {key: value for key, value in details.items() if key not in _KEPT_ELSEWHERE}
    loggable_details(event_type, told)
    if prompt.strip():
        metadata = {key: details[key] for key in ("timestamp", "role") if key in details}
        store.index_conversation(session_id, prompt, metadata)
    saved = [tools.save_tool_result(session_id, result["tool_name"], result, now=now) for result in results]
    if saved:
        told |= {"tools": [result["tool_name"] for result in results], "outputs": saved}
    return log.log_execution(session_id, event_type, told, now=now)


def _tool_results(given: object) -> list[Mapping[str, Any]]:
    """Return the results in ``tool_results``: one, several or none.

    Raises:
        TypeError: one of them is no mapping with the name of a tool.
    """
    found = [given] if isinstance(given, Mapping) else given or []
    if not isinstance(found, Sequence) or isinstance(found, str | bytes):
        raise TypeError("details['tool_results'] is no mapping and no list of mappings")
    for result in found:
        if not isinstance(result, Mapping) or not isinstance(result.get("tool_name"), str):
            raise TypeError("each of details['tool_results'] is a mapping with 'tool_name', the name of the tool")
    return list(found)
