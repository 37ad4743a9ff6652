"""Who writes answers: a language model that streams, and a command. Both are limited, and get no token of Slack."""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from distill.language_model.endpoint import Endpoint, EndpointSettings
from interfaces.slack.responder import (
    CommandResponder,
    EndpointResponder,
    Question,
    ResponderFailed,
    ThreadLine,
    command_environment,
)

ASKED = Question(
    prompt="You are Ada.", session="slack-a:b", audience="group",
    thread=[
        ThreadLine(role="user", name="Sam", text="hello", owner=True),
        ThreadLine(role="assistant", name="Ada", text="hi"),
        ThreadLine(role="user", name="Mara", text="and me?"),
    ],
)  # fmt: skip


class Model:
    """A stand-in of a language model: what it was asked, and what it answers."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.status = 200
        self.kind = "text/event-stream"
        self.body = b""
        self.url = ""

    def events(self, *pieces: str, end: bool = True) -> None:
        rows = [json.dumps({"choices": [{"delta": {"content": piece}}]}) for piece in pieces]
        self.body = "".join(f"data: {row}\n\n" for row in [*rows, *(["[DONE]"] if end else [])]).encode()


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            made.keys.append(self.headers.get("Authorization", ""))
            self.send_response(made.status)
            self.send_header("Content-Type", made.kind)
            self.end_headers()
            self.wfile.write(made.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def responder(model: Model, **values: Any) -> EndpointResponder:
    settings = EndpointSettings(url=model.url, model="m", key_env="KEY", timeout_s=5.0)
    return EndpointResponder(endpoint=Endpoint(settings=settings, key="sk-1"))


def test_a_model_streams_its_answer(model: Model) -> None:
    model.events("Hel", "lo", " there")
    assert list(responder(model).answer(ASKED)) == ["Hel", "lo", " there"]
    assert model.asked[0]["messages"] == [
        {"role": "system", "content": "You are Ada."}, {"role": "user", "content": "Sam: hello"},
        {"role": "assistant", "content": "hi"}, {"role": "user", "content": "Mara: and me?"},
    ]  # fmt: skip
    assert model.asked[0]["stream"] is True
    assert model.keys == ["Bearer sk-1"]


def test_a_model_that_does_not_stream_answers_at_once(model: Model) -> None:
    model.kind = "application/json"
    model.body = json.dumps({"choices": [{"message": {"content": "Hello"}}]}).encode()
    assert list(responder(model).answer(ASKED)) == ["Hello"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (500, b"sk-1", "status 500"),
        (302, b"", "status 302"),
        (200, b"data: nonsense\n\n", "no part of a chat completion"),
        (200, b'data: {"choices": [{"delta": {}, "finish_reason": "length"}]}\n\n', "was cut"),
    ],
)
def test_an_answer_that_is_none_is_an_error(model: Model, status: int, body: bytes, said: str) -> None:
    model.status, model.body = status, body
    with pytest.raises(ResponderFailed, match=said) as found:
        list(responder(model).answer(ASKED))
    assert "sk-1" not in str(found.value)


def test_an_answer_that_breaks_off_gives_its_pieces_and_an_error(model: Model) -> None:
    model.events("Hel", "lo", end=False)
    pieces = responder(model).answer(ASKED)
    assert [next(pieces), next(pieces)] == ["Hel", "lo"]
    with pytest.raises(ResponderFailed, match="broken off"):
        next(pieces)


def test_an_endless_answer_ends(model: Model) -> None:
    model.events(*["x" * 9_000] * 5)
    with pytest.raises(ResponderFailed, match="longer than 40000 characters"):
        list(responder(model).answer(ASKED))


def test_a_command_gets_prompt_and_thread_and_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "answer.py"
    script.write_text(
        "import json, os, sys\nasked = json.load(sys.stdin)\nsecrets = [n for n in os.environ if 'SLACK' in n]\n"
        "print(asked['prompt'], asked['audience'], [(l['name'], l['owner']) for l in asked['thread']], secrets)\n"
    )
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    [answer] = CommandResponder(command=command).answer(ASKED)
    assert answer == "You are Ada. group [('Sam', True), ('Ada', False), ('Mara', False)] []\n"
    assert "PATH" in command_environment({"PATH": "/bin", "SLACK_APP_TOKEN": "xapp-1"})


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit(3)", "ended with code 3"),
        ("import time; time.sleep(60)", "no complete answer within 1 s"),
        ("print('x' * 41000)", "longer than 40000 characters"),
    ],
)
def test_a_command_that_gives_no_answer_is_an_error(code: str, said: str) -> None:
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"
    with pytest.raises(ResponderFailed, match=said):
        list(CommandResponder(command=command, timeout_s=1.0).answer(ASKED))
