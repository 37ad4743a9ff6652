"""Test the semantic store in the Python API."""

from __future__ import annotations

from datetime import datetime

import pytest

from interfaces.api import AgentHome


def test_the_context_of_a_session_is_its_own(agent: AgentHome, now: datetime) -> None:
    store = agent.semantic_store
    store.index_conversation("s1", "The kestrel engine overheats at noon", {"timestamp": now.isoformat()})
    store.index_conversation("s2", "The kestrel engine was replaced", {"timestamp": now.timestamp()})
    (found,) = store.retrieve_context("s1", "kestrel engine")
    assert "overheats at noon" in found["message"]
    assert found["source"].startswith("s1#")
    assert found["timestamp"]
    assert store.retrieve_context("s3", "kestrel engine") == []


def test_a_message_with_an_unknown_role_or_no_time_is_refused(agent: AgentHome) -> None:
    with pytest.raises(ValueError, match="role"):
        agent.semantic_store.index_conversation("s1", "Hello there", {"role": "wizard"})
    with pytest.raises(ValueError, match="ISO 8601"):
        agent.semantic_store.index_conversation("s1", "Hello there", {"timestamp": "soon"})
