"""The hint that a session was left open, so that the next one can take it up."""

from __future__ import annotations

from datetime import datetime, timedelta

from agent_home.clock import parse_time
from agent_home.home import Home
from agent_home.journal import watermark
from agent_home.transcript import Message, SessionFile, read, sessions

from .piece import neutral

__all__ = ["resume_hint"]

#: Transcripts looked at, those written last first; a home may hold ten thousand.
_CANDIDATES = 20
_QUOTE_CHARS = 160


def resume_hint(home: Home, now: datetime, days: int, exclude: str = "") -> str:
    """Two lines about the latest session whose end was never closed; empty when there is none in *days* days.

    *exclude* is the session that the prompt is for.
    """
    since = now - timedelta(days=days)
    latest: tuple[datetime, SessionFile, list[Message]] | None = None
    for file in _recent(home, since):
        if file.session == exclude:
            continue
        closed = watermark(home, file.session, since=f"{since - timedelta(days=1):%Y-%m-%d}")
        if closed is not None and closed.end >= file.size:
            continue
        messages = [turn.message for turn in read(file.path, closed.end if closed else 0)]
        last = _time(messages[-1].ts) if messages else None
        if last is not None and since <= last <= now and (latest is None or last > latest[0]):
            latest = (last, file, messages)
    return _render(*latest) if latest else ""


def _recent(home: Home, since: datetime) -> list[SessionFile]:
    """The transcripts written last, of those written since *since* at all."""
    stamped = [(file.path.stat().st_mtime, file) for file in sessions(home)]
    stamped = [item for item in stamped if item[0] >= since.timestamp()]
    stamped.sort(key=lambda item: (-item[0], item[1].session))
    return [file for _, file in stamped[:_CANDIDATES]]


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except ValueError:
        return None


def _render(last: datetime, file: SessionFile, messages: list[Message]) -> str:
    said = next((message.content for message in reversed(messages) if message.role == "user"), messages[-1].content)
    quote = " ".join(said.split())
    quote = quote if len(quote) <= _QUOTE_CHARS else quote[:_QUOTE_CHARS].rstrip() + " …"
    return neutral(
        f"# Open session\n\nSession {file.session} of {last:%Y-%m-%d %H:%M} was left open after "
        f"{len(messages)} messages. Last said by the user: «{quote}»\n"
    )
