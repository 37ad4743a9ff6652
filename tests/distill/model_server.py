"""A language model's HTTP interface on this machine, for tests: what it answers is the test's to say."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ModelServer:
    """What was asked so far, as ``(path, headers, body)``, and where to ask."""

    url: str = ""
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def question(self) -> str:
        """The last question's text."""
        text: str = self.asked[-1][2]["messages"][1]["content"]
        return text


#: Writes a whole response, or not.
Behaviour = Callable[[BaseHTTPRequestHandler, ModelServer], None]


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[ModelServer]:
    """A server that answers every question with *behaviour* until the block ends."""
    state = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append((self.path, dict(self.headers), body))
            with suppress(OSError):  # the other side may have hung up: that is what some tests are about
                behaviour(self, state)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler: BaseHTTPRequestHandler, data: bytes, *, status: int = 200, length: int | None = None) -> None:
    """One response with *data*; *length* is what its header claims."""
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)


def completion(text: str, **more: Any) -> bytes:
    """A chat completion that says *text*; *more* are fields of the choice, ``usage`` one of the whole."""
    usage = more.pop("usage", {"total_tokens": 100})
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def saying(text: str, **more: Any) -> Behaviour:
    """A model that always says *text*."""
    return lambda handler, _: send(handler, completion(text, **more))


def rewording(**lines: str) -> Behaviour:
    """A model that rewords lines: ``rewording(l1="...")`` is line 1."""
    return saying(json.dumps({"lines": {name[1:]: text for name, text in lines.items()}}))


def drip(handler: BaseHTTPRequestHandler, state: ModelServer) -> None:
    """Send one byte now and then, for as long as the test lasts."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not state.closing.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def drip_headers(handler: BaseHTTPRequestHandler, state: ModelServer) -> None:
    """Never come to the end of the headers."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: ")
    while not state.closing.wait(0.05):
        handler.wfile.write(b"a")
        handler.wfile.flush()


def silence(handler: BaseHTTPRequestHandler, state: ModelServer) -> None:
    """Send nothing."""
    state.closing.wait(20)


def endless(handler: BaseHTTPRequestHandler, state: ModelServer) -> None:
    """Send without end, as quickly as the other side reads."""
    handler.send_response(200)
    handler.end_headers()
    while not state.closing.is_set():
        handler.wfile.write(b"x" * 65536)


def garbage(handler: BaseHTTPRequestHandler, _: ModelServer) -> None:
    """Send something that is not HTTP."""
    handler.wfile.write(b"\x00\x01hello\r\n\r\n")
