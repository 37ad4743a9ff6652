"""A clock for hot state, and the place where a test keeps it."""

from __future__ import annotations

import pytest

from recall.servers import REDIS_VARIABLE


class Clock:
    """A time that tests set."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hot state wait longer for Redis than a prompt may, because a busy machine may take its time."""
    for name in ("shared_store.PROMPT_S", "shared_store.WRITE_S", "redis_server.STEP_S"):
        monkeypatch.setattr(f"recall.hot_state.{name}", 10.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["file", "redis"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the store that every home uses in the test."""
    if request.param == "redis":
        monkeypatch.setenv(REDIS_VARIABLE, request.getfixturevalue("redis_url"))
        patient(monkeypatch)
    return str(request.param)
