"""Test when a service counts as idle, and that every request is counted."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interfaces.service.http import activity as activity_module
from interfaces.service.http.activity import Activity


class Clock:
    """Seconds that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def whole(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def _receive() -> Message:
    return {"type": "http.request"}


async def _send(_message: Message) -> None:
    return None


def test_a_service_is_over_when_nobody_asks_for_longer_than_its_idle_time(clock: Clock) -> None:
    activity = Activity(10, clock)
    clock.now = 10
    assert not activity.over
    clock.now = 10.1
    assert activity.over


def test_without_an_idle_time_a_service_is_never_over(clock: Clock) -> None:
    activity = Activity(0, clock)
    clock.now = 1e9
    assert not activity.over


def test_a_request_that_is_being_answered_keeps_the_service_and_its_end_starts_the_idle_time(clock: Clock) -> None:
    activity = Activity(10, clock)
    activity.begin()
    clock.now = 100
    assert not activity.over
    activity.finish()
    clock.now = 105
    assert not activity.over
    clock.now = 110.5
    assert activity.over


def test_the_last_of_several_requests_counts(clock: Clock) -> None:
    activity = Activity(10, clock)
    activity.begin()
    activity.begin()
    activity.finish()
    clock.now = 100
    assert (activity.running, activity.over) == (1, False)


def test_a_service_that_was_asked_to_end_is_over_although_it_has_no_idle_time(clock: Clock) -> None:
    activity = Activity(0, clock)
    activity.end()
    assert activity.over


def test_the_middleware_counts_a_request_until_it_is_answered_or_fails(clock: Clock) -> None:
    activity = Activity(10, clock)
    seen = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(activity.running)
        if scope["path"] == "/fails":
            raise LookupError

    counted = activity.middleware(app)
    asyncio.run(whole(counted, {"type": "http", "path": "/"}, _receive, _send))
    with pytest.raises(LookupError):
        asyncio.run(whole(counted, {"type": "http", "path": "/fails"}, _receive, _send))
    assert (seen, activity.running) == ([1, 1], 0)


def test_the_middleware_does_not_count_what_is_no_request(clock: Clock) -> None:
    activity = Activity(10, clock)
    seen = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope["type"], activity.running))

    asyncio.run(whole(activity.middleware(app), {"type": "lifespan"}, _receive, _send))
    assert seen == [("lifespan", 0)]


def test_waiting_ends_with_the_service(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(activity_module, "_SECONDS_BETWEEN_LOOKS", 0.001)
    activity = Activity(0, clock)

    async def wait() -> bool:
        waiting = asyncio.create_task(activity.wait())
        await asyncio.sleep(0.02)
        ended_early = waiting.done()
        activity.end()
        await asyncio.wait_for(waiting, 30)
        return ended_early

    assert asyncio.run(wait()) is False
