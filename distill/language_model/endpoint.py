"""Client of the one language model that a person may configure: an HTTP address or a command.

The address speaks the interface of OpenAI or of Anthropic. A request ends with a completion or with one error, and
always within its time limits. The other side may refuse, stall, drip bytes, send too much, break off or answer
something else. A server that asks to wait (``Retry-After``) is asked again after that time, a few times at most. The
key goes to the configured address only: redirects, proxies from the environment and ``.netrc`` are ignored, and
certificates are verified.

A command is only run if a variable of this machine's environment names it, because ``agent.toml`` is shared through git
(``distill.language_model.command``). ``distill.language_model.token_budget`` limits the tokens.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from ..errors import EndpointFailed
from .command import CommandFailed, run_command

if TYPE_CHECKING:
    import httpx

__all__ = ["Completion", "Endpoint", "EndpointSettings", "request_url"]

#: Longer than any summary, and short enough to hold in memory.
_MAX_BYTES = 1 << 20
_PATHS = {"openai": "/chat/completions", "anthropic": "/messages"}
_ANTHROPIC_VERSION = "2023-06-01"
#: Answers after which a request is repeated. Others are repeated only if the server names a time to wait.
_BUSY = frozenset({429, 529})
#: Wait in seconds before a repeated request where the server names none, doubled each time.
_PAUSE_S = 1.0
_MAX_REASON_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """The table ``[distill.endpoint]`` of ``agent.toml``: a language model that may read sessions.

    Attributes:
        kind: ``openai`` or ``anthropic``, the interface of the address, or ``command``, a program of this machine that
            reads a prompt and prints an answer.
        url: base address of the interface, such as ``https://models.example/v1``. Plain ``http`` is allowed without a
            key, or on this machine.
        model: the model's name at that address.
        key_env: name of the environment variable that holds the key. Empty where no key is needed.
        command_env: of a command, the name of the environment variable that holds its command line.
        timeout_s: limit of one request in seconds, from the name lookup to the last byte of the answer.
        max_wait_s: longest time in seconds that a server may ask to wait before a request is repeated.
        retries: number of times that a request is repeated when the server is busy.
        daily_tokens: tokens that all closings of a home may spend in a day, prompts and completions together. They are
            counted in the machine state.
        session_tokens: tokens that the closing of one session may spend.
        question_tokens: limit of one prompt in tokens. A longer session is read in parts.
        answer_tokens: limit of one completion in tokens.
        task: ``read`` lets the model propose entries, ``reword`` lets it only reword the lines that rules extract.
    """

    kind: Literal["openai", "anthropic", "command"] = "openai"
    url: str = ""
    model: str = ""
    key_env: str = ""
    command_env: str = "AGENT_HOME_MODEL_COMMAND"
    timeout_s: float = 60.0
    max_wait_s: float = 30.0
    retries: int = 2
    daily_tokens: int = 200_000
    session_tokens: int = 60_000
    question_tokens: int = 12_000
    answer_tokens: int = 3_000
    task: Literal["read", "reword"] = "read"

    def __post_init__(self) -> None:
        limits = (self.daily_tokens, self.session_tokens, self.question_tokens, self.answer_tokens, self.retries)
        if self.timeout_s <= 0 or min(limits) < 0 or self.max_wait_s < 0:
            raise ValueError("timeout-s must be above 0, and the other limits must be 0 or more")
        if self.kind == "command":
            if not self.command_env.strip():
                raise ValueError("command-env is empty. Write the name of the variable that holds the command line")
            return
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise ValueError(
                f"url is {self.url!r}. Write an address such as 'https://models.example/v1', without user name or query"
            )
        if parts.scheme == "http" and self.key_env and not _is_loopback(parts.hostname):
            raise ValueError(f"url is {self.url!r}, which would send the key unencrypted. Use https, or remove key-env")
        if not self.model.strip():
            raise ValueError("model is empty. Write the model's name at that address")

    @property
    def place(self) -> str:
        """The place of the model in messages: the address, or the variable with the command."""
        return f"the command in {self.command_env}" if self.kind == "command" else self.url


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Text that the model wrote, with the tokens that the server reports for prompt and text (0 if it reports none)."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A configured model with its *key* or its *command* line, which an interface reads from the environment."""

    settings: EndpointSettings
    key: str = field(default="", repr=False)
    command: str = ""

    def check(self) -> None:
        """Check the preconditions of a request without sending anything.

        Raises:
            EndpointFailed: there is no command, the HTTP client is not installed, or the key cannot stand in a header.
        """
        if self.settings.kind == "command":
            if not self.command.strip():
                raise self.failure(f"the environment variable {self.settings.command_env} is empty")
            return
        if find_spec("httpx") is None:
            raise self.failure("the package httpx is missing, run `pip install 'agent-home[endpoint]'`")
        if not (self.key.isascii() and self.key.isprintable()):  # the HTTP library's own error would print the key
            raise self.failure(f"the key in {self.settings.key_env} is not one line of ASCII")

    def complete(self, instructions: str, prompt: str) -> Completion:
        """Return the model's completion of *prompt*.

        Raises:
            EndpointFailed: :meth:`check` fails, or no readable completion arrived in time. The message gives the
                reason and never holds the key.
        """
        self.check()
        if self.settings.kind == "command":
            return self._run(f"{instructions}\n\n{prompt}\n")
        body = json.dumps(self._request(instructions, prompt), ensure_ascii=False).encode("utf-8", "replace")
        for attempt in range(self.settings.retries + 1):
            status, received, wait = self._send(body)
            if status == 200:
                return self.parsed(received)
            pause = wait if wait is not None else _PAUSE_S * 2**attempt if status in _BUSY else None
            if pause is None or pause > self.settings.max_wait_s or attempt == self.settings.retries:
                asked = f", it asks to wait {wait:g} s" if wait is not None else ""
                raise self.failure(f"status {status}, expected 200{asked}")
            time.sleep(pause)
        raise self.failure("no attempt was made")

    def _run(self, text: str) -> Completion:
        try:
            done = run_command(self.command, text, timeout_s=self.settings.timeout_s, max_bytes=_MAX_BYTES)
        except CommandFailed as error:
            raise self.failure(str(error)) from error
        return Completion(text=done, tokens=0)

    def _request(self, instructions: str, prompt: str) -> dict[str, Any]:
        settings = self.settings
        shared = {"model": settings.model, "max_tokens": settings.answer_tokens, "temperature": 0}
        if settings.kind == "anthropic":
            return {**shared, "system": instructions, "messages": [{"role": "user", "content": prompt}]}
        return {
            **shared,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": prompt}],
        }

    def _send(self, body: bytes) -> tuple[int, bytes, float | None]:
        """Send one request. Return status, body and the seconds that the server asks to wait."""
        import asyncio

        import httpx

        # The exchange has a thread and an event loop of its own, because the caller may already run in a loop. The
        # caller's wait is limited too: a name lookup cannot be cancelled.
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="endpoint")
        try:
            return pool.submit(asyncio.run, self._exchange(body)).result(self.settings.timeout_s)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise self.failure(f"no complete answer within {self.settings.timeout_s:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise self.failure(f"{type(error).__name__}: {error}") from error
        finally:
            pool.shutdown(wait=False)

    async def _exchange(self, body: bytes) -> tuple[int, bytes, float | None]:
        import asyncio
        import ssl

        import httpx

        # Identity, because a small compressed answer could unpack to any size.
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if self.settings.kind == "anthropic":
            headers |= {"anthropic-version": _ANTHROPIC_VERSION} | ({"x-api-key": self.key} if self.key else {})
        elif self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        # One limit for the whole exchange. A limit for each read would never end a server that drips bytes.
        async with (
            asyncio.timeout(self.settings.timeout_s),
            httpx.AsyncClient(
                verify=ssl.create_default_context(),
                trust_env=False,
                follow_redirects=False,
                timeout=self.settings.timeout_s,
            ) as client,
            client.stream("POST", request_url(self.settings), content=body, headers=headers) as response,
        ):
            return response.status_code, await _read_limited(response), _wait_asked(response.headers)

    def parsed(self, received: bytes) -> Completion:
        """Return the completion in the bytes of an answer.

        Raises:
            EndpointFailed: they are no completion, or one that was cut.
        """
        try:
            data: Any = json.loads(received)
            if self.settings.kind == "anthropic":
                parts = [part["text"] for part in data["content"] if part.get("type") == "text"]
                text, reason = "".join(parts) if parts else None, data.get("stop_reason")
            else:
                choice = data["choices"][0]
                text, reason = choice["message"]["content"], choice.get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise self.failure("the answer is not a chat completion") from error
        if not isinstance(text, str):
            raise self.failure("the chat completion has no text")
        if reason in {"length", "max_tokens"}:
            raise self.failure(f"the chat completion was cut at {self.settings.answer_tokens} tokens")
        return Completion(text=text, tokens=_total_tokens(data))

    def failure(self, reason: str) -> EndpointFailed:
        """Return the error for *reason* on one short line, without the key even if the server echoed it."""
        if self.key:
            reason = reason.replace(self.key, "***")
        return EndpointFailed(self.settings.place, " ".join(reason.split())[:_MAX_REASON_CHARS])


def request_url(settings: EndpointSettings) -> str:
    """Return the address of completions below the configured one, which may already name it."""
    parts = urlsplit(settings.url)
    ending = _PATHS[settings.kind]
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix(ending)}{ending}"


def _wait_asked(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of ``Retry-After``, a number or a date, or ``None``."""
    asked = headers.get("retry-after", "").strip()
    if not asked:
        return None
    if asked.isdecimal():
        return float(asked[:9])
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


async def _read_limited(response: httpx.Response) -> bytes:
    received = bytearray()
    async for chunk in response.aiter_raw():
        received += chunk
        if len(received) > _MAX_BYTES:
            raise ValueError(f"the answer is longer than {_MAX_BYTES} bytes")
    return bytes(received)


def _total_tokens(data: Mapping[str, Any]) -> int:
    """Return the tokens of prompt and completion that the server reports, or 0."""
    usage = data.get("usage")
    if not isinstance(usage, Mapping):
        return 0
    names = ("total_tokens",) if "total_tokens" in usage else (
        "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens",
    )  # fmt: skip
    counts = [usage.get(name) for name in names]
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count >= 0)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
