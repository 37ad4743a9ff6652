"""A loopback stand-in for the model APIs of three chat hosts. It records each request and answers with one sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ModelApi", "model_api"]


@dataclass
class ModelApi:
    """The stand-in: its address, the answer that it gives, and the requests that it got, as (path, body)."""

    address: str = ""
    answer: str = "All right."
    requests: list[tuple[str, str]] = field(default_factory=list)

    def seen(self, words: str) -> bool:
        """Return whether a request held *words*."""
        return any(words in body for _, body in self.requests)


@contextmanager
def model_api() -> Iterator[ModelApi]:
    """Serve the stand-in on a free port of this machine."""
    api = ModelApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            pass

        def do_GET(self) -> None:
            self._answer(b"{}", "application/json")

        def do_HEAD(self) -> None:
            self._answer(b"", "application/json")

        def do_POST(self) -> None:
            body = self._body().decode("utf-8", "replace")
            path = self.path.partition("?")[0]
            api.requests.append((path, body))
            kind, text = _reply(path, body, api.answer)
            self._answer(text.encode(), kind)

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def _answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _reply(path: str, body: str, answer: str) -> tuple[str, str]:
    """Return the content type and the text of an answer in the form of the API that *path* belongs to."""
    if path.endswith("/count_tokens"):
        return "application/json", json.dumps({"input_tokens": 10})
    if path.endswith("/messages"):
        streamed = json.loads(body).get("stream")
        return (
            ("text/event-stream", _anthropic_stream(answer)) if streamed else ("application/json", _anthropic(answer))
        )
    if path.endswith("/responses"):
        return "text/event-stream", _responses_stream(answer)
    if ":streamGenerateContent" in path:
        return "text/event-stream", f"data: {json.dumps(_gemini(answer))}\n\n"
    if ":generateContent" in path:
        return "application/json", json.dumps(_gemini(answer))
    if ":countTokens" in path:
        return "application/json", json.dumps({"totalTokens": 10})
    return "application/json", "{}"


def _anthropic(answer: str) -> str:
    return json.dumps({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": answer}], "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    })  # fmt: skip


def _anthropic_stream(answer: str) -> str:
    message = json.loads(_anthropic(answer)) | {"content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": answer}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]  # fmt: skip
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def _responses_stream(answer: str) -> str:
    item = {
        "type": "message", "role": "assistant", "id": "item_1",
        "content": [{"type": "output_text", "text": answer, "annotations": []}],
    }  # fmt: skip
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None,
             "total_tokens": 15}  # fmt: skip
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def _gemini(answer: str) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": answer}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
    }
