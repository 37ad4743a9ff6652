"""Test the tool memory in the Python API."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from interfaces.api import AgentHome
from interfaces.api.tool_memory import ToolResultRefused

TOKEN = "ghp_" + "9dKq2Lm7Zx4Vb1Nc8Rt6Yw3Ps5Hf0Gj2Ae7U"


def test_the_history_of_a_session_is_newest_first(agent: AgentHome, now: datetime) -> None:
    tools = agent.tool_memory
    ids = [
        tools.save_tool_result(
            "s1", tool, {"command": f"{tool} -q", "exit_code": code, "lines": [code]}, now=now + timedelta(minutes=code)
        )
        for code, tool in enumerate(["pytest", "ruff", "pytest"])
    ]
    tools.save_tool_result("s2", "pytest", {"lines": []}, now=now)
    history = tools.get_tool_history("s1")
    assert [row["output_id"] for row in history] == ids[::-1]
    assert [row["tool_name"] for row in history] == ["pytest", "ruff", "pytest"]
    assert history[0]["lines"] == [2]
    assert history[0]["session_id"] == "s1"
    assert (history[0]["command"], history[0]["exit_code"]) == ("pytest -q", 2)
    assert [row["output_id"] for row in tools.get_tool_history("s1", "ruff")] == [ids[1]]
    assert [row["output_id"] for row in tools.get_tool_history("s1", limit=1)] == [ids[2]]
    assert tools.get_tool_history("nobody") == []


def test_outputs_of_commands_belong_to_the_history(agent: AgentHome, now: datetime) -> None:
    stored = agent.outputs.store("1 failed\n", tool="pytest", session="s1", command="pytest -q", exit_code=1, now=now)
    agent.outputs.store("a note\n", session="s1", now=now)
    (row,) = agent.tool_memory.get_tool_history("s1")
    assert (row["output_id"], row["exit_code"], row["summary"]) == (stored.id, 1, stored.summary)


def test_a_long_result_is_a_reference(agent: AgentHome, now: datetime) -> None:
    name = agent.tool_memory.save_tool_result("s1", "scan", {"rows": list(range(40_000))}, now=now)
    (row,) = agent.tool_memory.get_tool_history("s1")
    assert "rows" not in row
    assert row["output_id"] == name
    assert b"39999" in b"".join(agent.outputs.fetch(name))


def test_a_result_keeps_no_secret_and_cannot_forge_its_id(agent: AgentHome, now: datetime) -> None:
    name = agent.tool_memory.save_tool_result("s1", "env", {"GITHUB_TOKEN": TOKEN, "output_id": "mem-0"}, now=now)
    (row,) = agent.tool_memory.get_tool_history("s1")
    assert TOKEN not in str(row)
    assert row["output_id"] == name


def test_what_is_no_result_is_refused(agent: AgentHome) -> None:
    with pytest.raises(ToolResultRefused, match="no JSON"):
        agent.tool_memory.save_tool_result("s1", "scan", {"found": {1, 2}})
    with pytest.raises(ToolResultRefused, match="names"):
        agent.tool_memory.save_tool_result("s1", " ", {})
    assert agent.outputs.list() == []


def test_a_replaced_number_leaves_the_other_fields(agent: AgentHome, now: datetime) -> None:
    agent.tool_memory.save_tool_result("s1", "scan", {"trace": 4539578763621486, "ok": True, "tool_name": "x"}, now=now)
    (row,) = agent.tool_memory.get_tool_history("s1")
    assert (row["ok"], row["tool_name"]) == (True, "scan")
    assert "4539578763621486" not in str(row)


def test_results_of_one_second_are_newest_first(agent: AgentHome, now: datetime) -> None:
    for number in range(8):
        moment = now + timedelta(microseconds=1000 * number)
        agent.tool_memory.save_tool_result("s1", "step", {"i": number}, now=moment)
    assert [row["i"] for row in agent.tool_memory.get_tool_history("s1")] == list(range(7, -1, -1))
