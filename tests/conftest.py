"""Fixtures that every package's tests share: a home on disk and a fixed present."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings

from agent_home.creation import create
from agent_home.home import Home

# Examples are the same in every run, and a busy machine fails nothing.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git as on a machine where nobody configured it, and no home from the environment."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("AGENT_HOME", raising=False)


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path, now: datetime) -> Home:
    """A new home with the template's files and one commit."""
    return create(tmp_path / "home", name="Test", now=now).home
