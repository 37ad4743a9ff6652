"""One question, one answer or one error: asked of a real server that behaves in every way a server can."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from agent_home.errors import SettingsInvalid
from agent_home.settings import read_table
from distill import DistillSettings, Endpoint, EndpointFailed, EndpointSettings

from ..model_server import Behaviour, completion, drip, drip_headers, endless, garbage, saying, send, serving, silence

KEY = "not-a-" + "real-key"


def endpoint(url: str, *, timeout_s: float = 5.0, key: str = KEY) -> Endpoint:
    return Endpoint(settings=EndpointSettings(url=url, model="m-1", key_env="MODEL_KEY", timeout_s=timeout_s), key=key)


def test_the_question_goes_to_chat_completions_with_model_and_key_and_the_answer_has_its_tokens() -> None:
    with serving(saying("Guten Tag", usage={"total_tokens": 42})) as server:
        answer = endpoint(server.url).ask("Be short.", "你好?")
    assert (answer.text, answer.tokens) == ("Guten Tag", 42)
    path, headers, body = server.asked[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body["model"] == "m-1"
    assert [message["content"] for message in body["messages"]] == ["Be short.", "你好?"]


def test_without_a_key_none_is_sent_and_a_whole_path_is_taken_as_it_is() -> None:
    with serving(saying("x")) as server:
        endpoint(f"{server.url}/chat/completions", key="").ask("a", "b")
    path, headers, _ = server.asked[0]
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers


BAD: dict[str, tuple[Behaviour, str]] = {
    "an error of the server": (lambda h, _: send(h, b"{}", status=500), "status 500"),
    "a refused key": (lambda h, _: send(h, b"{}", status=401), "status 401"),
    "a redirection": (lambda h, _: send(h, completion("x"), status=307), "status 307"),
    "no JSON": (lambda h, _: send(h, b"<html>"), "no chat completion"),
    "other JSON": (lambda h, _: send(h, b'{"choices": []}'), "no chat completion"),
    "a list": (lambda h, _: send(h, b"[1]"), "no chat completion"),
    "deep JSON": (lambda h, _: send(h, b"[" * 200_000), "no chat completion"),
    "no text": (lambda h, _: send(h, completion("").replace(b'"content": ""', b'"content": null')), "without text"),
    "an answer cut at the limit": (saying("x", finish_reason="length"), "half an answer"),
    "an answer that breaks off": (lambda h, _: send(h, completion("x")[:30], length=900), "breaks off"),
    "an empty answer": (lambda h, _: send(h, b""), "no chat completion"),
    "no answer at all": (lambda _, __: None, "RemoteDisconnected"),
    "something that is not HTTP": (garbage, "BadStatusLine"),
    "bytes without end": (endless, "over 1048576 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_whatever_is_no_answer_is_one_error_of_one_line_without_the_key(name: str) -> None:
    behaviour, wanted = BAD[name]
    with serving(behaviour) as server, pytest.raises(EndpointFailed) as caught:
        endpoint(server.url).ask("a", "b")
    assert wanted in str(caught.value)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("behaviour", [silence, drip, drip_headers])
def test_a_slow_answer_is_given_up_when_the_time_is_over_even_if_bytes_keep_coming(behaviour: Behaviour) -> None:
    with serving(behaviour) as server:
        start = time.monotonic()
        with pytest.raises(EndpointFailed, match="TimeoutError"):
            endpoint(server.url, timeout_s=0.3).ask("a", "b")
        waited = time.monotonic() - start
        # It ends by its own limit, not because the server stopped.
        assert not server.closing.is_set()
    assert waited < 15


def test_a_refused_connection_is_an_error_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(EndpointFailed, match="ConnectionRefusedError"):
        endpoint(f"http://127.0.0.1:{port}/v1").ask("a", "b")


def test_a_key_that_is_no_line_is_neither_sent_nor_printed() -> None:
    with serving(saying("x")) as server, pytest.raises(EndpointFailed, match="MODEL_KEY") as caught:
        endpoint(server.url, key=f"{KEY}\r\nX-Other: 1").ask("a", "b")
    assert KEY not in str(caught.value)
    assert not server.asked
    assert KEY not in repr(endpoint(server.url))


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ({"url": "ftp://models.example", "model": "m"}, "wanted one like"),
        ({"url": "https://someone@models.example/v1", "model": "m"}, "without a name or key"),
        ({"url": "http://models.example/v1", "model": "m", "key-env": "K"}, "unencrypted"),
        ({"url": "https://models.example/v1", "model": " "}, "model is empty"),
        ({"url": "https://models.example/v1", "model": "m", "timeout-s": 0}, "timeout-s"),
        ({"url": "https://models.example/v1", "model": "m", "key": "abc"}, "unknown key 'key'"),
        ({"model": "m"}, "'url' is missing"),
    ],
)
def test_settings_that_cannot_work_are_named(table: dict[str, object], wanted: str) -> None:
    with pytest.raises(SettingsInvalid, match=wanted):
        read_table(DistillSettings, {"endpoint": table}, str(Path("agent.toml")))


def test_by_default_there_is_no_endpoint_and_a_table_makes_one() -> None:
    assert DistillSettings().endpoint is None
    table = {"endpoint": {"url": "http://localhost:8080/v1", "model": "m", "key-env": "K", "daily-tokens": 5}}
    found = read_table(DistillSettings, table, "agent.toml").endpoint
    assert found is not None
    assert (found.model, found.daily_tokens) == ("m", 5)
