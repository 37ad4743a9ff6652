"""A Redis server of one test, which may stop it, starve it or close it."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import redis

from bench.measure import servers
from recall.hot_state.redis_server import redis_server

__all__ = ["OwnRedis"]


@dataclass(frozen=True)
class OwnRedis:
    """A Redis server in *folder* at the address *url*."""

    folder: Path
    url: str

    @property
    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    def signal(self, number: int) -> None:
        """Send a signal to it."""
        os.kill(int((self.folder / "redis.pid").read_text()), number)

    def end(self) -> None:
        """End it without a goodbye."""
        self.signal(signal.SIGKILL)
        for name in ("redis.pid", "redis.sock"):
            (self.folder / name).unlink()

    def begin(self) -> None:
        """Start it anew, with nothing in it."""
        assert servers.redis(self.folder) == self.url

    def asked_again(self) -> None:
        """Let the time be over for which this process leaves it alone."""
        redis_server(self.url).backoff.succeeded()
