"""Test the application: commands over the socket alone, request ids, and a log without content."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from agent_home.home import Home
from interfaces.service.forwarding.client import package, shared_environment
from interfaces.service.forwarding.socket_place import socket_path
from interfaces.service.forwarding.source_stamp import SourceStamp
from interfaces.service.http.activity import Activity
from interfaces.service.http.metrics import Metrics
from interfaces.service.http.problem import LOGGER
from interfaces.service.http.tokens import SCOPES, add_token
from tests.interfaces.service.running_service import ask_app, made_app

SECRET = "zanzibarite"


class Lines(logging.Handler):
    """The lines that the service logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def log() -> Iterator[list[str]]:
    handler, level = Lines(), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    yield handler.lines
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(level)


@pytest.fixture
def token(home: Home, now: datetime) -> str:
    return add_token(home, "laptop", scopes=SCOPES, audience="owner", now=now)


@pytest.fixture
def app(home: Home) -> ASGIApp:
    return made_app(home)


@pytest.fixture
def place(home: Home) -> str:
    return str(socket_path(home.root))


def command(home: Home, *arguments: str, **changes: Any) -> dict[str, Any]:
    request = {
        "arguments": list(arguments), "folder": str(home.root), "environ": {}, "package": package(),
        "shared": shared_environment(os.environ),
    }  # fmt: skip
    return {**request, **changes}


def test_a_command_over_the_socket_gives_its_exit_code_and_streams(app: ASGIApp, home: Home, place: str) -> None:
    answer = ask_app(app, "POST", "/command", over=place, json=command(home, "done", "KD-0000"))
    assert answer.status_code == 200
    assert answer.json()["code"] == 2
    assert "KD-0000" in answer.json()["err"]


@pytest.mark.parametrize("path", ["/command", "/stop"])
def test_a_port_has_no_commands_and_no_stop(app: ASGIApp, home: Home, token: str, path: str) -> None:
    activity = Activity(0)
    app = made_app(home, activity=activity)
    answer = ask_app(app, "POST", path, token=token, json=command(home, "remember", f"The plan is {SECRET}"))
    assert answer.status_code == 404
    assert answer.json()["error"] == ask_app(app, "POST", "/nope", token=token).json()["error"]
    assert SECRET not in (home.root / "MEMORY.md").read_text()
    assert not activity.over


def test_a_stop_over_the_socket_names_the_process_and_ends_the_service(home: Home, place: str) -> None:
    activity = Activity(0)
    answer = ask_app(made_app(home, activity=activity), "POST", "/stop", over=place)
    assert (answer.status_code, answer.json()) == (200, {"process": os.getpid()})
    assert activity.over


@pytest.mark.parametrize(
    "changes",
    [
        {"package": "/another/installation"},
        {"shared": {}},
        {"shared": {**shared_environment(os.environ), "TZ": "Pacific/Kiritimati"}},
        {"shared": {**shared_environment(os.environ), "GIT_DIR": "/elsewhere"}},
    ],
)
def test_a_process_of_another_environment_is_sent_away(
    app: ASGIApp, home: Home, place: str, changes: dict[str, Any]
) -> None:
    request = command(home, "remember", f"The plan is {SECRET}", **changes)
    answer = ask_app(app, "POST", "/command", over=place, json=request)
    assert answer.status_code == 409
    assert SECRET not in (home.root / "MEMORY.md").read_text()


def test_a_service_of_an_older_program_sends_everybody_away_and_ends(
    home: Home, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity = Activity(0)
    app = made_app(home, activity=activity)
    monkeypatch.setattr(SourceStamp, "changed", lambda _: True)
    answer = ask_app(app, "POST", "/command", over=place, json=command(home, "search", "x"))
    assert answer.status_code == 409
    assert activity.over


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[", b"null", b"[]", b"7", b"\xff", b"{}",
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_command_is_a_wrong_request(app: ASGIApp, place: str, body: bytes) -> None:
    assert ask_app(app, "POST", "/command", over=place, content=body).status_code == 400


@pytest.mark.parametrize("arguments", [[], ["close", "--all"], ["forget", "KD-0000"], ["token", "list"]])
def test_a_command_that_may_not_be_passed_on_is_a_wrong_request(
    app: ASGIApp, home: Home, place: str, arguments: list[str]
) -> None:
    assert ask_app(app, "POST", "/command", over=place, json=command(home, *arguments)).status_code == 400


def test_a_given_request_id_comes_back_in_the_header_the_error_and_the_log(
    app: ASGIApp, token: str, log: list[str]
) -> None:
    answer = ask_app(app, "GET", "/entries/KD-0000", token=token, headers={"X-Request-Id": "abc-1.2_3"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (404, "abc-1.2_3")
    assert answer.json()["request"] == "abc-1.2_3"
    assert json.loads(log[-1])["request"] == "abc-1.2_3"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, 'x", "y": "z', "a\tb", "<x>", "ü".encode().decode("latin-1")])
def test_a_strange_request_id_is_replaced(app: ASGIApp, token: str, log: list[str], given: str) -> None:
    answer = ask_app(app, "GET", "/review", token=token, headers={"X-Request-Id": given.encode("latin-1")})
    assert len(answer.headers["x-request-id"]) == 32
    assert json.loads(log[-1])["request"] == answer.headers["x-request-id"]


def test_no_answer_may_be_kept_by_a_cache(app: ASGIApp, token: str) -> None:
    for path in ("/review", "/entries/KD-0000", "/health", "/metrics", "/openapi.json"):
        assert ask_app(app, "GET", path, token=token).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nope", 404), ("PUT", "/review", 405), ("GET", "/", 404)]
)
def test_a_path_or_method_that_there_is_not_is_an_error_with_a_request_id(
    app: ASGIApp, token: str, method: str, path: str, status: int
) -> None:
    answer = ask_app(app, method, path, token=token)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "request"}


def test_a_path_that_there_is_not_is_logged_under_its_request_id(app: ASGIApp, token: str, log: list[str]) -> None:
    answer = ask_app(app, "GET", "/nope", token=token, headers={"X-Request-Id": "abc"})
    assert answer.headers["x-request-id"] == "abc"
    assert json.loads(log[-1])["request"] == "abc"


def test_a_line_of_the_log_has_the_route_and_no_content(app: ASGIApp, home: Home, token: str, log: list[str]) -> None:
    ask_app(app, "POST", "/entries", token=token, json={"text": f"The plan is {SECRET}", "tags": [SECRET]})
    ask_app(app, "GET", f"/memory/search?q={SECRET}", token=token)
    ask_app(app, "GET", f"/entries/{SECRET}", token=token)
    ask_app(app, "POST", f"/sessions/{SECRET}/messages", token=token, json={"messages": [{SECRET: SECRET}]})
    lines = [json.loads(line) for line in log]
    assert [(line["route"], line["status"], line["token"]) for line in lines] == [
        ("/entries", 200, "laptop"),
        ("/memory/search", 200, "laptop"),
        ("/entries/{entry}", 404, "laptop"),
        ("/sessions/{session}/messages", 422, "laptop"),
    ]
    assert all(line["ms"] >= 0 and line["method"] in {"GET", "POST"} for line in lines)
    assert SECRET not in "".join(log)
    assert token not in "".join(log)


def test_who_is_not_known_has_no_name_in_the_log(app: ASGIApp, log: list[str]) -> None:
    assert ask_app(app, "GET", "/review", token="ah_nobody").status_code == 401
    assert json.loads(log[-1])["token"] == ""
    assert "ah_nobody" not in log[-1]


def test_a_defect_is_logged_by_its_kind_and_place_and_answered_without_its_message(
    app: ASGIApp, home: Home, token: str, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Metrics, _home: Home) -> bytes:
        raise RuntimeError(f"the plan is {SECRET}")

    monkeypatch.setattr(Metrics, "text", broken)
    answer = ask_app(app, "GET", "/metrics", token=token)
    assert answer.status_code == 500
    assert "RuntimeError" in answer.json()["error"]
    defect = json.loads(log[0])
    assert (defect["request"], defect["error"]) == (answer.json()["request"], "RuntimeError")
    assert f"{Path(__file__).name}:" in defect["at"]
    assert SECRET not in "".join([*log, answer.text, str(answer.headers)])


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(home: Home, token: str) -> None:
    app = made_app(home, max_body_bytes=100)
    body = json.dumps({"query": "x" * 200}).encode()

    async def chunks() -> Any:
        for start in range(0, len(body), 10):
            yield body[start : start + 10]

    for content in (body, chunks()):
        answer = ask_app(app, "POST", "/memory/search", token=token, content=content)
        assert answer.status_code == 413
        assert "100 bytes" in answer.json()["error"]
    assert ask_app(app, "POST", "/memory/search", token=token, json={"query": "x"}).status_code == 200


def test_requests_are_counted_while_they_are_answered(home: Home, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    activity = Activity(0)
    running: list[int] = []

    def text(_: Metrics, _home: Home) -> bytes:
        running.append(activity.running)
        return b""

    monkeypatch.setattr(Metrics, "text", text)
    assert ask_app(made_app(home, activity=activity), "GET", "/metrics", token=token).status_code == 200
    assert (running, activity.running) == ([1], 0)


def test_a_client_that_hangs_up_in_its_body_is_a_plain_line_of_the_log(
    app: ASGIApp, token: str, log: list[str]
) -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        return None

    headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
    scope = {
        "type": "http", "method": "POST", "path": "/entries", "query_string": b"", "headers": headers,
        "server": ("127.0.0.1", 80), "http_version": "1.1", "scheme": "http", "root_path": "",
    }  # fmt: skip

    async def ask() -> None:
        await app(scope, receive, send)

    asyncio.run(ask())
    lines = [json.loads(line) for line in log]
    assert [(line["route"], line["status"], "error" in line) for line in lines] == [("/entries", 499, False)]
