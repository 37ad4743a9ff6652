"""Own the table ``[serve]`` of ``agent.toml``."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ServeSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """The table ``[serve]``.

    Attributes:
        autostart: whether hooks and commands of this machine start the service when none runs.
        idle_minutes: minutes without a request after which the service ends. 0 means never.
        max_body_bytes: largest body of an HTTP request.
        requests_per_minute: requests that one token may make in a minute. Later ones get status 429. 0 means no limit.
    """

    autostart: bool = False
    idle_minutes: float = 30.0
    max_body_bytes: int = 1 << 20
    requests_per_minute: int = 600
