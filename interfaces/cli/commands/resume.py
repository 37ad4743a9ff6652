"""``memory resume``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..frame import Frame, home_command

if TYPE_CHECKING:
    from agent_home.home import Home
    from assembler.resume_hint import Continued
    from distill.resume import Resume

__all__ = ["continued_session", "resume"]


@home_command("resume")
@click.argument("session")
@click.option("--tokens", default=0, metavar="N", help="At most so many tokens, instead of the setting (600).")
def resume(frame: Frame, session: str, tokens: int) -> None:
    """Say what SESSION came to, so that it can be continued without being replayed.

    What was asked, found out, decided and left open, the files and commits that were touched, and the last turns, by
    rules alone: the same transcript gives the same text. It is fenced as data, as `memory prompt --resume SESSION` puts
    it into a prompt. --json has every line with its turn, also those that the text has no room for. Nothing is changed.
    """
    from agent_home.tokens import count_tokens
    from assembler.resume_hint import fenced
    from distill.resume import resume as found_in
    from distill.settings import DistillSettings

    if tokens < 0:
        raise click.UsageError("--tokens is a number of tokens, 1 or more")
    home = frame.home
    room = tokens or home.manifest.settings("distill", DistillSettings).resume_tokens
    found = found_in(home, session)
    text = fenced(_continued(found, room), room, count_tokens)
    data = {**found.as_dict(), "text": text, "tokens": count_tokens(text)}
    frame.show(data, [text.rstrip("\n") or f"no room for {found.session} in {room} tokens; 100 are enough"])


def continued_session(home: Home, session: str) -> Continued:
    """*session* as a prompt continues it: in as many tokens as the setting says, or fewer.

    Raises:
        NoSuchSession, EmptySession: there is nothing of that name, or nothing in it.
    """
    from distill.resume import resume as found_in
    from distill.settings import DistillSettings

    return _continued(found_in(home, session), home.manifest.settings("distill", DistillSettings).resume_tokens)


def _continued(found: Resume, most_tokens: int) -> Continued:
    from assembler.resume_hint import Continued
    from distill.resume import render

    return Continued(session=found.session, text=lambda tokens: render(found, min(tokens, most_tokens)))
