"""Local stand-in for a language model's HTTP interface, with the behaviours of good and bad servers."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ModelServer:
    """A running server with its *url* and the *requests* so far, as ``(path, headers, body)``."""

    url: str = ""
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def prompt(self) -> str:
        """The text of the last prompt."""
        text: str = self.requests[-1][2]["messages"][1]["content"]
        return text


#: Writes a whole response, a part of one, or nothing.
Behaviour = Callable[[BaseHTTPRequestHandler, ModelServer], None]


@contextmanager
def serving(behaviour: Behaviour, *, tls: ssl.SSLContext | None = None) -> Iterator[ModelServer]:
    """Answer every request with *behaviour* until the block ends."""
    state = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append((self.path, dict(self.headers), body))
            with suppress(OSError):  # some tests make the client hang up
                behaviour(self, state)

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore broken connections: they are the client's doing."""

    server = Server(("127.0.0.1", 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    state.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def send(
    handler: BaseHTTPRequestHandler,
    data: bytes,
    *,
    status: int = 200,
    length: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send one response with *data*. *length* is the length that its header claims."""
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data) if length is None else length))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def completion(text: str, **more: Any) -> bytes:
    """Return a chat completion with *text*. Of *more*, ``usage`` belongs to the completion, the rest to its choice."""
    usage = more.pop("usage", {"total_tokens": 100})
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def saying(text: str, **more: Any) -> Behaviour:
    """Return the behaviour of a model that always says *text*."""
    return lambda handler, _: send(handler, completion(text, **more))


def rewording(**lines: str) -> Behaviour:
    """Return the behaviour of a model that rewords lines: ``rewording(l1="...")`` is line 1."""
    return saying(json.dumps({"lines": {name[1:]: text for name, text in lines.items()}}))


def drip(handler: BaseHTTPRequestHandler, state: ModelServer) -> None:
    """Send one byte of the body now and then, for as long as the test lasts."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not state.closing.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def drip_headers(handler: BaseHTTPRequestHandler, state: ModelServer) -> None:
    """Send one byte of a header now and then, for as long as the test lasts."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: ")
    while not state.closing.wait(0.05):
        handler.wfile.write(b"a")
        handler.wfile.flush()


def silence(handler: BaseHTTPRequestHandler, state: ModelServer) -> None:
    """Send nothing."""
    state.closing.wait(20)


def endless(handler: BaseHTTPRequestHandler, state: ModelServer) -> None:
    """Send a body without end, as quickly as the client reads."""
    handler.send_response(200)
    handler.end_headers()
    while not state.closing.is_set():
        handler.wfile.write(b"x" * 65536)


def garbage(handler: BaseHTTPRequestHandler, _: ModelServer) -> None:
    """Send something that is not HTTP."""
    handler.wfile.write(b"\x00\x01hello\r\n\r\n")
