"""Request completions within the token budgets of a session and of a day."""

from __future__ import annotations

from datetime import datetime

from agent_home.home import Home
from agent_home.tokens import count_tokens

from ..errors import EndpointFailed
from .endpoint import Completion, Endpoint
from .token_budget import adjust_tokens, reserve_tokens

__all__ = ["request_completion"]


def request_completion(
    home: Home, instructions: str, prompt: str, endpoint: Endpoint, now: datetime, *, spent: int | None = None
) -> Completion:
    """Request one completion and return it with its tokens.

    *spent* are the tokens that the session's closing has spent so far. ``None`` sets no limit but the day's.

    Raises:
        EndpointFailed: a budget is spent, or there is no completion.
        Locked, OSError: the ledger cannot be written. Nothing was sent.
    """
    endpoint.check()
    settings = endpoint.settings
    asked = count_tokens(instructions) + count_tokens(prompt)
    reserved = asked + settings.answer_tokens
    if spent is not None and spent + reserved > settings.session_tokens:
        raise EndpointFailed(settings.place, f"the {settings.session_tokens} tokens of a session are spent")
    if not reserve_tokens(home, now, reserved, limit=settings.daily_tokens):
        raise EndpointFailed(
            settings.place, f"the {settings.daily_tokens} tokens of the day are spent, nothing was sent"
        )
    # After a failure the reservation stays spent, because the server may have charged for it.
    completion = endpoint.complete(instructions, prompt)
    tokens = completion.tokens or asked + count_tokens(completion.text)
    adjust_tokens(home, now, tokens - reserved)
    return Completion(text=completion.text, tokens=tokens)
