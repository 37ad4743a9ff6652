"""Requests to real local servers that behave well and badly: one completion or one error."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import shutil
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent_home.errors import SettingsInvalid
from agent_home.settings import read_table
from distill.errors import EndpointFailed
from distill.language_model.endpoint import Endpoint, EndpointSettings
from distill.settings import DistillSettings

from ..model_server import Behaviour, completion, drip, drip_headers, endless, garbage, saying, send, serving, silence

KEY = "not-a-" + "real-key"


def endpoint(url: str, *, timeout_s: float = 5.0, key: str = KEY) -> Endpoint:
    return Endpoint(settings=EndpointSettings(url=url, model="m-1", key_env="MODEL_KEY", timeout_s=timeout_s), key=key)


def test_request_carries_model_messages_and_key_and_usage_is_returned() -> None:
    with serving(saying("Guten Tag", usage={"total_tokens": 42})) as server:
        done = endpoint(server.url).complete("Be short.", "你好?")
    assert (done.text, done.tokens) == ("Guten Tag", 42)
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body["model"] == "m-1"
    assert [message["content"] for message in body["messages"]] == ["Be short.", "你好?"]


def test_no_header_is_sent_without_a_key_and_a_complete_path_is_kept() -> None:
    with serving(saying("x")) as server:
        endpoint(f"{server.url}/chat/completions", key="").complete("a", "b")
    path, headers, _ = server.requests[0]
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers


def echo_key(handler: Any, _: object) -> None:
    """Send the key back where a status line belongs."""
    handler.wfile.write(f"{KEY}\r\n\r\n".encode())


BAD: dict[str, tuple[Behaviour, str]] = {
    "server error": (lambda h, _: send(h, b"{}", status=500), "status 500"),
    "refused key": (lambda h, _: send(h, b"{}", status=401), "status 401"),
    "redirection": (lambda h, _: send(h, completion("x"), status=307), "status 307"),
    "no JSON": (lambda h, _: send(h, b"<html>"), "not a chat completion"),
    "other JSON": (lambda h, _: send(h, b'{"choices": []}'), "not a chat completion"),
    "list": (lambda h, _: send(h, b"[1]"), "not a chat completion"),
    "deep JSON": (lambda h, _: send(h, b"[" * 200_000), "not a chat completion"),
    "no text": (lambda h, _: send(h, completion("").replace(b'"content": ""', b'"content": null')), "has no text"),
    "cut at the limit": (saying("x", finish_reason="length"), "was cut at"),
    "incomplete body": (lambda h, _: send(h, completion("x")[:30], length=900), "without sending complete message"),
    "empty body": (lambda h, _: send(h, b""), "not a chat completion"),
    "no response": (lambda _, __: None, "disconnected without sending a response"),
    "not HTTP": (garbage, "illegal status line"),
    "echoed key": (echo_key, "illegal status line"),
    "endless body": (endless, "longer than 1048576 bytes"),
    "compressed body": (
        lambda h, _: send(h, gzip.compress(completion("x")), headers={"Content-Encoding": "gzip"}),
        "not a chat completion",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_response_is_one_line_without_the_key(name: str) -> None:
    behaviour, reason = BAD[name]
    with serving(behaviour) as server, pytest.raises(EndpointFailed) as caught:
        endpoint(server.url).complete("a", "b")
    assert reason in str(caught.value)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("behaviour", [silence, drip, drip_headers])
def test_slow_response_ends_at_the_deadline(behaviour: Behaviour) -> None:
    with serving(behaviour) as server:
        start = time.monotonic()
        with pytest.raises(EndpointFailed, match=r"no complete answer within 0\.3 s"):
            endpoint(server.url, timeout_s=0.3).complete("a", "b")
        waited = time.monotonic() - start
        # The client ended the request, not the server.
        assert not server.closing.is_set()
    assert waited < 15


def test_slow_name_lookup_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object, **__: object) -> None:
        time.sleep(3)
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    start = time.monotonic()
    with pytest.raises(EndpointFailed, match=r"no complete answer within 0\.2 s"):
        endpoint("https://models.invalid/v1", timeout_s=0.2).complete("a", "b")
    assert time.monotonic() - start < 2


def test_refused_connection_fails_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(EndpointFailed, match="ConnectError"):
        endpoint(f"http://127.0.0.1:{port}/v1").complete("a", "b")


def test_redirection_target_gets_no_request() -> None:
    with serving(saying("x")) as other:
        headers = {"Location": f"{other.url}/chat/completions"}
        with (
            serving(lambda h, _: send(h, b"", status=307, headers=headers)) as server,
            pytest.raises(EndpointFailed, match="status 307"),
        ):
            endpoint(server.url).complete("a", "b")
    assert not other.requests


def test_proxies_and_netrc_of_the_environment_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login someone password other\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(saying("from the proxy")) as proxy, serving(saying("x")) as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            for variable in (name, name.lower()):
                monkeypatch.setenv(variable, proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert endpoint(server.url, key="").complete("a", "b").text == "x"
    assert not proxy.requests
    assert "Authorization" not in server.requests[0][1]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_unknown_certificate_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    certificate, private = tmp_path / "certificate.pem", tmp_path / "private.pem"
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(private), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *options, *names, *files], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, private)
    with serving(saying("x"), tls=tls) as server, pytest.raises(EndpointFailed, match="CERTIFICATE_VERIFY_FAILED"):
        endpoint(server.url).complete("a", "b")
    assert not server.requests


def test_malformed_key_is_neither_sent_nor_printed() -> None:
    with serving(saying("x")) as server, pytest.raises(EndpointFailed, match="MODEL_KEY") as caught:
        endpoint(server.url, key=f"{KEY}\r\nX-Other: 1").complete("a", "b")
    assert KEY not in str(caught.value)
    assert not server.requests
    assert KEY not in repr(endpoint(server.url))


def test_logs_do_not_hold_the_key(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), serving(saying("x")) as server:
        endpoint(server.url).complete("a", "b")
    assert caplog.records
    assert KEY not in caplog.text


def test_caller_may_run_in_an_event_loop() -> None:
    async def call(url: str) -> str:
        return endpoint(url).complete("a", "b").text

    with serving(saying("x")) as server:
        assert asyncio.run(call(server.url)) == "x"


def test_missing_http_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with serving(saying("x")) as server, pytest.raises(EndpointFailed, match=r"pip install 'agent-home\[endpoint\]'"):
        endpoint(server.url).complete("a", "b")
    assert not server.requests


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"url": "ftp://models.example", "model": "m"}, "address such as"),
        ({"url": "https://someone@models.example/v1", "model": "m"}, "without user name"),
        ({"url": "http://models.example/v1", "model": "m", "key-env": "K"}, "unencrypted"),
        ({"url": "https://models.example/v1", "model": " "}, "model is empty"),
        ({"url": "https://models.example/v1", "model": "m", "timeout-s": 0}, "timeout-s"),
        ({"url": "https://models.example/v1", "model": "m", "key": "abc"}, "unknown key 'key'"),
        ({"model": "m"}, "url is ''"),
        ({"kind": "command", "command-env": " "}, "command-env is empty"),
        ({"kind": "telepathy", "model": "m"}, "kind"),
    ],
)
def test_unusable_settings_are_named(table: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsInvalid, match=problem):
        read_table(DistillSettings, {"endpoint": table}, str(Path("agent.toml")))


def test_no_endpoint_by_default_and_a_table_configures_one() -> None:
    assert DistillSettings().endpoint is None
    table = {"endpoint": {"url": "http://localhost:8080/v1", "model": "m", "key-env": "K", "daily-tokens": 5}}
    found = read_table(DistillSettings, table, "agent.toml").endpoint
    assert found is not None
    assert (found.model, found.daily_tokens) == ("m", 5)


def test_anthropic_interface_has_its_own_path_headers_and_answer() -> None:
    answer = {
        "content": [{"type": "text", "text": "Guten "}, {"type": "text", "text": "Tag"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 30, "cache_read_input_tokens": 10, "output_tokens": 2},
    }
    with serving(lambda h, _: send(h, json.dumps(answer).encode())) as server:
        settings = EndpointSettings(kind="anthropic", url=server.url, model="m-1", key_env="MODEL_KEY", timeout_s=5)
        done = Endpoint(settings=settings, key=KEY).complete("Be short.", "Hello")
    assert (done.text, done.tokens) == ("Guten Tag", 42)
    path, headers, body = server.requests[0]
    assert path == "/v1/messages"
    assert headers["x-api-key"] == KEY
    assert "Authorization" not in headers
    assert headers["anthropic-version"]
    assert (body["system"], body["messages"]) == ("Be short.", [{"role": "user", "content": "Hello"}])


def busy_then(text: str, *, times: int, status: int = 429, **headers: str) -> Behaviour:
    """Return the behaviour of a server that is busy some times before it answers."""

    def behave(handler: Any, server: Any) -> None:
        if len(server.requests) <= times:
            send(
                handler,
                b"{}",
                status=status,
                headers={name.replace("_", "-"): value for name, value in headers.items()},
            )
        else:
            send(handler, completion(text))

    return behave


@pytest.mark.parametrize("wait", ["0", "Wed, 21 Oct 2015 07:28:00 GMT"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_after_the_time_that_it_names(wait: str, status: int) -> None:
    with serving(busy_then("x", times=2, status=status, Retry_After=wait)) as server:
        assert endpoint(server.url).complete("a", "b").text == "x"
    assert len(server.requests) == 3


def test_a_server_is_asked_a_few_times_at_most() -> None:
    with (
        serving(busy_then("x", times=9, Retry_After="0")) as server,
        pytest.raises(EndpointFailed, match="status 429"),
    ):
        endpoint(server.url).complete("a", "b")
    assert len(server.requests) == 3


def test_a_long_wait_ends_at_once() -> None:
    with (
        serving(busy_then("x", times=9, Retry_After="3600")) as server,
        pytest.raises(EndpointFailed, match="asks to wait 3600 s"),
    ):
        endpoint(server.url).complete("a", "b")
    assert len(server.requests) == 1
