"""Test outputs in the Python API."""

from __future__ import annotations

import pytest

from interfaces.api import AgentHome


def test_outputs_are_listed_by_what_they_are(agent: AgentHome) -> None:
    stored = agent.outputs.store("8 passed\n", tool="pytest", session="s1")
    agent.outputs.store(b"ok", tool="make", type="context")
    assert [output.id for output in agent.outputs.list(tool="pytest")] == [stored.id]
    assert [output.tool for output in agent.outputs.list(type="context")] == ["make"]
    with pytest.raises(ValueError, match="expected one of"):
        agent.outputs.store("x", type="zz")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="content is int"):
        agent.outputs.store(5)  # type: ignore[arg-type]
