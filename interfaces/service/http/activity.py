"""Count the requests that are being answered, and end the service when nobody has asked for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Activity"]

_SECONDS_BETWEEN_LOOKS = 1.0


class Activity:
    """The requests of a service. *idle_s* seconds after the last one it is over. 0 means never."""

    def __init__(self, idle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._idle_s, self._clock = idle_s, clock
        self._running = 0
        self._last = clock()
        self._ended = False

    @property
    def running(self) -> int:
        """Requests that are being answered now."""
        return self._running

    @property
    def over(self) -> bool:
        """True when the service should end."""
        idle = self._idle_s > 0 and not self._running and self._clock() - self._last > self._idle_s
        return self._ended or idle

    def end(self) -> None:
        """Let the service end after the requests that it is answering."""
        self._ended = True

    def begin(self) -> None:
        """Note that a request, or a job that outlives its request, has begun."""
        self._running += 1

    def finish(self) -> None:
        """Note that it is answered."""
        self._running -= 1
        self._last = self._clock()

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """Wrap *app* so that its requests are counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            self.begin()
            try:
                await app(scope, receive, send)
            finally:
                self.finish()

        return counted

    async def wait(self) -> None:
        """Return when the service should end."""
        while not self.over:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
