"""One question to a language model at an OpenAI-compatible address that a person configured. By default there is none.

Promises an answer or one error within the time limit, however the other side behaves: a server that refuses, is slow,
drips, sends too much, breaks off or answers something else. Redirections and proxies are not followed: the key goes
where the settings say and nowhere else. Who may ask how much is ``distill.language_model.token_budget``'s business,
what may be sent and what is believed of an answer ``distill.summary.rewording``'s.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..errors import EndpointFailed

__all__ = ["Answer", "Endpoint", "EndpointSettings"]

#: A longer answer is none: more than any summary, and less than would fill the memory.
_MAX_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16
_PATH = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """The table ``[distill.endpoint]`` of ``agent.toml``: a language model that may reword summaries.

    Attributes:
        url: where the interface begins, such as ``https://models.example/v1``; plain ``http`` only without a key or on
            this machine.
        model: the model's name there.
        key_env: the environment variable that holds the key; empty where none is needed.
        timeout_s: how long an answer may take, from the first byte sent to the last received.
        daily_tokens: how many tokens all homes' closings may spend in a day, questions and answers together, counted in
            this home's ``.memory``.
        question_tokens: the longest question; lines that do not fit stay as they were said.
        answer_tokens: the longest answer.
    """

    url: str
    model: str
    key_env: str = ""
    timeout_s: float = 30.0
    daily_tokens: int = 200_000
    question_tokens: int = 12_000
    answer_tokens: int = 3_000

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise ValueError(f"url is {self.url!r}, wanted one like 'https://models.example/v1', without a name or key")
        if parts.scheme == "http" and self.key_env and not _is_local(parts.hostname):
            raise ValueError(f"url is {self.url!r}, which would send the key unencrypted; use https, or no key-env")
        if not self.model.strip():
            raise ValueError("model is empty, wanted the model's name at that address")
        if self.timeout_s <= 0 or min(self.daily_tokens, self.question_tokens, self.answer_tokens) < 0:
            raise ValueError("timeout-s must be over 0 and no limit of tokens below it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model wrote, and how many tokens the other side says that question and answer took; 0 if it does not."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model that can be asked. The *key* comes from the environment, read by an interface."""

    settings: EndpointSettings
    key: str = field(default="", repr=False)

    def ask(self, instructions: str, question: str) -> Answer:
        """The model's answer.

        Raises:
            EndpointFailed: there is none, or none that can be read; the message says why and names no key.
        """
        if not (self.key.isascii() and self.key.isprintable()):  # the library's error would print it
            raise EndpointFailed(self.settings.url, f"a key in {self.settings.key_env} that is not one line of ASCII")
        data = {
            "model": self.settings.model,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": question}],
            "max_tokens": self.settings.answer_tokens,
            "temperature": 0,
        }
        body = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
        try:
            status, received = self._exchange(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise EndpointFailed(self.settings.url, f"{type(error).__name__}: {_line(str(error))}") from error
        if status != http.HTTPStatus.OK:
            raise EndpointFailed(self.settings.url, f"status {status}, wanted 200")
        return self._read(received)

    def _exchange(self, body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(self.settings.url)
        ends = time.monotonic() + self.settings.timeout_s
        connection = _connection(parts, self.settings.timeout_s)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            connection.connect()
            # A time limit on a socket holds for each piece: who sends a byte now and then would never exceed it.
            alarm = threading.Timer(max(0.0, ends - time.monotonic()), _hang_up, [connection.sock])
            alarm.daemon = True
            alarm.start()
            try:
                connection.request("POST", _target(parts), body, headers)
                with connection.getresponse() as response:
                    received = _read_all(response)
            except (OSError, http.client.HTTPException, ValueError) as error:
                if time.monotonic() >= ends:
                    raise TimeoutError(f"no whole answer in {self.settings.timeout_s:g} s") from error
                raise
            finally:
                alarm.cancel()
            if time.monotonic() >= ends:
                raise TimeoutError(f"no whole answer in {self.settings.timeout_s:g} s")
            return response.status, received
        finally:
            connection.close()

    def _read(self, received: bytes) -> Answer:
        try:
            data: Any = json.loads(received)
            choice = data["choices"][0]
            text, reason = choice["message"]["content"], choice.get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise EndpointFailed(self.settings.url, "an answer that is no chat completion") from error
        if not isinstance(text, str):
            raise EndpointFailed(self.settings.url, "an answer without text")
        if reason == "length":
            raise EndpointFailed(self.settings.url, f"half an answer, cut at {self.settings.answer_tokens} tokens")
        return Answer(text=text, tokens=_spent(data))


def _connection(parts: SplitResult, timeout_s: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)


def _target(parts: SplitResult) -> str:
    path = parts.path.rstrip("/")
    return path if path.endswith(_PATH) else path + _PATH


def _read_all(response: http.client.HTTPResponse) -> bytes:
    received = bytearray()
    while piece := response.read1(_CHUNK_BYTES):
        received += piece
        if len(received) > _MAX_BYTES:
            raise ValueError(f"an answer of over {_MAX_BYTES} bytes")
    if response.length:
        raise ValueError(f"an answer that breaks off {response.length} bytes before its end")
    return bytes(received)


def _hang_up(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _spent(data: Mapping[str, Any]) -> int:
    usage = data.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else 0


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
