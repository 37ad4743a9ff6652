"""Conversations, message by message, as append-only JSON lines: ``sessions/2026/11/<session>.jsonl``.

A transcript is never rewritten. Writing a message that is there already adds nothing. A message whose id is there with
other words is a revision. It is appended under an id of its own, ``ID~`` and eight digits of its content, so that the
earlier words stay too. A half-written last line of a killed writer is no message, and the next append cuts it off.

A chat in which people change and delete what they wrote appends a row that withdraws messages (:func:`withdrawal`).
Readers leave them out: closings, the index, prompts. The words stay in the file until ``memory forget``.

The names of sessions and messages stand in file names, addresses, prompts and commits, where nothing screens them
later. A name that the guard would change, or that is no short single line, is replaced before it is stored.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from guard.lazy_regex import lazy_regex

from .. import clock, storage
from ..errors import DocumentInvalid, GuardRefused
from ..home import Home, is_text
from ..salt import read_salt
from ..screening.quarantine import Quarantined
from ..screening.service import ScreeningService
from ..visible import ADDRESS_MARKS

__all__ = [
    "AppendedMessages",
    "Message",
    "SessionFile",
    "Turn",
    "Withdrawal",
    "append",
    "count",
    "ends_line",
    "read",
    "read_items",
    "read_lines",
    "session_name",
    "session_path",
    "sessions",
    "whole_source",
    "withdrawal",
    "withdrawals",
]

#: A file name may hold 255 bytes. Longer session ids are cut, and a hash keeps them distinct.
MAX_NAME = 180
#: A longer session or message id is replaced: every source, prompt and commit repeats it.
MAX_ID_CHARS = 200
_MAX_CWD_CHARS = 4096
#: Control characters, and characters that some reader takes for the end of a line.
_NOT_ONE_LINE = lazy_regex(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: Border between the names of a path, on any system.
_PATH_BORDER = lazy_regex(r"[/\\]")
_MAX_STAND_INS = 20  # one in a hundred is refused at most, unless a rule matches everything
_SAFE = "-_. "
#: Keys of a row that are left out where they are empty.
_OPTIONAL = ("cwd", "account", "channel", "heard")
_KEYS = ("session", "id", "ts", "role", "name", "content", *_OPTIONAL)
#: Key of a row that withdraws messages, and its bytes in a line.
_WITHDRAWS = "withdraws"
_WITHDRAWS_BYTES = b'"withdraws":'
#: What an import adds to the id of a message for the parts that it takes out of it (``agent_home.imports.batch``).
_PART = lazy_regex(r":(?:wrapped|pasted)\d*\Z")
#: Names of withdrawn messages, which nothing screens.
_PLAIN_ID = lazy_regex(r"[A-Za-z0-9.-]{1,80}")
_MONTH = lazy_regex(r"(?P<year>\d{4})-(?P<month>\d{2})-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. *ts* is ISO 8601 or empty. *role* is user, participant, assistant, tool or system.

    A transcript has the role that the host gave. ``agent_home.store.speakers`` tells the owner from participants.
    *account* is the id of the speaker's account, which nobody chooses like a *name*. *channel* is where they speak.
    *cwd* is the git repository that the session worked in. *heard* is the fingerprint of what tools and pages said
    before this message (``agent_home.store.fingerprints``). Each of these may be empty.
    """

    session: str
    id: str
    ts: str = ""
    role: str = "user"
    name: str = ""
    content: str
    cwd: str = ""
    account: str = ""
    channel: str = ""
    heard: str = ""

    @property
    def source(self) -> str:
        """The address of the message: ``SESSION#MESSAGE-ID``."""
        return f"{self.session}#{self.id}"

    @property
    def origin(self) -> str:
        """Author of the words to the guard: user, participant, tool or agent."""
        return self.role if self.role in {"user", "participant", "tool"} else "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A stored message and the byte range of its line, newline included."""

    message: Message
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """The *ids* of messages that do not stand any more, all versions of the message *base*.

    *at* is the time of the change as the chat gives it. *deleted* tells a deletion from an edit.
    """

    ids: tuple[str, ...]
    base: str
    at: str
    deleted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A session's transcript: *name* in *folder*, *size* in bytes, and when it was written."""

    session: str
    folder: str
    name: str
    size: int
    mtime_ns: int

    @property
    def path(self) -> Path:
        """The transcript's path. It is made when it is asked for: most of thousands never are."""
        return Path(self.folder, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedMessages:
    """Result of :func:`append`. *session* is the stored name, see :func:`session_name`.

    *added* includes the *revised* messages: those whose ids were there with other words. *dropped* counts texts that
    the guard holds back and that a person had rejected already.
    """

    session: str
    path: Path
    added: int
    revised: int
    duplicates: int
    redacted: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    dropped: int = 0


def append(
    home: Home,
    session: str,
    messages: Sequence[Message],
    *,
    actor: str,
    now: datetime | None = None,
    items: Callable[[Path | None], Sequence[Mapping[str, Any]]] = lambda _path: (),
) -> AppendedMessages:
    """Append those *messages* that the transcript does not have yet, in the order given.

    *items* gives rows that are no messages, for a framework that keeps a conversation in a form of its own. They are
    appended behind the messages in the same write. It is called under the lock with the path of the transcript, which
    may be absent. The strings below the key ``item`` of a row are screened.

    Words are compared by digests under the salt of this machine, because the guard may have changed what is stored. A
    row without a digest counts as equal.

    The file is filed under the month of the first message, or of *now* where messages have no times. Sessions and
    messages are stored under safe names (:func:`session_name`). A *ts* that is no time becomes empty, and so does a
    *cwd* that the guard would change, as a whole or in one of its names.

    Raises:
        Locked, GuardRefused: see :func:`agent_home.store.gateway.append_rows`. Nothing was written.
        DocumentInvalid: *session* is blank.
    """
    if not session.strip():
        raise DocumentInvalid("sessions/", 0, "no-session", "a session needs a name that is not blank")
    session = session_name(home, session)
    messages = _safe(home, messages)
    fallback = _new_path(home, session, messages, now or clock.now())
    from .gateway import append_rows  # loading it would take a third of the time of a prompt, which only reads

    revised: list[str] = []
    added: list[int] = []

    def rows() -> list[dict[str, Any]]:
        salt = read_salt(home)
        path = _path_of(home, session)
        fresh, again = _fresh(home, path, messages, salt)
        revised.extend(again)
        added.append(len(fresh))
        kept = [{"session": session, **row} for row in items(path)]
        return [*(_row(message, _said(message, salt)) for message in fresh), *kept]

    written = append_rows(
        home,
        lambda: home.relative(_path_of(home, session) or fallback),
        rows,
        screened=("content", "name", "item"),
        source="user",
        session=session,
        actor=actor,
        now=now,
    )
    return AppendedMessages(
        session=session, path=_path_of(home, session) or fallback, added=added[0], revised=len(revised),
        duplicates=len(messages) - added[0], redacted=written.redacted, quarantined=written.quarantined,
        dropped=written.dropped,
    )  # fmt: skip


def read(path: Path, start: int = 0) -> list[Turn]:
    """Return the messages from byte *start* on, in order. Invalid lines and withdrawn messages are skipped."""
    return [Turn(message=m, start=a, end=b) for m, a, b in read_lines(path, start) if m is not None]


def read_lines(path: Path, start: int = 0, *, withdrawn_too: bool = False) -> Iterator[tuple[Message | None, int, int]]:
    """Yield every whole line from byte *start* on: its message or ``None``, and its byte range.

    *start* must be the start of a line. The last line is left out while it has no newline. A withdrawn message is
    ``None``, unless *withdrawn_too* asks for all that the file holds.
    """
    gone = frozenset() if withdrawn_too else frozenset(name for row in withdrawals(path) for name in row.ids)
    with storage.open_file(path) as file:
        file.seek(start)
        at = start
        for line in file:
            if not line.endswith(b"\n"):
                return
            message = _message(line)
            if message is not None and gone and (message.id in gone or whole_source(message.id) in gone):
                message = None
            yield message, at, at + len(line)
            at += len(line)


def withdrawal(row: Withdrawal) -> dict[str, Any]:
    """Return the row that withdraws messages, for the *items* of :func:`append`. It may come before the messages.

    Raises:
        ValueError: an id or the time is not of the letters, digits and marks that need no screening.
    """
    for text in (*row.ids, row.base, row.at):
        if not _PLAIN_ID.fullmatch(text):
            raise ValueError(
                f"{text!r} cannot stand in a row that withdraws messages. Use letters, digits, '-' and '.'"
            )
    return {_WITHDRAWS: list(row.ids), "base": row.base, "at": row.at, "deleted": row.deleted}


def whole_source(source: str) -> str:
    """Return the id or address of the message from which an import took the part *source*, or *source* itself.

    >>> whole_source("s#m-1:pasted"), whole_source("s#m-1")
    ('s#m-1', 's#m-1')
    """
    return _PART.sub("", source)


def withdrawals(path: Path) -> list[Withdrawal]:
    """Return the rows of the transcript that withdraw messages, in order."""
    found = []
    with storage.open_file(path) as file:
        for line in file:
            if _WITHDRAWS_BYTES not in line or not line.endswith(b"\n"):
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            ids = row.get(_WITHDRAWS) if isinstance(row, dict) and "content" not in row else None
            if isinstance(ids, list):
                found.append(
                    Withdrawal(
                        ids=tuple(map(str, ids)), base=str(row.get("base", "")), at=str(row.get("at", "")),
                        deleted=row.get("deleted") is True,
                    )
                )  # fmt: skip
    return found


def ends_line(path: Path, at: int) -> bool:
    """Return whether the file has a line that ends at byte *at*, or *at* is its beginning."""
    if at == 0:
        return True
    with storage.open_file(path) as file:
        file.seek(at - 1)
        return file.read(1) == b"\n"


def read_items(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole rows that are no messages, as :func:`append` got them and the guard left them, in order."""
    with storage.open_file(path) as file:
        for line in file:
            if line.endswith(b"\n") and _message(line) is None:
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(row, dict):
                    yield row


def session_name(home: Home, session: str) -> str:
    """Return the stored name of *session*: itself, or a stable ``s-`` and twelve hexadecimal digits.

    Raises:
        GuardRefused: the guard cannot run.
    """
    if _path_of(home, session) is not None:  # forgetting and earlier versions give names that no new session gets
        return session
    return _name(home, session, "s", within_lines=True)


def session_path(home: Home, session: str) -> Path | None:
    """Return the path of the session's transcript, or ``None``. Both its own and its stored name are accepted.

    Raises:
        GuardRefused: the guard cannot run, so that the stored name is not known.
    """
    return _path_of(home, session_name(home, session))


def _path_of(home: Home, name: str) -> Path | None:
    name = _file_name(name)
    for year in sorted(_folders(home.sessions), reverse=True):
        for month in sorted(_folders(year), reverse=True):
            if (month / name).is_file():
                return month / name
    return None


def sessions(home: Home, since: str = "") -> list[SessionFile]:
    """Return every session that began in the month *since* (``2026/11``) or later, ordered by month and then by name.

    Only regular files whose names are UTF-8 count. ``memory check`` names the others.
    """
    months = sorted(month for year in _folders(home.sessions) for month in _folders(year))
    folders = (month for month in months if f"{month.parent.name}/{month.name}" >= since)
    return [file for folder in folders for file in _transcripts(str(folder))]


def count(home: Home) -> int:
    """Count the transcripts. Where :func:`sessions` leaves out a folder that it cannot read, this is an error.

    Raises:
        OSError: the first folder that cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise error

    folders = os.walk(home.sessions, onerror=refuse)
    return sum(name.endswith(".jsonl") for _, _, names in folders for name in names)


def _fresh(home: Home, path: Path | None, messages: Sequence[Message], salt: str) -> tuple[list[Message], list[str]]:
    """Return those of *messages* that neither the transcript nor an earlier one of them has, and the revised ids.

    A revision stands in the first list under its own id.
    """
    known = _digests(path) if path else {}
    fresh, revised = [], []
    for message in messages:
        said = _said(message, salt)
        if message.id in known and known[message.id] not in {"", said}:
            revised_id = f"{message.id}~{_content_digest(message.content)}"
            revision = replace(message, id=_name(home, revised_id, "m", within_lines=True))
            if revision.id in known:
                continue
            revised.append(message.id)
            message = revision  # noqa: PLW2901
        if message.id not in known:
            known[message.id] = said
            fresh.append(message)
    return fresh, revised


def _digests(path: Path) -> dict[str, str]:
    """Return the digest of the words of each message, by its id. It is empty where the row has none."""
    found: dict[str, str] = {}
    with storage.open_file(path) as file:
        for line in file:
            if line.endswith(b"\n") and (message := _message(line)) is not None:
                said = json.loads(line).get("said")
                found[message.id] = said if isinstance(said, str) else ""
    return found


def _said(message: Message, salt: str) -> str:
    """Return the digest of the words of *message*. Without the salt nobody can confirm a guess by it."""
    words = " ".join(message.content.split()).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(words, digest_size=8, key=salt.encode()[:64]).hexdigest()


def _content_digest(content: str) -> str:
    """Return the suffix that `memory import chat` gives to a revision within one file, too."""
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()[:8]


def _safe(home: Home, messages: Sequence[Message]) -> list[Message]:
    """Return *messages* with safe names, times and folders."""
    sessions = {name: session_name(home, name) for name in dict.fromkeys(message.session for message in messages)}
    folders = {name: _folder(home, name) for name in dict.fromkeys(message.cwd for message in messages)}
    places = dict.fromkeys(place for message in messages for place in (message.account, message.channel))
    named = {place: _name(home, place, "p") for place in places}
    return [
        replace(
            message, session=sessions[message.session], id=_name(home, message.id, "m", within_lines=True),
            ts=message.ts if _is_time(message.ts) else "", cwd=folders[message.cwd],
            account=named[message.account], channel=named[message.channel],
        )
        for message in messages
    ]  # fmt: skip


def _name(home: Home, name: str, prefix: str, *, within_lines: bool = False) -> str:
    """Return *name*, or its stand-in: the same each time, and left alone when it is named again.

    A name that stands *within lines* of prompts and logs has no mark that could end its part of the line. A comma ends
    a source of an entry.
    """
    marked = within_lines and ("," in name or ADDRESS_MARKS.search(name))
    if len(name) <= MAX_ID_CHARS and not marked and _passes(home, name):
        return name
    number, stand_in = 0, ""
    while not stand_in or not _passes(home, stand_in):  # twelve digits may look like a telephone number
        seed = f"{number}\0{name}" if number else name
        digest = hashlib.blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        number, stand_in = number + 1, f"{prefix}-{digest}"
        if number > _MAX_STAND_INS:
            raise GuardRefused("sessions/", "its rules pass no name at all. Correct `rules` in [guard]")
    return stand_in


def _folder(home: Home, cwd: str) -> str:
    """Return *cwd*, or nothing where the guard would change it or one of its names.

    Each name is judged alone too: rules for numbers take a path for code and pass it.
    """
    if len(cwd) > _MAX_CWD_CHARS:
        return ""
    return cwd if all(_passes(home, text) for text in dict.fromkeys((cwd, *_PATH_BORDER.split(cwd)))) else ""


def _passes(home: Home, text: str) -> bool:
    """Return whether *text* is one line that the guard lets into a transcript as it is."""
    if not text:
        return True
    if _NOT_ONE_LINE.search(text):
        return False
    return ScreeningService(home).allows("sessions/name.jsonl", text, "user")


def _is_time(ts: str) -> bool:
    try:
        clock.parse_time(ts)
    except ValueError:
        return False
    return True


def _row(message: Message, said: str) -> dict[str, Any]:
    row = {
        "session": message.session, "id": message.id, "ts": message.ts, "role": message.role, "name": message.name,
        "content": message.content, "source": message.origin, "said": said,
    }  # fmt: skip
    return {**row, **{key: value for key in _OPTIONAL if (value := getattr(message, key))}}


def _message(line: bytes) -> Message | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("content"), str):
        return None
    texts = {key: str(row.get(key) or "") for key in _KEYS}
    return Message(**texts) if texts["session"] and texts["id"] else None


def _new_path(home: Home, session: str, messages: Sequence[Message], now: datetime) -> Path:
    dated = next((match for message in messages if (match := _MONTH.match(message.ts))), None)
    year, month = (dated["year"], dated["month"]) if dated else (f"{now:%Y}", f"{now:%m}")
    return home.sessions / year / month / _file_name(session)


def _file_name(session: str) -> str:
    """Return a file name for any session id. Only ids over the length limit cannot be read back from it."""
    name = quote(session, safe=_SAFE, errors="surrogatepass")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > MAX_NAME:
        digest = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        name = f"{name[:MAX_NAME]}~{digest}"
    return f"{name}.jsonl"


def _transcripts(folder: str) -> list[SessionFile]:
    """Return the transcripts of one month, ordered by name. The cost is one stat for each, and no object of paths."""
    found = []
    with suppress(PermissionError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".jsonl") and is_text(name) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    status = entry.stat()
                    found.append((name, status.st_size, status.st_mtime_ns))
    return [
        SessionFile(session=_session_of(folder, name), folder=folder, name=name, size=size, mtime_ns=mtime_ns)
        for name, size, mtime_ns in sorted(found)
    ]


def _session_of(folder: str, name: str) -> str:
    """Return the session id: from the file's name, or from its first message where the name had to be cut."""
    stem = name.removesuffix(".jsonl")
    if "~" in stem:
        first = next((m for m, _, _ in read_lines(Path(folder, name)) if m is not None), None)
        return first.session if first else stem
    return unquote(stem, errors="surrogatepass")


def _folders(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
