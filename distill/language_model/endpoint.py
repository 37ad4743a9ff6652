"""Client of the one language model that a person may configure: an OpenAI-compatible HTTP address.

A request ends with a completion or with one error, and always within the time limit. The other side may refuse, stall,
drip bytes, send too much, break off or answer something else. The key goes to the configured address only: redirects,
proxies from the environment and ``.netrc`` are ignored, and certificates are verified.

``distill.language_model.token_budget`` limits the tokens. ``distill.summary.rewording`` decides what is sent and which
parts of a completion are accepted.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import EndpointFailed

if TYPE_CHECKING:
    import httpx

__all__ = ["Completion", "Endpoint", "EndpointSettings"]

#: Longer than any summary, and short enough to hold in memory.
_MAX_BYTES = 1 << 20
_PATH = "/chat/completions"
_MAX_REASON_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """The table ``[distill.endpoint]`` of ``agent.toml``: a language model that may reword summaries.

    Attributes:
        url: base address of the interface, such as ``https://models.example/v1``. Plain ``http`` is allowed without a
            key, or on this machine.
        model: the model's name at that address.
        key_env: name of the environment variable that holds the key. Empty where no key is needed.
        timeout_s: limit of one request in seconds, from the name lookup to the last byte of the answer.
        daily_tokens: tokens that all closings of a home may spend in a day, prompts and completions together. They are
            counted in the home's ``.memory``.
        question_tokens: limit of one prompt in tokens. Lines beyond it are not reworded.
        answer_tokens: limit of one completion in tokens.
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
            raise ValueError(
                f"url is {self.url!r}. Write an address such as 'https://models.example/v1', without user name or query"
            )
        if parts.scheme == "http" and self.key_env and not _is_loopback(parts.hostname):
            raise ValueError(f"url is {self.url!r}, which would send the key unencrypted. Use https, or remove key-env")
        if not self.model.strip():
            raise ValueError("model is empty. Write the model's name at that address")
        if self.timeout_s <= 0 or min(self.daily_tokens, self.question_tokens, self.answer_tokens) < 0:
            raise ValueError("timeout-s must be above 0, and the token limits must be 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Text that the model wrote, with the tokens that the server reports for prompt and text (0 if it reports none)."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A configured model with its *key*, which an interface reads from the environment."""

    settings: EndpointSettings
    key: str = field(default="", repr=False)

    def check(self) -> None:
        """Check the preconditions of a request without sending anything.

        Raises:
            EndpointFailed: the HTTP client is not installed, or the key cannot stand in a header.
        """
        if find_spec("httpx") is None:
            raise self._failure("the package httpx is missing, run `pip install 'agent-home[endpoint]'`")
        if not (self.key.isascii() and self.key.isprintable()):  # the HTTP library's own error would print the key
            raise self._failure(f"the key in {self.settings.key_env} is not one line of ASCII")

    def complete(self, instructions: str, prompt: str) -> Completion:
        """Return the model's completion of *prompt*.

        Raises:
            EndpointFailed: :meth:`check` fails, or no readable completion arrived in time. The message gives the
                reason and never holds the key.
        """
        self.check()
        import httpx

        data = {
            "model": self.settings.model,
            "messages": [{"role": "system", "content": instructions}, {"role": "user", "content": prompt}],
            "max_tokens": self.settings.answer_tokens,
            "temperature": 0,
        }
        body = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
        # The exchange has a thread and an event loop of its own, because the caller may already run in a loop. The
        # caller's wait is limited too: a name lookup cannot be cancelled.
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="endpoint")
        try:
            status, received = pool.submit(asyncio.run, self._exchange(body)).result(self.settings.timeout_s)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise self._failure(f"no complete answer within {self.settings.timeout_s:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise self._failure(f"{type(error).__name__}: {error}") from error
        finally:
            pool.shutdown(wait=False)
        if status != httpx.codes.OK:
            raise self._failure(f"status {status}, expected 200")
        return self._parsed(received)

    async def _exchange(self, body: bytes) -> tuple[int, bytes]:
        import httpx

        # Identity, because a small compressed answer could unpack to any size.
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if self.key:
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
            client.stream("POST", _request_url(self.settings.url), content=body, headers=headers) as response,
        ):
            return response.status_code, await _read_limited(response)

    def _parsed(self, received: bytes) -> Completion:
        try:
            data: Any = json.loads(received)
            choice = data["choices"][0]
            text, reason = choice["message"]["content"], choice.get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise self._failure("the answer is not a chat completion") from error
        if not isinstance(text, str):
            raise self._failure("the chat completion has no text")
        if reason == "length":
            raise self._failure(f"the chat completion was cut at {self.settings.answer_tokens} tokens")
        return Completion(text=text, tokens=_total_tokens(data))

    def _failure(self, reason: str) -> EndpointFailed:
        """Return the error for *reason* on one short line, without the key even if the server echoed it."""
        if self.key:
            reason = reason.replace(self.key, "***")
        return EndpointFailed(self.settings.url, " ".join(reason.split())[:_MAX_REASON_CHARS])


def _request_url(url: str) -> str:
    """Return the address of chat completions below *url*, which may already name it."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path.removesuffix(_PATH)}{_PATH}"


async def _read_limited(response: httpx.Response) -> bytes:
    received = bytearray()
    async for chunk in response.aiter_raw():
        received += chunk
        if len(received) > _MAX_BYTES:
            raise ValueError(f"the answer is longer than {_MAX_BYTES} bytes")
    return bytes(received)


def _total_tokens(data: Mapping[str, Any]) -> int:
    usage = data.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else 0


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
