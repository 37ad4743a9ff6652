"""Fixtures for the Python API."""

from __future__ import annotations

import pytest

from agent_home.home import Home
from interfaces.api import AgentHome


@pytest.fixture
def agent(home: Home, monkeypatch: pytest.MonkeyPatch) -> AgentHome:
    monkeypatch.setattr("interfaces.indexing.MAX_VECTORS", 0)
    return AgentHome(home)
