"""Import of conversation files into transcripts.

The module finds files, passes their messages to ``agent_home.store.transcript`` one session at a time, and counts the
results. Messages keep their ids, so importing a file again adds nothing.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from .. import clock
from ..home import Home
from ..lease.operation import operation
from ..salt import ensure_salt, read_salt
from ..screening.quarantine import Quarantined
from ..settings import MANIFEST
from ..store import transcript
from ..store.machine_state import drop_expired, hold_home
from . import chat, claude_code, codex, gemini
from .batch import ParsedFile, file_lines, storable

__all__ = [
    "BrokenLine",
    "ImportReport",
    "UnreadableFile",
    "host_messages",
    "import_chat",
    "import_claude_code",
    "import_codex",
    "import_gemini",
    "import_host",
    "import_messages",
    "salt_of",
]

_ACTOR = "import"
#: Reasons for skipping a line of which nothing was recognised.
_UNRECOGNISED = frozenset({"not-json", "not-utf8", "not-an-object", "too-long", "unknown-type"})
#: Reasons for skipping a line that say that it was no message, or one that cannot be read. The other lines have nothing
#: to import: another program's own records, tool results, text that this system injected.
_LOST = _UNRECOGNISED - {"unknown-type"} | {"no-session", "unknown-role", "no-content"}
#: Clocks and time zones differ by less than this.
_CLOCK_TOLERANCE = timedelta(days=1)
#: ``progress(files done, files, messages)``.
ImportProgress = Callable[[int, int, int], None]


def _silent(_done: int, _files: int, _messages: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFile:
    """A file that could not be read, with the reason from the operating system."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLine:
    """A line that is not a JSON object. *line* counts from 1, and *reason* is a key of ``ImportReport.skipped``."""

    path: Path
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """Counts and names of one import.

    *sessions* holds the stored names of the sessions with new messages, in import order. *messages* counts new
    messages, *revised* those of them with an id that was there with other words, *duplicates* those that were already
    stored. *skipped* counts skipped lines by reason. *waiting* counts
    files with a half-written last line. *broken* holds the first lines that are not JSON objects. *undated* counts
    messages whose time could not be read, and *future* holds the addresses of those dated after tomorrow.

    *unusable* holds files in which nothing was recognised. *other_format* holds those of them that the other import
    command can read. A coding assistant's files may have no message. They are unusable only when they are chat files,
    or when no file of the import was recognised.
    """

    files: int = 0
    sessions: tuple[str, ...] = ()
    messages: int = 0
    revised: int = 0
    duplicates: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    dropped: int = 0
    unread: tuple[UnreadableFile, ...] = ()
    unusable: tuple[Path, ...] = ()
    other_format: tuple[Path, ...] = ()
    broken: tuple[BrokenLine, ...] = ()
    undated: int = 0
    future: tuple[str, ...] = ()

    @property
    def lost(self) -> int:
        """Return the number of skipped lines that are broken or hold a message that cannot be read."""
        return sum(count for reason, count in self.skipped.items() if reason in _LOST)


def import_chat(
    home: Home, paths: Sequence[Path], *, now: datetime | None = None, progress: ImportProgress = _silent
) -> ImportReport:
    """Append the messages of neutral chat files. A folder stands for the ``*.jsonl`` files below it.

    Hidden folders and homes below a folder are left out. *progress* is called often with the number of files that are
    done, of all files, and of messages.

    Raises:
        Locked, GuardRefused: see :func:`agent_home.store.transcript.append`. Messages that were appended before
            stay. Importing again continues from there.
    """
    return _import(home, paths, chat.parse, now, progress)


#: The parser of each chat host's session files.
_HOSTS: Mapping[str, Callable[..., ParsedFile]] = {
    "claude-code": claude_code.parse,
    "codex": codex.parse,
    "gemini": gemini.parse,
}


def import_host(
    home: Home, host: str, path: Path, *, session: str, cwd: str = "", now: datetime | None = None
) -> ImportReport:
    """Append the messages of *session* in the session file *path* of a chat host. Errors: see :func:`import_chat`.

    Messages that the file gives to another session are left out, and counted under ``other-session``. *cwd* is the
    session's folder, for a host whose file does not name it.

    Raises:
        KeyError: *host* is unknown.
    """
    parse = _HOSTS[host]

    def parse_session(lines: Iterable[bytes], *, session: str = "", salt: str = "") -> ParsedFile:
        found = parse(lines, session=session, salt=salt)
        own = tuple(replace(message, cwd=message.cwd or cwd) for message in _of_session(found.messages, name))
        left_out = Counter({"other-session": len(found.messages) - len(own)})
        return replace(found, messages=own, skipped=found.skipped + left_out)

    name = storable(session)
    return _import(home, [path], parse_session, now)


def host_messages(host: str, path: Path, session: str) -> tuple[transcript.Message, ...]:
    """Return the messages of *session* in the session file *path* of a chat host, as they stand there, unscreened.

    Raises:
        OSError: the file cannot be read.
    """
    return tuple(_of_session(_HOSTS[host](file_lines(path), session=path.stem).messages, storable(session)))


def _of_session(messages: Iterable[transcript.Message], session: str) -> Iterator[transcript.Message]:
    return (message for message in messages if message.session == session)


def import_codex(
    home: Home, paths: Sequence[Path], *, now: datetime | None = None, progress: ImportProgress = _silent
) -> ImportReport:
    """Append the messages of session files of Codex. Errors are those of :func:`import_chat`."""
    return _import(home, paths, codex.parse, now, progress)


def import_gemini(
    home: Home, paths: Sequence[Path], *, now: datetime | None = None, progress: ImportProgress = _silent
) -> ImportReport:
    """Append the messages of session files of Gemini CLI. Errors are those of :func:`import_chat`."""
    return _import(home, paths, gemini.parse, now, progress)


def import_messages(
    home: Home,
    session: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    now: datetime | None = None,
    items: Callable[[Path | None], Sequence[Mapping[str, Any]]] = lambda _path: (),
) -> ImportReport:
    """Append *rows*, in the keys of the neutral chat format, to the transcript of *session*.

    Rows are stored like lines of a chat file (:mod:`agent_home.imports.chat`). A row with a known id and the same words
    adds nothing. *items* are rows that are no messages (:func:`agent_home.store.transcript.append`).

    Raises:
        Locked, GuardRefused, DocumentInvalid: see :func:`agent_home.store.transcript.append`. Nothing was written.
    """
    lines = (json.dumps({**row, "session": session}).encode() for row in rows)
    with operation(home):
        parsed_file = chat.parse(lines, session=session, salt=salt_of(home))
        appended = transcript.append(home, session, parsed_file.messages, actor=_ACTOR, now=now, items=items)
    last_day = f"{(now or clock.now()) + _CLOCK_TOLERANCE:%Y-%m-%d}"
    return ImportReport(
        sessions=(appended.session,) if appended.added else (), messages=appended.added, revised=appended.revised,
        duplicates=parsed_file.duplicates + appended.duplicates, skipped=parsed_file.skipped,
        redacted=appended.redacted, quarantined=appended.quarantined, dropped=appended.dropped,
        undated=parsed_file.undated,
        future=tuple(message.source for message in parsed_file.messages if message.ts[:10] > last_day),
    )  # fmt: skip


def import_claude_code(
    home: Home, paths: Sequence[Path], *, now: datetime | None = None, progress: ImportProgress = _silent
) -> ImportReport:
    """Append the messages of a coding assistant's session files. Errors are those of :func:`import_chat`."""
    return _import(home, paths, claude_code.parse, now, progress)


def _import(
    home: Home, paths: Sequence[Path], parse: Callable[..., ParsedFile], now: datetime | None,
    progress: ImportProgress = _silent,
) -> ImportReport:  # fmt: skip
    with operation(home):
        return _import_files(home, paths, parse, now, progress)


def _import_files(
    home: Home, paths: Sequence[Path], parse: Callable[..., ParsedFile], now: datetime | None,
    progress: ImportProgress,
) -> ImportReport:  # fmt: skip
    files = _files(paths, own_data=parse is not chat.parse)
    salt = salt_of(home) if files else ""
    unread, unusable, broken = [], [], []
    recognised = False
    sessions: dict[str, None] = {}
    skipped: Counter[str] = Counter()
    messages = revised = duplicates = waiting = redacted = dropped = undated = 0
    future: list[str] = []
    last_day = f"{(now or clock.now()) + _CLOCK_TOLERANCE:%Y-%m-%d}"
    quarantined: list[Quarantined] = []
    for number, path in enumerate(files):
        progress(number, len(files), messages + duplicates)
        try:
            parsed_file = parse(file_lines(path), session=path.stem, salt=salt)
        except OSError as error:
            unread.append(UnreadableFile(path=path, reason=error.strerror or str(error)))
            continue
        if _is_unusable(parsed_file) and (parse is chat.parse or _is_foreign(parsed_file)):
            unusable.append(path)
        else:
            recognised = True
        broken += [BrokenLine(path=path, line=line, reason=reason) for line, reason in parsed_file.broken]
        skipped += parsed_file.skipped
        duplicates += parsed_file.duplicates
        waiting += parsed_file.waiting
        undated += parsed_file.undated
        future += [message.source for message in parsed_file.messages if message.ts[:10] > last_day]
        for session, new_messages in _by_session(parsed_file.messages).items():
            appended = transcript.append(home, session, new_messages, actor=_ACTOR, now=now)
            if appended.added:
                sessions.setdefault(appended.session)
            messages += appended.added
            revised += appended.revised
            duplicates += appended.duplicates
            redacted += appended.redacted
            quarantined += appended.quarantined
            dropped += appended.dropped
            progress(number, len(files), messages + duplicates)
    drop_expired(home, now or clock.now())
    other_format = [path for path in unusable if parse in _OTHER and _has_messages(path, _OTHER[parse])]
    if parse is not chat.parse and recognised:
        unusable = other_format
    return ImportReport(
        files=len(files), sessions=tuple(sessions), messages=messages, revised=revised, duplicates=duplicates,
        skipped=skipped, waiting=waiting, redacted=redacted, quarantined=tuple(quarantined), unread=tuple(unread),
        unusable=tuple(unusable), other_format=tuple(other_format), broken=tuple(broken), dropped=dropped,
        undated=undated, future=tuple(future),
    )  # fmt: skip


def salt_of(home: Home) -> str:
    """Return the salt of this machine for fingerprints. A first import makes it."""
    known = read_salt(home)
    if known:
        return known
    with hold_home(home):
        return ensure_salt(home)


def _is_unusable(parsed_file: ParsedFile) -> bool:
    """Return whether none of the file's lines is a message or a duplicate."""
    return not parsed_file.messages and not parsed_file.duplicates


def _is_foreign(parsed_file: ParsedFile) -> bool:
    """Return whether complete lines were skipped and none of them was recognised."""
    return bool(parsed_file.skipped) and set(parsed_file.skipped) <= _UNRECOGNISED


_OTHER: Mapping[Callable[..., ParsedFile], Callable[..., ParsedFile]] = {
    chat.parse: claude_code.parse,
    claude_code.parse: chat.parse,
}


def _has_messages(path: Path, parse: Callable[..., ParsedFile]) -> bool:
    try:
        return bool(parse(file_lines(path), session=path.stem).messages)
    except OSError:
        return False


def _files(paths: Sequence[Path], *, own_data: bool) -> list[Path]:
    """Return the files of *paths*, each once. Files of a folder are sorted by name.

    Hidden folders and homes below a folder are left out, unless *own_data* says that a program keeps its data there.
    """
    found_files = [
        file
        for path in paths
        for file in ([path] if not path.is_dir() else sorted(_own_files(path) if own_data else _below(path)))
    ]
    return list(dict.fromkeys(file for file in found_files if not file.is_dir()))


def _own_files(folder: Path) -> Iterator[Path]:
    """Yield the files of sessions below the data folder of a host. Gemini CLI called them ``session-*.json`` before."""
    yield from folder.rglob("*.jsonl")
    yield from folder.rglob("session-*.json")


def _below(folder: Path) -> Iterator[Path]:
    """Yield the ``*.jsonl`` files below *folder*, without hidden folders and without homes."""
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and not Path(root, name, MANIFEST).is_file()]
        yield from (Path(root, name) for name in names if name.endswith(".jsonl"))


def _by_session(messages: Iterable[transcript.Message]) -> dict[str, list[transcript.Message]]:
    sessions: dict[str, list[transcript.Message]] = {}
    for message in messages:
        sessions.setdefault(message.session, []).append(message)
    return sessions
