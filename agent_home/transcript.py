"""Conversations, message by message, as append-only JSON lines: ``sessions/2026/11/<session>.jsonl``.

A transcript is never rewritten. A message is written once; writing one whose id is there already adds nothing. What
a killed writer left half-written at the end is no message, and the next append cuts it off.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from . import clock
from .errors import DocumentInvalid
from .home import Home
from .quarantine import Quarantined

__all__ = ["Appended", "Message", "SessionFile", "Turn", "append", "read", "read_lines", "session_path", "sessions"]

#: A file name may hold 255 bytes; longer session ids are cut and told apart by a hash.
MAX_NAME = 180
_SAFE = "-_. "
_MONTH = re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. *ts* is ISO 8601 or empty; *role* is user, assistant, tool or system; *cwd* the git repository
    that the session worked in, or empty; *origin* who wrote the words: user, agent, tool or web.
    """

    session: str
    id: str
    ts: str = ""
    role: str = "user"
    name: str = ""
    content: str
    cwd: str = ""

    @property
    def source(self) -> str:
        """The address of the message: ``SESSION#MESSAGE-ID``."""
        return f"{self.session}#{self.id}"

    @property
    def origin(self) -> str:
        """Who answers for the words, as the guard counts it."""
        return {"user": "user", "tool": "tool"}.get(self.role, "agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A stored message and the byte range of its line, newline included."""

    message: Message
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A session's transcript: *path* on disk, *size* in bytes."""

    session: str
    path: Path
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What :func:`append` did."""

    session: str
    path: Path
    added: int
    duplicates: int
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()


def append(
    home: Home, session: str, messages: Sequence[Message], *, actor: str, now: datetime | None = None
) -> Appended:
    """Append those *messages* whose ids the transcript does not have yet, in the order given.

    The file is filed under the month of the first message, or of *now* where messages have no times.

    Raises:
        Locked, GuardRefused: see :func:`agent_home.gateway.append_rows`; nothing was written.
        DocumentInvalid: *session* is blank.
    """
    if not session.strip():
        raise DocumentInvalid("sessions/", 0, "no-session", "a session needs a name that is not blank")
    fallback = _new_path(home, session, messages, now or clock.now())
    from .gateway import append_rows  # a third of the time of a prompt, which only reads, would go into loading it

    written = append_rows(
        home,
        lambda: home.relative(session_path(home, session) or fallback),
        lambda: [_row(message) for message in _fresh(session_path(home, session), messages)],
        screened=("content", "name"),
        source="user",
        session=session,
        actor=actor,
        now=now,
    )
    return Appended(
        session=session,
        path=session_path(home, session) or fallback,
        added=written.rows,
        duplicates=len(messages) - written.rows,
        redacted=written.redacted,
        quarantined=written.quarantined,
    )


def read(path: Path, start: int = 0) -> list[Turn]:
    """The messages from byte *start* on, in order. Lines that are no message are passed over."""
    return [Turn(message=m, start=a, end=b) for m, a, b in read_lines(path, start) if m is not None]


def read_lines(path: Path, start: int = 0) -> Iterator[tuple[Message | None, int, int]]:
    """Every whole line from byte *start* on: its message or ``None``, and its byte range.

    *start* must be where a line begins. The last line is left out while it has no newline.
    """
    with path.open("rb") as file:
        file.seek(start)
        at = start
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield _message(line), at, at + len(line)
            at += len(line)


def session_path(home: Home, session: str) -> Path | None:
    """Where the session's transcript lies; ``None`` when there is none."""
    name = _file_name(session)
    for year in sorted(_folders(home.sessions), reverse=True):
        for month in sorted(_folders(year), reverse=True):
            if (month / name).is_file():
                return month / name
    return None


def sessions(home: Home) -> list[SessionFile]:
    """Every session, ordered by month and then by name."""
    paths = sorted(home.sessions.glob("*/*/*.jsonl"))
    return [SessionFile(session=_session_of(path), path=path, size=path.stat().st_size) for path in paths]


def _fresh(path: Path | None, messages: Sequence[Message]) -> list[Message]:
    """Those of *messages* whose ids neither the transcript nor an earlier one of them has."""
    known = {turn.message.id for turn in read(path)} if path else set()
    fresh = []
    for message in messages:
        if message.id not in known:
            known.add(message.id)
            fresh.append(message)
    return fresh


def _row(message: Message) -> dict[str, Any]:
    row = {
        "session": message.session, "id": message.id, "ts": message.ts, "role": message.role, "name": message.name,
        "content": message.content, "source": message.origin,
    }  # fmt: skip
    return {**row, "cwd": message.cwd} if message.cwd else row


def _message(line: bytes) -> Message | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("content"), str):
        return None
    texts = {key: str(row.get(key) or "") for key in ("session", "id", "ts", "role", "name", "content", "cwd")}
    return Message(**texts) if texts["session"] and texts["id"] else None


def _new_path(home: Home, session: str, messages: Sequence[Message], now: datetime) -> Path:
    dated = next((match for message in messages if (match := _MONTH.match(message.ts))), None)
    year, month = (dated["year"], dated["month"]) if dated else (f"{now:%Y}", f"{now:%m}")
    return home.sessions / year / month / _file_name(session)


def _file_name(session: str) -> str:
    """A file name for any session id; only ids over the length limit cannot be read back from it."""
    name = quote(session, safe=_SAFE, errors="surrogatepass")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > MAX_NAME:
        digest = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        name = f"{name[:MAX_NAME]}~{digest}"
    return f"{name}.jsonl"


def _session_of(path: Path) -> str:
    """The session id: from the file's name, or from its first message where the name had to be cut."""
    stem = path.name.removesuffix(".jsonl")
    if "~" in stem:
        first = next((m for m, _, _ in read_lines(path) if m is not None), None)
        return first.session if first else stem
    return unquote(stem, errors="surrogatepass")


def _folders(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
