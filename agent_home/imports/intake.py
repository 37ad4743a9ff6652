"""Files of conversations into transcripts.

Reading is the parsers', writing is ``agent_home.store.transcript``'s; here files are found, handed from one to the
other a session at a time, and what happened is added up. Importing again adds nothing: messages keep their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..home import Home
from ..screening.quarantine import Quarantined
from ..store import transcript
from . import chat, claude_code
from .batch import Parsed, file_lines

__all__ = ["Imported", "Unread", "import_chat", "import_claude_code"]

_ACTOR = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file that could not be read, and what the system said."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did.

    *sessions* names the sessions that gained messages, as they are stored and in the order met; *messages* counts
    what was added, *duplicates* what was there already; *skipped* counts lines left out, by reason; *waiting* counts
    files whose last line is half-written. *unusable* are chat files of which every line was left out; in a coding
    assistant's folder, a file without a message is nothing unusual.
    """

    files: int = 0
    sessions: tuple[str, ...] = ()
    messages: int = 0
    duplicates: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    dropped: int = 0
    unread: tuple[Unread, ...] = ()
    unusable: tuple[Path, ...] = ()


def import_chat(home: Home, paths: Sequence[Path], *, now: datetime | None = None) -> Imported:
    """Append the messages of neutral chat files; a folder stands for the ``*.jsonl`` files below it.

    Raises:
        Locked, GuardRefused: see :func:`agent_home.store.transcript.append`. What was appended before stays; importing
            again goes on from there.
    """
    return _import(home, paths, chat.parse, now)


def import_claude_code(home: Home, paths: Sequence[Path], *, now: datetime | None = None) -> Imported:
    """The same for a coding assistant's session files."""
    return _import(home, paths, claude_code.parse, now)


def _import(home: Home, paths: Sequence[Path], parse: Callable[..., Parsed], now: datetime | None) -> Imported:
    files, unread, unusable = _files(paths), [], []
    sessions: dict[str, None] = {}
    skipped: Counter[str] = Counter()
    messages = duplicates = waiting = redacted = dropped = 0
    quarantined: list[Quarantined] = []
    for path in files:
        try:
            parsed = parse(file_lines(path), session=path.stem)
        except OSError as error:
            unread.append(Unread(path=path, reason=error.strerror or str(error)))
            continue
        if parse is chat.parse and _is_unusable(parsed):
            unusable.append(path)
        skipped += parsed.skipped
        duplicates += parsed.duplicates
        waiting += parsed.waiting
        for session, said in _by_session(parsed.messages).items():
            appended = transcript.append(home, session, said, actor=_ACTOR, now=now)
            if appended.added:
                sessions.setdefault(appended.session)
            messages += appended.added
            duplicates += appended.duplicates
            redacted += appended.redacted
            quarantined += appended.quarantined
            dropped += appended.dropped
    return Imported(
        files=len(files), sessions=tuple(sessions), messages=messages, duplicates=duplicates, skipped=skipped,
        waiting=waiting, redacted=redacted, quarantined=tuple(quarantined), unread=tuple(unread),
        unusable=tuple(unusable), dropped=dropped,
    )  # fmt: skip


def _is_unusable(parsed: Parsed) -> bool:
    """Whether there are lines, and none of them is a message or was one before."""
    return not parsed.messages and not parsed.duplicates and bool(parsed.skipped or parsed.waiting)


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files meant, each once; those of a folder in the order of their names."""
    found = [file for path in paths for file in (sorted(path.rglob("*.jsonl")) if path.is_dir() else [path])]
    return list(dict.fromkeys(file for file in found if not file.is_dir()))


def _by_session(messages: Iterable[transcript.Message]) -> dict[str, list[transcript.Message]]:
    sessions: dict[str, list[transcript.Message]] = {}
    for message in messages:
        sessions.setdefault(message.session, []).append(message)
    return sessions
