"""Own how a session that is continued is put into a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_home.home import Home
    from assembler.resume_hint import ContinuedSession
    from distill.resume import Resume

__all__ = ["continued_session", "fitting"]


def continued_session(home: Home, session: str) -> ContinuedSession:
    """Return *session* for a prompt that continues it, in at most as many tokens as the setting allows.

    Raises:
        NoSuchSession: if there is no session of that name.
        EmptySession: if the session has no turns.
    """
    from distill.resume import resume as found_in
    from distill.settings import DistillSettings

    return fitting(found_in(home, session), home.manifest.settings("distill", DistillSettings).resume_tokens)


def fitting(found: Resume, most_tokens: int) -> ContinuedSession:
    """Return *found* for a prompt, in at most *most_tokens* tokens."""
    from assembler.resume_hint import ContinuedSession
    from distill.resume import render

    return ContinuedSession(session=found.session, text=lambda tokens: render(found, min(tokens, most_tokens)))
