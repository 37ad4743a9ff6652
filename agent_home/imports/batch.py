"""What an importer gathers from one file: messages with ids that stay, and a count of everything left out.

Owns reading JSON lines that others wrote (and may still be writing), and what makes a row a message whatever its
format: characters that can be stored, no injected text, an id. The formats are ``chat`` and ``claude_code``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from guard import GuardSettings

from ..screening.injected_context import strip_injected
from ..store.transcript import Message

__all__ = ["Batch", "Parsed", "file_lines", "json_rows", "label", "timestamp"]

#: A longer line is not read: no message is that long, and parsing one takes several times its size in memory.
MAX_LINE_BYTES = 32 * 1024 * 1024
#: A longer message would not be screened, so it is not stored either; it stays in the file that it came from.
MAX_CONTENT_CHARS = GuardSettings().max_document_chars
_BOM = b"\xef\xbb\xbf"
_UNSTORABLE = re.compile(r"\x00|[\ud800-\udfff]")  # NUL, and halves of a character that UTF-8 cannot hold
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_EPOCH_MS = 1e11  # a number above this counts milliseconds: as seconds it would be the year 5138


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What stands in one file, in its order.

    *skipped* counts lines that gave no message, by reason; *duplicates* messages that say the same under the same
    id; *waiting* is true when the last line is half-written and should be read another time.
    """

    messages: tuple[Message, ...]
    skipped: Counter[str]
    duplicates: int
    waiting: bool


@dataclass(slots=True)
class Batch:
    """Collects the messages of one file. :meth:`add` decides whether a row is one."""

    messages: list[Message] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    waiting: bool = False
    _known: set[tuple[str, str]] = field(default_factory=set)
    _digests: set[tuple[str, str, str]] = field(default_factory=set)
    _alike: Counter[str] = field(default_factory=Counter)

    def add(self, message: Message) -> None:
        """Take *message* in; its id may be empty. Characters that cannot be stored and injected text are dropped.

        The same id with other words gets a suffix made from the words, so that both are kept and a later import
        names them alike. A message without an id is named after what it says and how often it was said before.
        """
        said = _storable(message.content)
        content, removed = strip_injected(said)
        if not content.strip():
            self.skipped["injected" if removed else "empty"] += 1
            return
        if len(content) > MAX_CONTENT_CHARS:
            self.skipped["too-long"] += 1
            return
        session = _storable(message.session)
        name = _storable(message.id)
        name = name if name.strip() else self._named_after(session, message, said)
        digest = _digest(said)
        if (session, name, digest) in self._digests:
            self.duplicates += 1
            return
        self._digests.add((session, name, digest))
        if (session, name) in self._known:
            name = f"{name}~{digest[:8]}"
        self._known.add((session, name))
        self.messages.append(
            Message(
                session=session, id=name, ts=message.ts, role=message.role, name=_storable(message.name),
                content=content.strip(), cwd=_storable(message.cwd),
            )
        )  # fmt: skip

    def result(self) -> Parsed:
        """What was gathered."""
        return Parsed(
            messages=tuple(self.messages), skipped=self.skipped, duplicates=self.duplicates, waiting=self.waiting
        )

    def _named_after(self, session: str, message: Message, said: str) -> str:
        base = _digest("\0".join((session, message.ts, message.role, said)))[:16]
        self._alike[base] += 1
        return f"h-{_digest(f'{base} {self._alike[base]}')[:12]}"


def file_lines(path: Path) -> Iterator[bytes]:
    """The lines of *path*, as far as it reaches now: what a writer adds meanwhile is left for the next time.

    A line longer than ``MAX_LINE_BYTES`` comes cut, but longer than the limit still.
    """
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size
        while left > 0:
            line = file.readline(min(left, MAX_LINE_BYTES + 1))
            left -= len(line)
            cut = len(line) > MAX_LINE_BYTES and not line.endswith(b"\n")
            while cut and left > 0:
                rest = file.readline(min(left, MAX_LINE_BYTES))
                left -= len(rest)
                if not rest or rest.endswith(b"\n"):
                    line += b"\n"
                    break
            if not line:
                return
            yield line


def json_rows(lines: Iterable[bytes], batch: Batch) -> Iterator[dict[str, Any]]:
    """The JSON objects among *lines*; blank lines are passed over, all others counted in *batch*.

    A last line without a newline is an object if it is whole, and else still being written.
    """
    for number, line in enumerate(lines):
        text = line.removeprefix(_BOM) if number == 0 else line
        if not text.strip():
            continue
        row, problem = _row(text)
        if row is not None:
            yield row
        elif line.endswith(b"\n"):
            batch.skipped[problem] += 1
        else:
            batch.waiting = True


def label(value: object) -> str:
    """A name from a JSON value: text as it is, a whole number in digits, nothing for all else."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def timestamp(value: object) -> str:
    """ISO 8601 from a JSON value: a text that is one, or seconds or milliseconds since 1970; else empty.

    >>> timestamp("2026-11-20T14:02:00Z"), timestamp(1_763_647_320), timestamp("soon")
    ('2026-11-20T14:02:00Z', '2025-11-20T14:02:00+00:00', '')
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return ""
        return value.strip() if _DATE.match(value.strip()) else moment.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    try:
        return datetime.fromtimestamp(value / 1000 if value > _EPOCH_MS else value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _row(line: bytes) -> tuple[dict[str, Any] | None, str]:
    """The object that *line* spells, or the reason why it is none."""
    if len(line) > MAX_LINE_BYTES:
        return None, "too-long"
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return None, "not-utf8"
    except (ValueError, RecursionError):
        return None, "not-json"
    return (value, "") if isinstance(value, dict) else (None, "not-an-object")


def _storable(text: str) -> str:
    return _UNSTORABLE.sub(lambda found: "" if found[0] == "\0" else "\ufffd", text)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()
