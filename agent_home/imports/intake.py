"""Import of conversation files into transcripts.

The module finds files, passes their messages to ``agent_home.store.transcript`` one session at a time, and counts the
results. Messages keep their ids, so importing a file again adds nothing.
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
from .batch import ParsedFile, file_lines

__all__ = ["ImportReport", "UnreadableFile", "import_chat", "import_claude_code"]

_ACTOR = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFile:
    """A file that could not be read, with the reason from the operating system."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """Counts and names of one import.

    *sessions* holds the stored names of the sessions with new messages, in import order. *messages* counts new
    messages, *duplicates* those that were already stored. *skipped* counts skipped lines by reason. *waiting* counts
    files with a half-written last line. *unusable* holds chat files of which every line was skipped. A coding
    assistant's files without a message are normal and are not listed.
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
    unread: tuple[UnreadableFile, ...] = ()
    unusable: tuple[Path, ...] = ()


def import_chat(home: Home, paths: Sequence[Path], *, now: datetime | None = None) -> ImportReport:
    """Append the messages of neutral chat files. A folder stands for the ``*.jsonl`` files below it.

    Raises:
        Locked, GuardRefused: see :func:`agent_home.store.transcript.append`. Messages that were appended before
            stay. Importing again continues from there.
    """
    return _import(home, paths, chat.parse, now)


def import_claude_code(home: Home, paths: Sequence[Path], *, now: datetime | None = None) -> ImportReport:
    """Append the messages of a coding assistant's session files. Errors are those of :func:`import_chat`."""
    return _import(home, paths, claude_code.parse, now)


def _import(home: Home, paths: Sequence[Path], parse: Callable[..., ParsedFile], now: datetime | None) -> ImportReport:
    files, unread, unusable = _files(paths), [], []
    sessions: dict[str, None] = {}
    skipped: Counter[str] = Counter()
    messages = duplicates = waiting = redacted = dropped = 0
    quarantined: list[Quarantined] = []
    for path in files:
        try:
            parsed_file = parse(file_lines(path), session=path.stem)
        except OSError as error:
            unread.append(UnreadableFile(path=path, reason=error.strerror or str(error)))
            continue
        if parse is chat.parse and _is_unusable(parsed_file):
            unusable.append(path)
        skipped += parsed_file.skipped
        duplicates += parsed_file.duplicates
        waiting += parsed_file.waiting
        for session, new_messages in _by_session(parsed_file.messages).items():
            appended = transcript.append(home, session, new_messages, actor=_ACTOR, now=now)
            if appended.added:
                sessions.setdefault(appended.session)
            messages += appended.added
            duplicates += appended.duplicates
            redacted += appended.redacted
            quarantined += appended.quarantined
            dropped += appended.dropped
    return ImportReport(
        files=len(files), sessions=tuple(sessions), messages=messages, duplicates=duplicates, skipped=skipped,
        waiting=waiting, redacted=redacted, quarantined=tuple(quarantined), unread=tuple(unread),
        unusable=tuple(unusable), dropped=dropped,
    )  # fmt: skip


def _is_unusable(parsed_file: ParsedFile) -> bool:
    """Return whether the file has lines and none of them is a message or a duplicate."""
    return not parsed_file.messages and not parsed_file.duplicates and bool(parsed_file.skipped or parsed_file.waiting)


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files of *paths*, each once. Files of a folder are sorted by name."""
    found_files = [file for path in paths for file in (sorted(path.rglob("*.jsonl")) if path.is_dir() else [path])]
    return list(dict.fromkeys(file for file in found_files if not file.is_dir()))


def _by_session(messages: Iterable[transcript.Message]) -> dict[str, list[transcript.Message]]:
    sessions: dict[str, list[transcript.Message]] = {}
    for message in messages:
        sessions.setdefault(message.session, []).append(message)
    return sessions
