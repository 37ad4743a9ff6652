"""A chat is streamed within one deadline, to the configured address alone."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from distill.errors import EndpointFailed
from distill.language_model.chat_stream import stream_chat
from distill.language_model.endpoint import Endpoint, EndpointSettings

TURNS = [{"role": "user", "content": "hello"}]
Answer = Callable[[BaseHTTPRequestHandler], None]
Serve = Callable[[Answer], Endpoint]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server with an answer, and returns its endpoint."""
    servers = []

    def start(answer: Answer) -> Endpoint:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                with suppress(OSError):  # the client has gone
                    answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        return Endpoint(settings=EndpointSettings(url=url, model="m", timeout_s=1.0))

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


def event(piece: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n".encode()


def begin(request: BaseHTTPRequestHandler, kind: str = "text/event-stream") -> None:
    request.send_response(200)
    request.send_header("Content-Type", kind)
    request.end_headers()


def test_pieces_come_before_the_answer_is_over(serve: Serve) -> None:
    over = threading.Event()

    def answer(request: BaseHTTPRequestHandler) -> None:
        begin(request)
        request.wfile.write(b": a comment\n\n" + event("Hello "))
        request.wfile.flush()
        over.wait(5.0)
        request.wfile.write(event("\u00e4\u4f60") + b"data: [DONE]\n\n")

    pieces = stream_chat(serve(answer), "Be brief.", TURNS)
    assert next(pieces) == "Hello "
    over.set()
    assert list(pieces) == ["\u00e4\u4f60"]


def test_a_server_that_drips_ends_at_the_deadline(serve: Serve) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        begin(request)
        for _ in range(100):
            request.wfile.write(event("drip"))
            request.wfile.flush()
            time.sleep(0.05)

    begun = time.monotonic()
    with pytest.raises(EndpointFailed, match="no complete answer within 1 s"):
        list(stream_chat(serve(answer), "", TURNS))
    assert time.monotonic() - begun < 4.0


def test_no_redirect_is_followed(serve: Serve) -> None:
    asked = []

    def elsewhere(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        begin(request)

    other = serve(elsewhere)

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(307)
        request.send_header("Location", other.settings.url)
        request.end_headers()

    with pytest.raises(EndpointFailed, match="status 307"):
        list(stream_chat(serve(answer), "", TURNS))
    assert asked == []
