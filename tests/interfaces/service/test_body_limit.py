"""Test how much of a body is read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from starlette.types import Message, Receive, Scope, Send

from interfaces.service.body_limit import BodyLimit, BodyTooLarge


def read_through(parts: Sequence[bytes], *, path: str = "/entries", kind: str = "http") -> tuple[bytes, int]:
    """Return the body that an application behind a limit of 10 bytes reads, and how often the client was asked."""
    asked = 0
    body = b""

    async def receive() -> Message:
        nonlocal asked
        part = parts[asked]
        asked += 1
        return {"type": "http.request", "body": part, "more_body": asked < len(parts)}

    async def send(_message: Message) -> None:
        return None

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        nonlocal body
        for _ in parts:
            body += (await receive())["body"]

    asyncio.run(BodyLimit(app, most_bytes=10)({"type": kind, "path": path}, receive, send))
    return body, asked


def test_a_body_of_the_largest_size_is_read_whole() -> None:
    assert read_through([b"12345", b"67890"]) == (b"1234567890", 2)


def test_one_byte_more_is_refused() -> None:
    with pytest.raises(BodyTooLarge) as refused:
        read_through([b"12345", b"67890", b"1"])
    assert refused.value.most_bytes == 10


def test_nothing_is_read_behind_the_part_that_was_too_much() -> None:
    parts = [b"12345678901", b"never", b"never"]
    with pytest.raises(BodyTooLarge):
        read_through(parts)
    asked: list[int] = []

    async def receive() -> Message:
        asked.append(1)
        return {"type": "http.request", "body": b"x" * 11, "more_body": True}

    async def send(_message: Message) -> None:
        return None

    async def app(_scope: Scope, receive: Receive, _send: Send) -> None:
        for _ in range(3):
            await receive()

    with pytest.raises(BodyTooLarge):
        asyncio.run(BodyLimit(app, most_bytes=10)({"type": "http", "path": "/x"}, receive, send))
    assert asked == [1]


def test_commands_over_the_socket_have_no_limit() -> None:
    assert read_through([b"x" * 100], path="/command") == (b"x" * 100, 1)


def test_what_is_no_request_passes() -> None:
    assert read_through([b"x" * 100], kind="lifespan") == (b"x" * 100, 1)
