"""Own how every door assembles a prompt: with a searcher for the message, and an event for the log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_home.events.recording import record_event

if TYPE_CHECKING:
    from agent_home.home import Home
    from assembler.prompt import Request
    from assembler.receipt import Receipt

__all__ = ["prompt_for", "record_prompt", "sessions_being_closed"]


def prompt_for(home: Home, request: Request) -> Receipt:
    """Assemble the prompt for *request* with what its message calls to mind, and record that it was made.

    Raises:
        WindowTooSmall, SettingsInvalid, HistoryError: see :func:`assembler.prompt.assemble`.
    """
    from assembler.prompt import assemble

    request = replace(request, closing=sessions_being_closed(home))
    searcher = None
    if request.message.strip() and not request.at:
        from assembler.recalled.searcher import HomeSearcher

        searcher = HomeSearcher(home)
    receipt = assemble(home, request, searcher)
    if not request.at:
        record_prompt(home, request, tokens=receipt.tokens, sha256=receipt.sha256)
    return receipt


def sessions_being_closed(home: Home) -> frozenset[str]:
    """Return the sessions that ended, or whose closing was asked for, and that are not closed yet."""
    from .hosts.captured import ending_sessions
    from .promised_closings import left_closings

    return ending_sessions(home) | {closing.session for closing in left_closings(home)}


def record_prompt(home: Home, request: Request, *, tokens: int, sha256: str = "") -> None:
    """Record that somebody got a prompt: how large, for whom, and whether for a message."""
    record_event(
        home, "prompt", session=request.session, tokens=tokens, audience=request.audience,
        message=bool(request.message.strip()), sha256=sha256 or None,
    )  # fmt: skip
