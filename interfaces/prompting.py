"""Own how every door assembles a prompt: with a searcher for the message, and an event for the log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_home.events.recording import record_event

if TYPE_CHECKING:
    from agent_home.home import Home
    from assembler.prompt import Request
    from assembler.receipt import Receipt

__all__ = ["assembled_prompt", "prompt_for", "record_prompt", "sessions_being_closed"]


def prompt_for(home: Home, request: Request) -> Receipt:
    """Assemble the prompt for *request* with what its message calls to mind, and record that it was made.

    Raises:
        WindowTooSmall, SettingsInvalid, HistoryError: see :func:`assembler.prompt.assemble`.
    """
    receipt = assembled_prompt(home, request)
    if not request.at:
        recall_ms = sum(line.ms for line in receipt.layers.values()) if request.message.strip() else None
        record_prompt(home, request, tokens=receipt.tokens, sha256=receipt.sha256, recall_ms=recall_ms)
    return receipt


def assembled_prompt(home: Home, request: Request) -> Receipt:
    """Assemble the prompt for *request*, for a person who looks at it. Nothing is recorded.

    Raises:
        WindowTooSmall, SettingsInvalid, HistoryError: see :func:`assembler.prompt.assemble`.
    """
    from assembler.prompt import assemble

    request = replace(request, closing=sessions_being_closed(home))
    searcher = None
    if request.message.strip() and not request.at:
        from assembler.recalled.searcher import HomeSearcher

        searcher = HomeSearcher(home)
    return assemble(home, request, searcher)


def sessions_being_closed(home: Home) -> frozenset[str]:
    """Return the sessions that ended, or whose closing was asked for, and that are not closed yet."""
    from .hosts.captured import ending_sessions
    from .promised_closings import left_closings

    return ending_sessions(home) | {closing.session for closing in left_closings(home)}


def record_prompt(
    home: Home, request: Request, *, tokens: int, sha256: str = "", recall_ms: float | None = None
) -> None:
    """Record that somebody got a prompt: how large, for whom, whether for a message, and how long recall took."""
    record_event(
        home, "prompt", session=request.session, tokens=tokens, audience=request.audience,
        message=bool(request.message.strip()), sha256=sha256 or None,
        recall_ms=None if recall_ms is None else round(recall_ms, 1),
    )  # fmt: skip
