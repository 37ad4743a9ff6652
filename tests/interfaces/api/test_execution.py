"""Test the four layers of working memory as one: hot state, semantic store, event log and tool memory."""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any

import pytest

from agent_home.events.recording import EventRefused
from agent_home.store import transcript
from interfaces.api import AgentHome
from tests.own_redis import OwnRedis

STEP: dict[str, Any] = {
    "prompt": "Check why the kestrel engine overheats",
    "model": "local",
    "tool_results": {"tool_name": "sensor", "command": "sensor --all", "exit_code": 0, "celsius": 97},
}


def test_what_was_committed_is_retrieved_for_the_next_step(agent: AgentHome, now: datetime) -> None:
    agent.hot_state.set_context("s1", {"task": "the engine"})
    event = agent.commit_execution("s1", "engine_check", {**STEP, "timestamp": now.isoformat()}, now=now)
    agent.commit_execution("s0", "engine_check", {"prompt": "The kestrel engine got a new pump"}, now=now)
    found = agent.retrieve_for_inference("s1", "kestrel engine", memory_depth=2)
    assert found["hot_state"] == {"task": "the engine"}
    texts = [row["message"] for row in found["semantic_context"]]
    assert any("overheats" in text for text in texts)
    assert any("new pump" in text for text in texts)
    assert len(texts) <= 4
    assert found["retrieval_strategy"] == ("l1-l2-lexical" if found["degraded"] else "l1-l2-hybrid")
    (row,) = agent.tool_memory.get_tool_history("s1", "sensor")
    assert (row["celsius"], row["exit_code"]) == (97, 0)
    (logged,) = agent.event_log.retrieve_events("s1", "engine_check")
    assert logged.id == event
    assert logged.details == {
        "model": "local", "timestamp": now.isoformat(), "tools": ["sensor"], "outputs": [row["output_id"]],
    }  # fmt: skip


def test_the_next_step_says_that_the_server_of_hot_state_is_away(agent: AgentHome, own_redis: OwnRedis) -> None:
    agent.hot_state.set_context("s1", {"task": "the engine"})
    agent.hot_state.set_tool_results("s1", "sensor", 97)
    found = agent.retrieve_for_inference("s1", "kestrel engine")
    assert found["hot_state"] == {"task": "the engine"}
    before = found["degraded"]
    own_redis.end()
    found = agent.retrieve_for_inference("s1", "kestrel engine")
    assert found["hot_state"] == {}
    assert [line for line in found["degraded"] if line not in before] == [agent.hot_state.problem]
    assert "does not answer" in agent.hot_state.problem


def test_a_step_may_use_several_tools_or_none(agent: AgentHome, now: datetime) -> None:
    results = [{"tool_name": "sensor", "n": 1}, {"tool_name": "valve", "n": 2}]
    agent.commit_execution("s1", "step", {"tool_results": results}, now=now)
    agent.commit_execution("s1", "step", {}, now=now)
    assert {row["tool_name"] for row in agent.tool_memory.get_tool_history("s1")} == {"sensor", "valve"}
    assert len(agent.event_log.retrieve_events("s1", "step")) == 2


@pytest.mark.parametrize(
    ("kind", "details", "error"),
    [
        ("step", {"prompt": 5}, TypeError),
        ("step", {"prompt": "Hello", "tool_results": "none"}, TypeError),
        ("step", {"prompt": "Hello", "tool_results": [{"n": 1}]}, TypeError),
        ("Not a type", {"prompt": "Hello"}, EventRefused),
        ("write", {"prompt": "Hello"}, EventRefused),
        ("step", {"prompt": "Hello", "blob": "x" * 20_000}, EventRefused),
    ],
)
def test_a_step_that_cannot_be_kept_leaves_nothing(
    agent: AgentHome, kind: str, details: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        agent.commit_execution("s1", kind, details)
    assert transcript.session_path(agent.home, "s1") is None
    assert agent.outputs.list() == []


def test_a_depth_below_one_is_refused(agent: AgentHome) -> None:
    with pytest.raises(ValueError, match="memory_depth is 0"):
        agent.retrieve_for_inference("s1", "anything", memory_depth=0)


@pytest.mark.parametrize(
    ("layer", "method", "parameters"),
    [
        ("hot_state", "set_context", "session_id context"),
        ("hot_state", "get_context", "session_id"),
        ("hot_state", "set_tool_results", "session_id tool_name result"),
        ("hot_state", "get_tool_results", "session_id tool_name"),
        ("semantic_store", "index_conversation", "session_id message metadata"),
        ("semantic_store", "retrieve_context", "session_id query top_k"),
        ("event_log", "log_execution", "session_id event_type details"),
        ("event_log", "retrieve_events", "session_id event_type start_time end_time limit"),
        ("tool_memory", "save_tool_result", "session_id tool_name result"),
        ("tool_memory", "get_tool_history", "session_id tool_name limit"),
        ("", "retrieve_for_inference", "session_id query memory_depth"),
        ("", "commit_execution", "session_id event_type details"),
    ],
)
def test_each_layer_is_called_as_the_four_layer_architecture_writes_it(
    agent: AgentHome, layer: str, method: str, parameters: str
) -> None:
    owner = getattr(agent, layer) if layer else agent
    taken = inspect.signature(getattr(owner, method)).parameters.values()
    assert [each.name for each in taken if each.kind is each.POSITIONAL_OR_KEYWORD] == parameters.split()
