"""Stores of hot state: the file of the machine, the Redis server of the run, and a server of its own for one test."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from bench.measure import servers
from recall.servers import REDIS_VARIABLE


class Clock:
    """A time that tests set."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["file", "redis"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the store that every home uses in the test."""
    if request.param == "redis":
        monkeypatch.setenv(REDIS_VARIABLE, request.getfixturevalue("redis_url"))
    else:
        monkeypatch.delenv(REDIS_VARIABLE, raising=False)
    return str(request.param)


@dataclass(frozen=True)
class OwnServer:
    """A Redis server that a test may stop, starve or close."""

    folder: Path
    url: str

    @property
    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    def signal(self, number: int) -> None:
        os.kill(int((self.folder / "redis.pid").read_text()), number)

    def end(self) -> None:
        """End it without a goodbye."""
        self.signal(signal.SIGKILL)
        for name in ("redis.pid", "redis.sock"):
            (self.folder / name).unlink()

    def begin(self) -> None:
        """Start it anew, with nothing in it."""
        assert servers.redis(self.folder) == self.url


@pytest.fixture
def own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnServer]:
    """A server for this test, which every home uses."""
    folder = tmp_path / "r"
    server = OwnServer(folder, servers.redis(folder))
    monkeypatch.setenv(REDIS_VARIABLE, server.url)
    yield server
    if (folder / "redis.pid").exists():
        server.end()
