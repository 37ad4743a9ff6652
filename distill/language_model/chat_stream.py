"""Stream a chat with the language model of an address, piece by piece.

The limits are those of ``distill.language_model.endpoint``: one deadline from the request to the last byte, a largest
size, no redirect, no proxy from the environment, verified certificates.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .endpoint import Endpoint, request_url

__all__ = ["stream_chat"]

#: Largest answer in bytes, as it comes: each piece stands in a row of JSON.
_MAX_BYTES = 8 << 20
_EVENT, _END = "data:", "[DONE]"


def stream_chat(endpoint: Endpoint, instructions: str, turns: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield the answer to *turns*, each with ``role`` and ``content``. A server that does not stream gives one piece.

    Raises:
        EndpointFailed: see :meth:`~distill.language_model.endpoint.Endpoint.complete`. Pieces may have come before.
    """
    import httpx

    endpoint.check()
    settings = endpoint.settings
    system = [{"role": "system", "content": instructions}] if instructions else []
    body = {
        "model": settings.model, "max_tokens": settings.answer_tokens, "stream": True,
        "messages": [*system, *map(dict, turns)],
    }  # fmt: skip
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": "identity"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    deadline = time.monotonic() + settings.timeout_s
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    try:
        with (
            httpx.Client(trust_env=False, follow_redirects=False, timeout=settings.timeout_s) as client,
            client.stream("POST", request_url(settings), content=content, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise endpoint.failure(f"status {response.status_code}, expected 200")
            lines = _lines(endpoint, response, deadline)
            if response.headers.get("content-type", "").startswith("application/json"):
                yield endpoint.parsed("\n".join(lines).encode()).text
            else:
                yield from _pieces(endpoint, lines)
    except httpx.TimeoutException as error:
        raise _late(endpoint) from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise endpoint.failure(f"{type(error).__name__}: {error}") from error


def _lines(endpoint: Endpoint, response: Any, deadline: float) -> Iterator[str]:
    """Yield the lines of the answer within its limits. A server that drips bytes ends at the deadline."""
    received, rest = 0, b""
    for chunk in response.iter_raw():
        received += len(chunk)
        if time.monotonic() > deadline:
            raise _late(endpoint)
        if received > _MAX_BYTES:
            raise endpoint.failure(f"the answer is longer than {_MAX_BYTES} bytes")
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode("utf-8", "replace").rstrip("\r") for line in whole)
    if rest:
        yield rest.decode("utf-8", "replace")


def _pieces(endpoint: Endpoint, lines: Iterator[str]) -> Iterator[str]:
    """Yield the texts of the events. An answer that ends without its mark was broken off."""
    for line in lines:
        if not line.startswith(_EVENT):
            continue
        data = line.removeprefix(_EVENT).strip()
        if data == _END:
            return
        try:
            choices = json.loads(data).get("choices") or [{}]
            piece, reason = (choices[0].get("delta") or {}).get("content"), choices[0].get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise endpoint.failure("an event of the answer is no part of a chat completion") from error
        if isinstance(piece, str) and piece:
            yield piece
        if reason == "length":
            raise endpoint.failure(f"the answer was cut at {endpoint.settings.answer_tokens} tokens")
    raise endpoint.failure("the answer was broken off")


def _late(endpoint: Endpoint) -> Exception:
    return endpoint.failure(f"no complete answer within {endpoint.settings.timeout_s:g} s")
