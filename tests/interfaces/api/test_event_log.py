"""Test the event log in the Python API."""

from __future__ import annotations

from datetime import datetime

import pytest

from interfaces.api import AgentHome


def test_times_of_events_may_be_texts(agent: AgentHome, now: datetime) -> None:
    agent.event_log.log_execution("s", "tick", {}, now=now)
    assert len(agent.event_log.retrieve_events("s", start_time="2000-01-01", end_time="2200-01-01T00:00:00+00:00")) == 1
    with pytest.raises(ValueError, match="ISO 8601"):
        agent.event_log.retrieve_events("s", start_time="yesterday")
