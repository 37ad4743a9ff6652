"""Test checkpoints in the Python API."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from agent_home.checkpoints.checkpoint import NoSuchCheckpoint
from interfaces.api import AgentHome


def test_the_newest_checkpoint_is_the_one_without_a_name(agent: AgentHome, tmp_path: Path, now: datetime) -> None:
    with pytest.raises(NoSuchCheckpoint):
        agent.checkpoints.get()
    stored = agent.outputs.store("8 passed\n", tool="pytest", now=now)
    made = agent.checkpoints.make(folder=tmp_path, notes="After the run", now=now)
    assert agent.checkpoints.get() == agent.checkpoints.get(made.id) == made
    assert [reference.output for reference in made.references] == [stored.id]
    assert [event.details["checkpoint"] for event in agent.event_log.retrieve_events(event_type="checkpoint")] == [
        made.id
    ]
