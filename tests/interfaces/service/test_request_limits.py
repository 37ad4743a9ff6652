"""Test how much of a body is read, and how many and how slow connections a port has."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Sequence

import httpx
import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send
from uvicorn.server import ServerState

from interfaces.service.request_limits import MOST_CONNECTIONS, BodyLimit, BodyTooLarge, LimitedConnection
from tests.conftest import FolderCopy
from tests.interfaces.service.running_service import PATIENCE_S, RunningService, run_memory, running, until

pytestmark = pytest.mark.xdist_group("test_request_limits.py")


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


# ------------------------------------------------------------------------------------------------- connections


@pytest.fixture(scope="module")
def served(_pattern_home: FolderCopy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    root = tmp_path_factory.mktemp("limits") / "home"
    _pattern_home.write(root)
    with running(root, http=True) as service:
        until("the port answers", lambda: answers(service))
        yield service


def answers(service: RunningService) -> bool:
    """Return whether a new connection over the port is answered."""
    try:
        with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
            return client.get(f"{service.url}/health").status_code == 200
    except httpx.TransportError:
        return False


def test_a_connection_too_many_is_told_so_and_others_are_answered_later(served: RunningService) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with contextlib.ExitStack() as stack:
        held = [
            stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE_S))
            for _ in range(MOST_CONNECTIONS + 3)
        ]
        refused = [one.recv(100) for one in held[MOST_CONNECTIONS:]]
        assert {answer.partition(b"\r\n")[0] for answer in refused} == {b"HTTP/1.1 503 Service Unavailable"}
        assert run_memory("search", "anything", "--home", str(served.roots[0]), "--json").returncode == 0
        assert served.process.poll() is None
    until("the port answers", lambda: answers(served))
    assert "Traceback" not in served.log()


class _Connection:
    """A connection over a port without a socket: what was written, and whether it is closed."""

    def __init__(self) -> None:
        self.written, self.closed = b"", False

    def get_extra_info(self, name: str) -> object:
        return {"sockname": ("127.0.0.1", 8080), "peername": ("127.0.0.1", 1)}.get(name)

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    close = abort

    def pause_reading(self) -> None: ...

    resume_reading = pause_reading


WHOLE = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    ("parts", "closed"),
    [
        ([], True),
        ([WHOLE[:20]], True),
        ([WHOLE[:20], WHOLE[20:30], WHOLE[30:40]], True),
        ([WHOLE[:-1]], True),
        ([WHOLE], False),
        ([WHOLE[:20], WHOLE[20:]], False),
        ([WHOLE, WHOLE[:20]], True),
    ],
    ids=["nothing", "a part", "parts", "a part of the body", "all", "all in parts", "a part of the second"],
)
def test_a_request_that_does_not_arrive_ends_its_connection(
    parts: Sequence[bytes], closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interfaces.service.request_limits._PATIENCE_S", 0.2)

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        if len(parts) == 1 or parts[0] != WHOLE:
            await asyncio.sleep(1)  # a long answer is no slow request
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def work() -> bool:
        connection = _Connection()
        config = uvicorn.Config(app, http=LimitedConnection, lifespan="off", log_level="error")
        config.load()
        protocol = LimitedConnection(config, ServerState(), {})
        protocol.connection_made(connection)  # type: ignore[arg-type]
        for part in parts:
            protocol.data_received(part)
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.4)
        return connection.closed

    assert asyncio.run(work()) is closed
