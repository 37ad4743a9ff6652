"""Test how much of a body is read, and how many and how slow connections a port has."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Iterator, Sequence

import httpx
import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send
from uvicorn.server import ServerState

from interfaces.service.http.request_limits import MOST_CONNECTIONS, BodyLimit, BodyTooLarge, LimitedConnection
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


def test_silent_connections_make_room_for_new_ones(served: RunningService) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with contextlib.ExitStack() as stack:
        held = [
            stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE_S))
            for _ in range(MOST_CONNECTIONS)
        ]
        time.sleep(1.5)
        assert [answers(served) for _ in range(3)] == [True, True, True]
        assert held[0].recv(100) == b""
        assert run_memory("search", "anything", "--home", str(served.roots[0]), "--json").returncode == 0
        assert served.process.poll() is None
    assert "Traceback" not in served.log()


ANSWER = b"x" * 20_000
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Port:
    """A port of a server in this event loop, whose answers to /slow wait for *go_on*."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.asked = 0
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            http=LimitedConnection,
            lifespan="off",
            log_level="error",
            timeout_graceful_shutdown=20,
        )
        self.server = uvicorn.Server(config)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # connections inherit it
        self.address = self._socket.getsockname()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        await receive()
        if scope["path"] == "/slow":
            await self.go_on.wait()
        length = (b"content-length", str(len(ANSWER)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": ANSWER})

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[_Port]:
        """Serve for the block, and end the service behind it."""
        serving = asyncio.create_task(self.server.serve(sockets=[self._socket]))
        await asyncio.sleep(0.1)
        try:
            yield self
        finally:
            self.go_on.set()
            self.server.should_exit = True
            await serving

    async def connect(self) -> Client:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, self.address)
        return await asyncio.open_connection(sock=made, limit=1024)

    async def until_connections(self, number: int, within_s: float = 5.0) -> bool:
        """Return whether the port has that many connections in time."""
        end = time.monotonic() + within_s
        while len(self.server.server_state.connections) != number:
            if time.monotonic() > end:
                return False
            await asyncio.sleep(0.02)
        return True


def ask(client: Client, path: str = "/", times: int = 1) -> None:
    client[1].write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * times)


async def read_answer(client: Client) -> bytes:
    """Return the head of an answer, once its body was read as well."""
    head = await asyncio.wait_for(client[0].readuntil(b"\r\n\r\n"), 10)
    if b"200 OK" in head:
        await asyncio.wait_for(client[0].readexactly(len(ANSWER)), 10)
    return head


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let clients have much less time."""
    times = {"_PATIENCE_S": 0.6, "_PARTING_S": 0.3, "_LOOK_S": 0.05, "_SETTLED_S": 0.2, "_STALLED_S": 0.2}
    for name, value in times.items():
        monkeypatch.setattr(f"interfaces.service.http.request_limits.{name}", value, raising=False)
    return monkeypatch


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("times", [1, 3, 400])
def test_a_connection_whose_answers_are_not_read_is_ended(times: int) -> None:
    async def work() -> None:
        async with _Port().open() as port:
            client = await port.connect()
            client[1].transport.pause_reading()  # type: ignore[attr-defined]
            ask(client, times=times)
            assert await port.until_connections(1)
            assert await port.until_connections(0)
            assert port.asked <= 10
            client[1].close()

    asyncio.run(work())


def test_a_client_that_reads_slowly_gets_its_whole_answer(quick: pytest.MonkeyPatch) -> None:
    quick.setattr("interfaces.service.http.request_limits._PATIENCE_S", 1.5)

    async def work() -> None:
        async with _Port().open() as port:
            client = await port.connect()
            ask(client)
            got = b""
            while not got.endswith(ANSWER):
                part = await client[0].read(600)
                assert part
                got += part
                await asyncio.sleep(0.1)
            client[1].close()

    asyncio.run(work())


def test_the_last_answer_of_an_old_connection_says_so(quick: pytest.MonkeyPatch) -> None:
    quick.setattr("interfaces.service.http.request_limits._LIFE_S", 0.5, raising=False)

    async def work() -> None:
        async with _Port().open() as port:
            client = await port.connect()
            begun, heads = time.monotonic(), [b""]
            while b"connection: close" not in heads[-1].lower():
                assert time.monotonic() - begun < 3
                ask(client)
                heads.append(await read_answer(client))
                await asyncio.sleep(0.05)
            assert len(heads) > 3
            assert all(b"200 OK" in head for head in heads[1:])
            assert await client[0].read() == b""
            client[1].close()

    asyncio.run(work())


def test_a_client_that_reads_a_little_now_and_then_is_ended_when_its_connection_is_old(
    quick: pytest.MonkeyPatch,
) -> None:
    quick.setattr("interfaces.service.http.request_limits._LIFE_S", 0.5, raising=False)

    async def work() -> None:
        async with _Port().open() as port:
            client = await port.connect()
            ask(client, times=400)
            gone = asyncio.create_task(port.until_connections(0))
            await asyncio.sleep(0.1)
            while not gone.done():
                with contextlib.suppress(ConnectionError):
                    await client[0].read(2000)
                await asyncio.sleep(0.2)
            assert await gone
            client[1].close()

    asyncio.run(work())


def test_a_full_port_ends_the_connection_that_was_not_used_for_longest(quick: pytest.MonkeyPatch) -> None:
    quick.setattr("interfaces.service.http.request_limits.MOST_CONNECTIONS", 3)

    async def work() -> None:
        async with _Port().open() as port:
            busy, old, young = [await port.connect() for _ in range(3)]
            ask(busy, "/slow")
            for client in (old, young):
                ask(client)
                assert b"200 OK" in await read_answer(client)
            new = await port.connect()
            ask(new)
            assert b"200 OK" in await read_answer(new)
            assert await old[0].read() == b""
            port.go_on.set()
            ask(young)
            assert b"200 OK" in await read_answer(young)
            assert b"200 OK" in await read_answer(busy)
            for client in (busy, old, young, new):
                client[1].close()

    asyncio.run(work())


def test_a_full_port_ends_a_connection_that_reads_nothing(quick: pytest.MonkeyPatch) -> None:
    quick.setattr("interfaces.service.http.request_limits.MOST_CONNECTIONS", 1)
    quick.setattr("interfaces.service.http.request_limits._PATIENCE_S", 60)

    async def work() -> None:
        async with _Port().open() as port:
            deaf = await port.connect()
            deaf[1].transport.pause_reading()  # type: ignore[attr-defined]
            ask(deaf, times=400)
            await asyncio.sleep(0.6)
            new = await port.connect()
            ask(new)
            assert b"200 OK" in await read_answer(new)
            for client in (deaf, new):
                client[1].close()

    asyncio.run(work())


def test_a_connection_too_many_is_told_so_while_all_others_are_at_work(quick: pytest.MonkeyPatch) -> None:
    quick.setattr("interfaces.service.http.request_limits.MOST_CONNECTIONS", 2)

    async def work() -> None:
        async with _Port().open() as port:
            held = [await port.connect() for _ in range(2)]
            for client in held:
                ask(client, "/slow")
            await asyncio.sleep(0.3)
            new = await port.connect()
            assert b"503 Service Unavailable" in await read_answer(new)
            port.go_on.set()
            assert [b"200 OK" in await read_answer(client) for client in held] == [True, True]
            for client in (*held, new):
                client[1].close()

    asyncio.run(work())


@pytest.mark.usefixtures("quick")
def test_a_service_ends_without_clients_that_do_not_read_or_do_not_ask_to_the_end() -> None:
    async def work() -> float:
        async with _Port().open() as port:
            deaf, unfinished, silent, busy = [await port.connect() for _ in range(4)]
            deaf[1].transport.pause_reading()  # type: ignore[attr-defined]
            ask(deaf, times=400)
            unfinished[1].write(WHOLE[:-1])
            ask(busy, "/slow")
            await asyncio.sleep(0.2)
            begun = time.monotonic()
            port.server.should_exit = True
            await asyncio.sleep(0.4)
            port.go_on.set()
            assert b"200 OK" in await read_answer(busy)
            assert await port.until_connections(0, within_s=10)
            for client in (deaf, unfinished, silent, busy):
                client[1].close()
            return time.monotonic() - begun

    assert asyncio.run(work()) < 3


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

    def get_write_buffer_size(self) -> int:
        return 0

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
    monkeypatch.setattr("interfaces.service.http.request_limits._PATIENCE_S", 0.2)

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
